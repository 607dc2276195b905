"""Set a process up to lead runs: session, signals, limits."""

import contextlib
import ctypes
import os
import resource
import signal

from core.runner.supervisor.processes import reaper

_LIMITS = {
    "cpu": resource.RLIMIT_CPU,
    "data": resource.RLIMIT_DATA,
    "fsize": resource.RLIMIT_FSIZE,
    "nofile": resource.RLIMIT_NOFILE,
    "core": resource.RLIMIT_CORE,
}
_FIRST_TO_GO = b"1000"
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4
_OPEN = 1
_DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU, signal.SIGPIPE)


def settle() -> None:
    """Set up what every fork of this process inherits: umask, ignored signals, a waker.

    This is done here because a forked process pays for each page that it writes to first (4 µs; a
    megabyte of interpreter state is 1 ms per run).
    """
    os.umask(0o022)
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    reaper.become_subreaper()


def lead() -> None:
    """Become the leader of a new session, and adopt its orphans.

    When memory runs out, it and what it starts are ended before the gateway and everything else
    (oom_score_adj in proc_pid_oom_score_adj(5)): no limit covers memory that processes share.
    """
    os.setsid()
    reaper.become_subreaper()
    go_first()


def go_first() -> None:
    """Have this process, and what it starts, ended first when memory runs out."""
    with contextlib.suppress(OSError):  # if it is read-only, nothing is gained
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, _FIRST_TO_GO)
        finally:
            os.close(fd)


def is_closed_to_others() -> bool:
    """Return whether other processes of the same user are kept out already."""
    return bool(reaper.prctl()(_PR_GET_DUMPABLE, 0, 0, 0, 0) != _OPEN)


def close_to_others() -> None:
    """Keep other processes of the same user out of this one's memory and descriptors.

    They can neither trace it nor read its /proc/PID (prctl(2), PR_SET_DUMPABLE); its forks inherit
    that, but the programs that they start do not.

    Raises:
        OSError: the kernel refused.
    """
    if reaper.prctl()(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) was refused")


def wake_on_child() -> int:
    """Return a descriptor that becomes readable when a child ends (after ``settle``)."""
    wake, alarm = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    return wake


def restrict(limits: dict[str, tuple[int, int]]) -> None:
    """Set the limits on this process: what it starts inherits them, so there is no race."""
    for name, (soft, hard) in limits.items():
        which = _LIMITS[name]
        most = resource.getrlimit(which)[1]
        ceiling = hard if most == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(which, (min(soft, ceiling), ceiling))
