"""Find and end what is left of a run whose leader died. Standard library only.

Process numbers are reused, so a process is identified only by its number together with its start
time, or by the mark that every child of a run has in its environment.
"""

import contextlib
import os
import signal
import time

from core.runner.supervisor.processes import procfs
from core.runner.supervisor.processes.procfs import Process

PATIENCE_S = 5.0
_ROUND_S = 0.005


Identity = tuple[int, int]
"""A process number, and the start of that process in ticks."""


def end(mark: bytes, leaders: set[Identity], patience_s: float = PATIENCE_S) -> int:
    """Kill whatever has a mark, descends from a leader or is in its session; then the leaders.

    Return how many are left after ``patience_s``.
    """
    deadline = time.monotonic() + patience_s
    while victims := _next(mark, leaders):
        if time.monotonic() >= deadline:
            return len(victims)
        for victim in victims:
            kill(victim)
        time.sleep(_ROUND_S)
    return 0


def _next(mark: bytes, identities: set[Identity]) -> list[Process]:
    """Return the next to kill: the leaders only once they have no process left to adopt."""
    own = os.getpid()
    everyone = [one for one in procfs.processes() if one.alive and one.pid != own]
    leaders = [one for one in everyone if (one.pid, one.start_ticks) in identities]
    others = {one.pid for one in everyone} - {one.pid for one in leaders}
    sessions = {pid for pid, _ in identities} - others  # without numbers that others have by now
    victims = {one.pid: one for one in everyone if is_marked(one, mark) or one.sid in sessions}
    for leader in leaders:
        victims.update({one.pid: one for one in descendants(leader, everyone)})
    for leader in leaders:
        victims.pop(leader.pid, None)
    return list(victims.values()) or leaders


def descendants(leader: Process, everyone: list[Process]) -> list[Process]:
    """Return which of these descend from a process."""
    found: list[Process] = []
    parents = {leader.pid}
    while parents:
        children = [one for one in everyone if one.ppid in parents]
        found += children
        parents = {one.pid for one in children}
    return found


def is_marked(one: Process, mark: bytes) -> bool:
    """Return whether a process was started with this entry in its environment."""
    return mark in procfs.environment_of(one.pid).split(b"\0")


def kill(victim: Process) -> bool:
    """Kill through a descriptor: between the check and the kill the number may change owner.

    ``False``: it is another user's, which this one may not kill.
    """
    with contextlib.suppress(ProcessLookupError):
        fd = os.pidfd_open(victim.pid)
        try:
            now = procfs.process(victim.pid)
            if now is not None and now.start_ticks == victim.start_ticks:
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        except PermissionError:
            return False
        finally:
            os.close(fd)
    return True
