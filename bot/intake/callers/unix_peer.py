"""Identify the process at the other end of a Unix socket."""

import os
from pathlib import Path

from core.ipc.peer import Peer
from core.ipc.users import user_name
from core.model.identity import LOCAL_CHANNEL, Actor, Intake, Requester
from core.runner.pool import BOOTSTRAP

_PROC = Path("/proc")
_PARENT_FIELD = 1
_GROUP_FIELD = 2
_SESSION_FIELD = 3
_TERMINAL_FIELD = 4
_FOREGROUND_FIELD = 5
_START_FIELD = 19


def requester(peer: Peer) -> Requester:
    """Return the requester: the peer's uid and kernel session, never anything from the body."""
    return Requester(Intake.SOCKET, account(peer), kernel_session(peer.pid))


def actor(peer: Peer) -> Actor:
    """Return the person who answers from this machine."""
    return Actor(LOCAL_CHANNEL, account(peer), user_name(peer.uid))


def account(peer: Peer) -> str:
    """Return the immutable local id, ``uid:1000``."""
    return f"uid:{peer.uid}"


def kernel_session(pid: int, proc: Path = _PROC) -> tuple[int, int] | None:
    """Return ``(session id, start ticks of its leader)`` of a process, ``None`` if it is gone.

    The leader's start time keeps a reused id from being taken for the old session; a leader that
    has exited counts as 0, which still equals itself. A leader outside this pid namespace (a shell
    that entered a container) reads as session 0: all of those count as one session, so that none of
    them can answer what another one asked.
    """
    fields = _stat(proc, pid)
    if fields is None:
        return None
    session = int(fields[_SESSION_FIELD])
    leader = _stat(proc, session) if session else None
    return session, int(leader[_START_FIELD]) if leader is not None else 0


def at_terminal(peer: Peer, proc: Path = _PROC) -> bool:
    """Return whether a peer runs in the foreground of a terminal, so that somebody typed it there.

    It has a controlling terminal, and its process group is the one that the terminal's keys go to
    (proc(5) tty_nr, tpgid). A process that has reused the peer's pid does not count.
    """
    fields = _stat(proc, peer.pid)
    if fields is None or int(fields[_START_FIELD]) != peer.start_ticks:
        return False
    here = int(fields[_TERMINAL_FIELD]) != 0
    return here and fields[_GROUP_FIELD] == fields[_FOREGROUND_FIELD]


def is_run(pid: int, proc: Path = _PROC) -> bool:
    """Return whether a run of Sayso started a process, whatever sessions are in between.

    What a run starts cannot leave its supervisor, which adopts orphans: it is some ancestor. An
    ancestor that exits before it is checked counts as one; one that is hidden belongs to another
    user.
    """
    program = BOOTSTRAP.encode()
    while pid > 1 and pid != os.getpid():
        fields = _stat(proc, pid)
        if fields is None:
            return not _is_of_others(pid)
        if program in _words(proc, pid):
            return True
        pid = int(fields[_PARENT_FIELD])
    return False


def _is_of_others(pid: int) -> bool:
    """Return whether a process exists that /proc may hide from us (proc(5) ``hidepid``)."""
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def _words(proc: Path, pid: int) -> list[bytes]:
    """Return a process's command line, empty if it cannot be read."""
    try:
        return (proc / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _stat(proc: Path, pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the command name (proc(5): 3rd field first)."""
    try:
        text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(") ")[2].split()
