"""Check every part; a part that fails is named with what to do."""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from bot.health.check import Check, Finding, Kept
from bot.health.gate import GateProbe
from bot.health.nodes import NodesProbe
from bot.health.probes import CHANNEL_BAD_S, CHANNEL_GOOD_S, ChannelProbe, ClockProbe
from bot.health.store import StoreProbe, disk
from bot.settings import Settings
from channels.base import Channel
from core.errors import SaysoError
from core.store import Store, outbox

_log = logging.getLogger(__name__)
_STORE_S = 2.0


@dataclass(slots=True)
class Health:
    """The parts of one gateway. ``owner`` names this start; ``gate`` reports proofs and lockdown.

    ``nodes`` checks the nodes, ``None`` if none may connect.
    """

    store: Store
    channels: Mapping[str, Channel]
    settings: Settings
    owner: str = "health"
    gate: GateProbe | None = None
    nodes: NodesProbe | None = None
    _checks: list[Check] = field(init=False)
    _clock: ClockProbe = field(default_factory=ClockProbe)
    _wrong: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Prepare to keep results."""
        checks = [ChannelProbe(channel, name) for name, channel in self.channels.items()]
        self._checks = [
            Kept(StoreProbe(self.store, self.owner), _STORE_S, _STORE_S),
            *(Kept(probe, CHANNEL_GOOD_S, CHANNEL_BAD_S) for probe in checks),
        ]

    def add(self, check: Check) -> None:
        """Add a check; it is called for every report, so it should cache what is slow."""
        self._checks.append(check)

    async def report(self) -> dict[str, object]:
        """Return ``{"ok", "pid", "parts": {name: {"ok", "detail"}}, "openSurfaces", …}``.

        Includes ``nodes``, by name, if they may connect.
        """
        parts = await self._parts()
        surfaces = await self._open_surfaces()
        return {
            "ok": all(part.ok for part in parts),
            "pid": os.getpid(),
            "parts": {part.subject: {"ok": part.ok, "detail": part.detail} for part in parts},
            "openSurfaces": surfaces,
            **({} if self.nodes is None else {"nodes": self.nodes.shown()}),
            **({} if self.gate is None else self.gate.shown()),
        }

    async def _parts(self) -> Sequence[Finding]:
        """Return one finding per part; the store's comes first."""
        more = [probe for probe in (self.nodes, self.gate) if probe is not None]
        checks: list[Check] = [*self._checks, *more]
        (store, *rest), *others = await asyncio.gather(*(check() for check in checks))
        return (store, disk(self.settings.home), self._clock(), *rest, *chain(*others))

    async def watch(self) -> None:
        """Log what is wrong, again only if that changes; runs by the clock."""
        parts = await self._parts()
        wrong = {part.subject: part.detail for part in parts if not (part.ok or part.logged)}
        if wrong and frozenset(wrong) != self._wrong:
            _log.warning("health: %s", "; ".join(f"{name}: {why}" for name, why in wrong.items()))
        self._wrong = frozenset(wrong)

    async def _open_surfaces(self) -> int:
        try:
            return await self.store.read(outbox.open_surfaces)
        except SaysoError:
            return -1
