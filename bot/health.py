"""Say how the gateway is: store, channels, disk, what is overdue."""

import asyncio
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass

from bot.settings import Settings
from channels.base import Channel
from core.errors import SaysoError
from core.store import Store, approvals, outbox

_log = logging.getLogger(__name__)
_LOW_DISK_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class Health:
    """Look at every part; a part that fails is named with what to do."""

    store: Store
    channels: Mapping[str, Channel]
    settings: Settings

    async def report(self) -> dict[str, object]:
        """Return ``{"ok", "parts": {name: {"ok", "detail"}}, "openSurfaces"}``."""
        parts = {"store": await self._store(), "disk": self._disk()}
        for name, channel in self.channels.items():
            state = await channel.check()
            parts[f"channel {name}"] = {"ok": state.ok, "detail": state.detail}
        surfaces = await self._open_surfaces()
        return {
            "ok": all(part["ok"] for part in parts.values()),
            "pid": os.getpid(),
            "parts": parts,
            "openSurfaces": surfaces,
        }

    async def watch(self) -> None:
        """Log what is wrong; runs by the clock."""
        report = await self.report()
        if not report["ok"]:
            _log.warning("health: %s", report["parts"])

    async def _store(self) -> dict[str, object]:
        try:
            await asyncio.wait_for(self.store.read(approvals.next_wake), 5)
        except (SaysoError, TimeoutError) as failure:
            return {"ok": False, "detail": str(failure) or "the store does not answer"}
        return {"ok": True, "detail": "answers"}

    def _disk(self) -> dict[str, object]:
        space = os.statvfs(self.settings.home)
        free = space.f_bavail * space.f_frsize
        return {"ok": free >= _LOW_DISK_BYTES, "detail": f"{free // 2**20} MiB free"}

    async def _open_surfaces(self) -> int:
        try:
            return await self.store.read(outbox.open_surfaces)
        except SaysoError:
            return -1
