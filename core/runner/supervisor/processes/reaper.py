"""End every descendant: TERM, grace, KILL, then walk until none is left.

``killpg`` alone is not enough: a child that forks twice and calls ``setsid`` leaves the group. A
subreaper becomes its parent instead, so walking its own children until there are none is complete.
"""

import ctypes
import functools
import os
import signal
import time
from collections.abc import Callable

from core.runner.supervisor.processes import procfs

_PR_SET_CHILD_SUBREAPER = 36
_WALK_PAUSE_S = 0.002

KILL_PATIENCE_S = 5.0
"""After this, a process that survives SIGKILL (stuck in the kernel) is abandoned."""


@functools.cache
def prctl() -> Callable[..., int]:
    """Return the C function; looked up once, before there are forks, for half a millisecond."""
    function: Callable[..., int] = ctypes.CDLL(None, use_errno=True).prctl
    return function


def become_subreaper() -> None:
    """Let orphaned descendants become children of this process.

    Raises:
        OSError: the kernel refused; runs could then escape, so nothing may start.
    """
    if prctl()(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) was refused")


def reap() -> tuple[dict[int, int], bool]:
    """Collect every child that ended; return their wait statuses, and whether any is left."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended[pid] = status


def signal_children(number: int, spared: set[int], done: set[int]) -> None:
    """Send a signal to the group of each own child but the ``spared``, once per ``done`` set.

    A child's number stays its own until it is reaped here, and its group lives as long as it does,
    so neither can have been recycled.
    """
    own_group = os.getpgrp()
    for pid in procfs.own_children():
        if pid in spared:
            continue
        try:
            group = os.getpgid(pid)
            alone = group == own_group or group in spared
            target = pid if alone else group
            if target not in done:
                done.add(target)
                (os.kill if alone else os.killpg)(target, number)
        except (ProcessLookupError, PermissionError):
            continue


def kill_all(spared: set[int], patience_s: float = KILL_PATIENCE_S) -> dict[int, int]:
    """Kill until no child but ``spared`` is left; return the wait statuses seen on the way."""
    ended: dict[int, int] = {}
    killed: set[int] = set()
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        seen, left = reap()
        ended.update(seen)
        if not left or not set(procfs.own_children()) - spared:
            break
        signalled: set[int] = set()
        signal_children(signal.SIGKILL, spared, signalled)
        # No pause while new ones appear, or a fork bomb would multiply faster than it is killed.
        if signalled <= killed:
            time.sleep(_WALK_PAUSE_S)
        killed |= signalled
    return ended
