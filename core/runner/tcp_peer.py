"""Find who is at the other end of a TCP connection on this machine, as the kernel says.

The kernel is asked for one connection by its addresses (sock_diag(7)), because its table of all
connections (proc(5)) grows with what any user of the machine opens and closes.
"""

import os
import socket
import struct
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final, NamedTuple

_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9
"""Columns of the kernel's table."""
_NO_PROCESS: Final = "0"
_MAPPED: Final = bytes(10) + b"\xff\xff"
_WORD: Final = 4
_SOCK_DIAG: Final = 4
_BY_FAMILY, _ERROR, _REQUEST = 20, 2, 1
_ANY_STATE: Final = 0xFFFFFFFF
_NO_COOKIE: Final = bytes((255,)) * 8
_HEAD: Final = struct.Struct("=IHHII")
"""A netlink message's length, type, flags, number and port."""
_FOUND: Final = struct.Struct("=BBBB48xIIIII")
"""Family, state, timer, retransmissions; expiry, both queues, user and inode."""
_LISTENING: Final = 10
_PATIENCE_S: Final = 1.0

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


class Holder(NamedTuple):
    """Who holds one end: the Unix user, and the inode by which its processes have the socket."""

    uid: int
    inode: int


def holder_of(peer: Address, own: Address) -> Holder | None:
    """Return who holds the end ``peer`` of a connection to ``own``, ``None`` if ``uid_of`` does.

    Raises:
        OSError: the kernel could not be asked.
    """
    found = _asked(peer, own) if _answers() else _looked_up(peer, own)
    return None if found is None or _is_masked(found.uid) else found


def uid_of(peer: Address, own: Address) -> int | None:
    """Return the Unix user whose process holds the end ``peer`` of a connection to ``own``.

    ``None`` if no process of this machine does, as far as can be known: it is another machine's,
    closed already, or of a user that this user namespace has no number for.

    Raises:
        OSError: the kernel could not be asked.
    """
    found = holder_of(peer, own)
    return None if found is None else found.uid


@cache
def _answers() -> bool:
    """Return whether the kernel knows its connections one by one, as it does with ``tcp_diag``."""
    if sys.platform != "linux":
        return False
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            socket.create_connection(listener.getsockname()) as client,
        ):
            return _asked(client.getsockname(), listener.getsockname()) is not None
    except OSError:
        return False


def _asked(local: Address, remote: Address) -> Holder | None:
    """Ask the kernel who holds one end of one connection.

    Raises:
        OSError: it does not support such a request.
    """
    ours, theirs = _packed(local[0]), _packed(remote[0])
    family = socket.AF_INET if len(ours) == _WORD else socket.AF_INET6
    ports = struct.pack("!HH", local[1], remote[1])
    place = ports + ours.ljust(16, b"\0") + theirs.ljust(16, b"\0") + bytes(_WORD) + _NO_COOKIE
    about = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE) + place
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(_PATIENCE_S)
        kernel.bind((0, 0))
        kernel.send(_HEAD.pack(_HEAD.size + len(about), _BY_FAMILY, _REQUEST, 1, 0) + about)
        answer = kernel.recv(8192)
    if _HEAD.unpack_from(answer)[1] != _BY_FAMILY:
        return None
    _, state, _, _, _, _, _, uid, inode = _FOUND.unpack_from(answer, _HEAD.size)
    return Holder(uid, inode) if inode and state != _LISTENING else None


def _looked_up(peer: Address, own: Address) -> Holder | None:
    wanted = set(zip(_written(peer), _written(own), strict=True))
    for end in ends():
        if (end.local, end.remote) in wanted:
            return Holder(end.uid, int(end.inode)) if end.inode != _NO_PROCESS else None
    return None


@lru_cache(maxsize=64)
def _is_masked(uid: int) -> bool:
    """Return whether a number is that of all users without one (user_namespaces(7))."""
    try:
        with open("/proc/sys/kernel/overflowuid", encoding="ascii") as file:  # noqa: PTH123 - as above
            if uid != int(file.read()):
                return False
        with open("/proc/self/uid_map", encoding="ascii") as file:  # noqa: PTH123 - as above
            ranges = [tuple(map(int, row.split())) for row in file]
    except OSError:
        return False
    return not any(first <= uid < first + count for first, _, count in ranges)


def _packed(host: str) -> bytes:
    """Return an address in network order; an IPv4 one even if an IPv6 socket has it."""
    if ":" not in host:
        return socket.inet_pton(socket.AF_INET, host)
    return socket.inet_pton(socket.AF_INET6, host.partition("%")[0]).removeprefix(_MAPPED)


def _written(address: Address) -> tuple[str, str]:
    """Return an address as the kernel writes it, for sockets of IPv4 and of IPv6."""
    plain = _packed(address[0])
    mapped = _MAPPED + plain if len(plain) == _WORD else plain
    return f"{_words(plain)}:{address[1]:04X}", f"{_words(mapped)}:{address[1]:04X}"


def _words(packed: bytes) -> str:
    """Return the kernel's hexadecimal: words of 32 bits, each in the machine's byte order."""
    words = (packed[at : at + _WORD] for at in range(0, len(packed), _WORD))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
