"""End what a dead gateway's run left behind, and never a stranger's process.

A supervisor ends its run on its own when its gateway dies; this is for the case that it was killed
too. Process numbers are reused, so only the number together with the start time, within one boot,
identifies a process, or the mark that every child of a run has in its environment.
"""

import os
import time

from core.planning.environment import RUN_MARK
from core.runner import remains
from core.runner.supervisor.processes import procfs
from core.runner.supervisor.processes.procfs import Process

PATIENCE_S = 5.0
_ROUND_S = 0.005


def end_orphan(
    run_id: str, pid: int | None, pgid: int | None, start_ticks: int | None, boot_id: str | None
) -> bool:
    """Kill what is left of a run; return whether anything was (blocks for up to 5 s).

    Processes of another user are left to an executor of that user.

    ``pid``, ``pgid`` and ``start_ticks`` are as passed to ``RunStart.identified``, ``boot_id``
    the kernel's of that time; if one is unknown, only the mark of the run identifies its
    processes.
    """
    leader = (pid, start_ticks) if boot_id == procfs.boot_id() else None
    found = False
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        victims = _victims(run_id, leader, pgid)
        if not victims:
            break
        killed = [remains.kill(victim) for victim in victims]
        if not any(killed):
            break
        found = True
        time.sleep(_ROUND_S)
    return found


def _victims(
    run_id: str, identity: tuple[int | None, int | None] | None, pgid: int | None
) -> list[Process]:
    """Return the next to kill: the leader only once it has no process left to adopt."""
    everyone = [one for one in procfs.processes() if one.alive and one.pid != os.getpid()]
    mark = f"{RUN_MARK}={run_id}".encode()
    victims = {one.pid: one for one in everyone if remains.is_marked(one, mark)}
    leader = next((one for one in everyone if (one.pid, one.start_ticks) == identity), None)
    if leader is not None:
        family = remains.descendants(leader, everyone)
        session = [one for one in everyone if one.sid == pgid]
        victims.update({one.pid: one for one in (*family, *session)})
        victims.pop(leader.pid, None)
        if not victims:
            return [leader]
    return list(victims.values())
