"""Ask the kernel who is at the other end of a Unix socket."""

import socket
import struct
from dataclasses import dataclass
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")
_GROUP_FIELD, _SESSION_FIELD, _TERMINAL_FIELD, _FOREGROUND_FIELD, _START_FIELD = 2, 3, 4, 5, 19
"""Places after the command name in /proc/PID/stat (proc(5) fields 5 to 8, and 22)."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The process that connected. ``start_ticks`` identifies it when its pid is reused.

    The ids are those at the time of ``connect`` (unix(7) SO_PEERCRED); ``start_ticks`` is
    ``None`` if the process was gone before it could be inspected. ``session`` is its kernel
    session, ``terminal`` the device number of the terminal whose foreground it was in; 0: none.
    """

    pid: int
    uid: int
    gid: int
    start_ticks: int | None = None
    session: int = 0
    terminal: int = 0


def peer_of(connection: socket.socket) -> Peer:
    """Return who connected."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, gid = _CREDENTIALS.unpack(raw)
    fields = _stat(pid)
    if not fields:
        return Peer(pid, uid, gid)
    front = fields[_GROUP_FIELD] == fields[_FOREGROUND_FIELD]
    terminal = fields[_TERMINAL_FIELD] if front else 0
    return Peer(pid, uid, gid, fields[_START_FIELD], fields[_SESSION_FIELD], terminal)


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; ``None`` if it is gone."""
    fields = _stat(pid)
    return fields[_START_FIELD] if fields else None


def _stat(pid: int) -> list[int]:
    """Return the fields up to the start time, with 0 for the state; empty if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return []
    # The command name may contain blanks and brackets; what follows its last bracket does not.
    return [0, *map(int, text.rpartition(b") ")[2].split()[1 : _START_FIELD + 1])]
