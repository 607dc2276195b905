"""Ask the kernel who is at the other end of a Unix socket."""

import socket
import struct
from dataclasses import dataclass
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")
_START_FIELD = 19
"""Place of the start time behind the command name in /proc/PID/stat (proc(5) field 22)."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The process that connected. ``start_ticks`` tells it from a later one with the same pid.

    The ids are those at the time of ``connect`` (unix(7) SO_PEERCRED); ``start_ticks`` is
    ``None`` if the process was gone before it could be looked at.
    """

    pid: int
    uid: int
    gid: int
    start_ticks: int | None = None


def peer_of(connection: socket.socket) -> Peer:
    """Return who connected."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    return Peer(pid, uid, gid, start_ticks(pid))


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; ``None`` if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command name may hold blanks and brackets; what follows its last bracket does not.
    return int(text.rpartition(b") ")[2].split()[_START_FIELD])
