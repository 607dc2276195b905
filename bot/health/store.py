"""Look at the store by writing to it, and at the disk below it."""

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.health.component import Part
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
class StoreLook:
    """Look at ``store`` and ``clock store``: how long a write takes, how far its clock is off."""

    store: Store
    owner: str

    async def __call__(self) -> Mapping[str, Part]:
        """Write once and look."""
        began, asked_ms = time.monotonic(), _wall_ms()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                seen = await self.store.write(probe, self.owner, replicas.LEASE_MS)
        except TimeoutError:
            return {"store": Part(False, f"no write completed within {_PATIENCE_S:.0f} s")}
        except SaysoError as failure:
            return {"store": Part(False, str(failure), logged=isinstance(failure, StoreAway))}
        took_ms = (time.monotonic() - began) * 1000
        middle_ms = (asked_ms + _wall_ms()) // 2
        return {"store": _store(seen, took_ms), "clock store": _clock(seen.now_ms - middle_ms)}


def _store(seen: Probed, took_ms: float) -> Part:
    if seen.full:
        return Part(False, "the disk is full: only denials are stored; free some space")
    return Part(took_ms < _SLOW_MS, f"took a write in {took_ms:.1f} ms")


def _clock(apart_ms: int) -> Part:
    side = "ahead of" if apart_ms > 0 else "behind"
    words = f"is {abs(apart_ms)} ms {side} this machine's clock"
    if abs(apart_ms) < _APART_MS:
        return Part(True, words)
    return Part(
        False,
        f"{words}; deadlines follow the store's, which clock steps do not move. Check NTP on both; "
        "a restart with no open prompts adopts a machine clock that is ahead",
    )


def disk(home: Path) -> Part:
    """Look at the room that is left for the home, and at the reserve for denials, in MiB."""
    try:
        space = os.statvfs(home)
    except OSError as error:
        return Part(False, f"{home}: {error.strerror}")
    free = space.f_bavail * space.f_frsize
    return Part(free >= _LOW_DISK_BYTES, f"{free // 2**20} MiB free{_reserve(home)}")


def _reserve(home: Path) -> str:
    """Word what the database keeps back for denials; nothing where it is elsewhere."""
    try:
        (home / "state.db").stat()
        kept = (home / "state.db.ballast").stat().st_size
    except OSError:
        return ""
    return f", {kept // 2**20} MiB kept for denials" if kept >= BALLAST_BYTES else ""


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
