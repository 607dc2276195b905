"""Notice a run that takes too much of the disk.

A run's private folder is on a disk, where nothing limits a folder, so the run is checked while it
lasts. Two limits apply: how much the folder may hold, and how much every file system that the
gateway writes to must have left. The second does not depend on who uses the space, or how.

Asking a file system how much it has left is cheap; counting a folder is not, so that is done once
per second, and at once if as much space is gone as the run may use.
"""

import os
import time

from core.runner.supervisor.processes.held_files import MOST_FILES, Look, held, sends
from core.runner.supervisor.protocol import Private

_MIB = 1024 * 1024
_LEFT_BYTES = 256 * _MIB
_LEFT_FILES = 10_000
_SHARE = 5
"""A small file system keeps a fifth of its room for the gateway instead."""

_FASTEST = 8_000_000_000
"""Bytes per second: no process fills a page cache faster, so no earlier check is needed."""
_SOONEST_S, _LATEST_S, _COUNT_S = 0.005, 0.1, 1.0
_RESTS = 2
"""The pause between two counts, as a multiple of what the last one took."""

_FULL = "sayso: the private /tmp held more than {} MiB or {} files, so the run was killed\n"
_ENDED = "sayso: {}, so the run was killed\n"


class DiskUse:
    """What one run uses of the disk; nothing is checked for a run without a private folder."""

    __slots__ = (
        "_calm",
        "_count_at",
        "_gained",
        "_next",
        "_private",
        "_rested_at",
        "_sent",
        "_used",
    )

    def __init__(self) -> None:
        self._private: Private | None = None
        self._calm = self._used = self._gained = 0
        self._sent = False
        self._next = self._count_at = self._rested_at = 0.0

    def begin(self, private: Private | None, now: float) -> None:
        """Watch a new run from now on (monotonic seconds)."""
        self._private = private
        if private is not None:
            self._calm = self._used = _used(private["folder"])
            self._gained = 0
            self._next = now + _pause(shortage(private["spared"])[1], private["bytes"])
            self._count_at = now + _COUNT_S
            self._rested_at = now
            self._sent = False

    def until(self, deadline: float) -> float:
        """Return when to check next, or an earlier deadline (monotonic seconds)."""
        return deadline if self._private is None else min(deadline, self._next)

    def excess(self) -> str:
        """Return why the run has to end, ``""`` while it need not."""
        now = time.monotonic()
        if self._private is None or now < self._next:
            return ""
        lacking, spare = shortage(self._private["spared"])
        if lacking:
            return _ENDED.format(lacking)
        folder, most = self._private["folder"], self._private["bytes"]
        used = _used(folder)
        self._gained += max(0, used - self._used)
        self._used = used
        grown = used - self._calm
        if now >= self._count_at or (grown > most and now >= self._rested_at):
            look = Look(self._lacking)
            own = max(held(folder, most, grown, look), self._on_the_way(grown, look))
            if look.lacking:
                return _ENDED.format(look.lacking)
            if own > most:
                return _FULL.format(most // _MIB, MOST_FILES)
            grown = self._take_for_own(grown, own, now)
        self._calm += min(grown, 0)
        self._next = now + _pause(spare, most - grown)
        return ""

    def _take_for_own(self, grown: int, own: int, since: float) -> int:
        """Attribute the rest of the file system's growth to others; return what is left."""
        took = time.monotonic() - since
        self._rested_at = since + took + took * _RESTS
        self._count_at = self._rested_at + _COUNT_S
        self._calm += grown - own
        return own

    def _lacking(self) -> str:
        return "" if self._private is None else shortage(self._private["spared"])[0]

    def _on_the_way(self, grown: int, look: Look) -> int:
        """Return how much descriptors that were sent but not received may hold, which is not seen.

        This is all that the file system gained since the last count without any, if two counts in a
        row had some: for a moment there often are. What others free in the meantime is not
        subtracted, or a run could hide behind their cleaning up.
        """
        before, self._sent = self._sent, sends(look)
        if not self._sent:
            self._gained = 0
        return max(grown, self._gained) if before and self._sent else 0


def _pause(*left: int) -> float:
    """Return how long no check is needed, by the bytes that are left."""
    return min(_LATEST_S, max(_SOONEST_S, min(left) / _FASTEST))


def shortage(folders: list[str]) -> tuple[str, int]:
    """Return which folder's file system has too little left, else ``""``, and the bytes to spare.

    A file system that cannot be asked does not count.
    """
    least = _LEFT_BYTES * _SHARE
    for folder in folders:
        try:
            now = os.statvfs(folder)
        except OSError:
            continue
        what, spare = lack(now)
        if what:
            return f"the file system of {folder} has {what} left, and Sayso itself needs them", 0
        least = min(least, spare)
    return "", least


def lack(now: os.statvfs_result) -> tuple[str, int]:
    """Return what a file system has too little of, else ``""``, and its bytes to spare."""
    floor = min(_LEFT_BYTES, now.f_blocks * now.f_frsize // _SHARE)
    spare = now.f_bavail * now.f_frsize - floor
    # One that counts no inodes has 0 of 0: none too few.
    if now.f_favail < min(_LEFT_FILES, now.f_files // _SHARE):
        return "too few inodes", spare
    return (f"less than {floor // _MIB} MiB" if spare < 0 else ""), spare


def _used(folder: str) -> int:
    try:
        now = os.statvfs(folder)
    except OSError:
        return 0
    return (now.f_blocks - now.f_bfree) * now.f_frsize
