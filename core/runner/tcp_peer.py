"""Who is at the other end of a TCP connection of this machine, as the kernel says (proc(5))."""

import os
import socket
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9
"""Columns of the kernel's table."""
_NO_PROCESS: Final = "0"
_MAPPED: Final = bytes(10) + b"\xff\xff"
_WORD: Final = 4

Address = tuple[str, int]


class TcpEnd(NamedTuple):
    """One end of a connection, written as the kernel writes addresses, and whose it is."""

    local: str
    remote: str
    uid: int
    inode: str


def ends() -> Iterator[TcpEnd]:
    """Yield the ends of all TCP connections of this network namespace; none without ``/proc``."""
    for table in _TABLES:
        try:
            with open(table, encoding="ascii") as file:  # noqa: PTH123 - outside the import budget
                next(file, None)
                for row in map(str.split, file):
                    yield TcpEnd(row[_LOCAL], row[_REMOTE], int(row[_UID]), row[_INODE])
        except OSError:
            continue


def is_known() -> bool:
    """Return whether the kernel says whose connections are: Linux with ``/proc``."""
    return os.access(_TABLES[0], os.R_OK)


def uid_of(peer: Address, own: Address) -> int | None:
    """Return the Unix user whose process holds the end ``peer`` of a connection to ``own``.

    ``None`` if no process of this machine does: it is another machine's, or closed already.
    """
    wanted = set(zip(_written(peer), _written(own), strict=True))
    for end in ends():
        if (end.local, end.remote) in wanted:
            return end.uid if end.inode != _NO_PROCESS else None
    return None


def _written(address: Address) -> tuple[str, str]:
    """Return an address as the kernel writes it, for sockets of IPv4 and of IPv6."""
    host, port = address
    if ":" in host:
        plain = mapped = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
        plain = plain.removeprefix(_MAPPED)
    else:
        plain = socket.inet_pton(socket.AF_INET, host)
        mapped = _MAPPED + plain
    return f"{_words(plain)}:{port:04X}", f"{_words(mapped)}:{port:04X}"


def _words(packed: bytes) -> str:
    """Return the kernel's hexadecimal: words of 32 bits, each in the machine's byte order."""
    words = (packed[at : at + _WORD] for at in range(0, len(packed), _WORD))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
