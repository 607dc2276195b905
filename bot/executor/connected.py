"""Find out whose process is at the other end of a TCP connection of this machine."""

import os
from collections.abc import Iterator

from core.runner import remains, tcp_peer
from core.runner.supervisor.processes import procfs


def by_descendant(peer: tcp_peer.Address, own: tcp_peer.Address) -> bool:
    """Return whether this process, or a descendant, holds the end ``peer``.

    This is false for another user's processes, and for this user's processes started elsewhere.
    """
    try:
        found = tcp_peer.holder_of(peer, own)
    except OSError:
        return False
    if found is None or found.uid != os.geteuid():
        return False
    wanted = f"socket:[{found.inode}]"
    return any(wanted in _open_files(pid) for pid in _family())


def _family() -> Iterator[int]:
    own = os.getpid()
    yield own
    if os.access("/proc/thread-self/children", os.R_OK):
        yield from procfs.descendants(own)
        return
    leader = procfs.process(own)  # a kernel without CONFIG_PROC_CHILDREN
    if leader is not None:
        yield from (one.pid for one in remains.descendants(leader, procfs.processes()))


def _open_files(pid: int) -> Iterator[str]:
    folder = f"/proc/{pid}/fd"
    try:
        for name in os.listdir(folder):  # noqa: PTH208
            yield os.readlink(f"{folder}/{name}")  # noqa: PTH115
    except OSError:
        return
