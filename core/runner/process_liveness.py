"""Prove that another process of this machine is alive, or that it is dead.

A process is named by the kernel's boot, its namespaces of processes and of time, its number and its
start time: a number alone is given to other processes, and means another one in another container.
"""

import os
from enum import StrEnum

from core.runner.supervisor.processes import procfs

_NAMESPACES = ("/proc/self/ns/pid", "/proc/self/ns/time")


class Fate(StrEnum):
    """What is proven about a process."""

    LIVES = "lives"
    DEAD = "dead"
    UNPROVEN = "unproven"


def own_name() -> str:
    """Return the name of this process for others."""
    here = procfs.process(os.getpid())
    return f"{_where()}; {os.getpid()} {here.start_ticks if here else 0}"


def fate(name: str | None) -> Fate:
    """Return what is proven about the process that called itself ``name``.

    Nothing is proven about one on another machine, of another boot or in another container, or
    about what this very process was before.
    """
    where, pid, ticks = _parts(name or "")
    if where != _where() or pid in {0, os.getpid()}:
        return Fate.UNPROVEN
    if not _is_there(pid):
        return Fate.DEAD
    seen = procfs.process(pid)
    if seen is None:  # hidden by the mount of /proc, or gone just now: the next check proves it
        return Fate.UNPROVEN
    return Fate.LIVES if seen.start_ticks == ticks and seen.alive else Fate.DEAD


def _where() -> str:
    return " ".join((procfs.boot_id(), *map(_namespace, _NAMESPACES)))


def _namespace(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - a link that leads to no file
    except FileNotFoundError:  # a kernel that has none of this kind
        return "-"


def _parts(name: str) -> tuple[str, int, int]:
    where, _, rest = name.rpartition("; ")
    pid, _, ticks = rest.partition(" ")
    if not (pid.isdecimal() and ticks.isdecimal()):
        return "", 0, 0
    return where, int(pid), int(ticks)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
