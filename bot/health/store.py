"""Check the store by writing to it, and the disk below it."""

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.health.check import Finding, Verdict
from core.errors import SaysoError, StoreAway
from core.store import Store
from core.store.engine import replicas
from core.store.engine.replicas import Probed, probe
from core.store.engine.sqlite.disk_reserve import BALLAST_BYTES

_PATIENCE_S = 5.0
_SLOW_MS = 1_000
_LOW_DISK_BYTES = 64 * 1024 * 1024
_APART_MS = 2_000


@dataclass(frozen=True, slots=True)
class StoreProbe:
    """Checks ``store`` and ``clock store``: how long a write takes, how far its clock is off."""

    store: Store
    owner: str

    async def __call__(self) -> Sequence[Finding]:
        """Write once and check."""
        began, asked_ms = time.monotonic(), _wall_ms()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                seen = await self.store.write(probe, self.owner, replicas.LEASE_MS)
        except TimeoutError:
            why = f"no write completed within {_PATIENCE_S:.0f} s"
            return (Finding(Verdict.FAIL, "store", why),)
        except SaysoError as failure:
            logged = isinstance(failure, StoreAway)
            return (Finding(Verdict.FAIL, "store", str(failure), logged),)
        took_ms = (time.monotonic() - began) * 1000
        middle_ms = (asked_ms + _wall_ms()) // 2
        return (_store(seen, took_ms), _clock(seen.now_ms - middle_ms))


def _store(seen: Probed, took_ms: float) -> Finding:
    if seen.full:
        why = "the disk is full: only denials are stored; free some space"
        return Finding(Verdict.FAIL, "store", why)
    return Finding.when(took_ms < _SLOW_MS, "store", f"took a write in {took_ms:.1f} ms")


def _clock(apart_ms: int) -> Finding:
    side = "ahead of" if apart_ms > 0 else "behind"
    words = f"is {abs(apart_ms)} ms {side} this machine's clock"
    if abs(apart_ms) < _APART_MS:
        return Finding(Verdict.OK, "clock store", words)
    return Finding(
        Verdict.FAIL,
        "clock store",
        f"{words}; deadlines follow the store's, which clock steps do not move. Check NTP on both; "
        "a restart with no open prompts adopts a machine clock that is ahead",
    )


def disk(home: Path) -> Finding:
    """Check the space that is left for the home, and the reserve for denials, in MiB."""
    try:
        space = os.statvfs(home)
    except OSError as error:
        return Finding(Verdict.FAIL, "disk", f"{home}: {error.strerror}")
    free = space.f_bavail * space.f_frsize
    words = f"{free // 2**20} MiB free{_reserve(home)}"
    low = free < _LOW_DISK_BYTES
    least = f"; below {_LOW_DISK_BYTES // 2**20} MiB is too little: free some space" if low else ""
    return Finding.when(not low, "disk", words + least)


def _reserve(home: Path) -> str:
    """Format what the database reserves for denials; empty if it is on another machine."""
    try:
        (home / "state.db").stat()
        kept = (home / "state.db.ballast").stat().st_size
    except OSError:
        return ""
    return f", {kept // 2**20} MiB kept for denials" if kept >= BALLAST_BYTES else ""


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
