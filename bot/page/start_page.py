"""Show what waits, what runs, and how the gateway is."""

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from bot.api.http.errors import Fault, FaultCode
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Table, invoke, permit
from bot.page.cards import Cards, ShownCard
from bot.page.plans import plans_of
from bot.page.render import Renderer
from bot.page.visit import Visit, page
from core.errors import SaysoError
from core.gate.gate import Gate
from core.model.identity import ApprovalId
from core.store import approvals
from core.store.views.status import pending, pending_after

MOST_CARDS = 20
"""Cards on a page; the rest are counted, move up as these are answered, and have further pages."""
MOST_RUNS = 12
_ID = re.compile(r"(?:[0-9a-z]{26})?")
_HEALTH_S = 5.0
_PATIENCE_S = 1.0
_TAIL = 1_200
_UNKNOWN: dict[str, Any] = {"ok": None, "parts": {}}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the page shows at one moment; each part is HTML."""

    cards: tuple[ShownCard, ...]
    total: int
    more: int
    running: str
    runs: int
    health: str
    plans: str
    after: str
    """The card before the first one, if this is a further page."""

    @property
    def last(self) -> str:
        """Return the last card's id, after which the next page begins."""
        return self.cards[-1].id if self.cards else ""


@dataclass(slots=True)
class StartPage:
    """The start page."""

    table: Table
    gate: Gate
    render: Renderer
    cards: Cards
    _health: dict[str, Any] = field(default_factory=lambda: dict(_UNKNOWN))
    _health_until: float = 0.0
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def show(self, visit: Visit) -> Response:
        """Show the page."""
        shot = await self.snapshot(visit)
        return page(self.render.text("now.html", visit=visit, shot=shot, here="now"))

    async def snapshot(self, visit: Visit) -> Snapshot:
        """Return what waits and runs now, as far as the visitor may see it.

        Raises:
            Forbidden: the session may not read.
        """
        permit(self.table["exec.approval.list"], visit.who)
        store, visible = self.gate.store, visit.who.visible
        after = _after(visit)
        waiting = await store.read(approvals.pending, MOST_CARDS, after or None, None, visible)
        leading = [one for one in waiting if one.behind is None]
        total = await store.read(pending, visible) - (len(waiting) - len(leading))
        full = len(waiting) == MOST_CARDS
        runs = await self._runs(visit.who)
        cards = tuple(self.cards.listed(one, visit.csrf) for one in leading)
        reader = visit.reader
        if reader is not None:
            self.gate.seen.note(*(one.seen_by(reader) for one in cards))
        return Snapshot(
            cards=cards,
            total=total,
            more=await store.read(pending_after, waiting[-1].id, visible) if full else 0,
            running=self.render.text("running.html", runs=runs, visit=visit),
            runs=len(runs),
            health=await self._health_line(visit),
            plans=self.render.text("plans.html", plans=plans_of(leading)),
            after=after,
        )

    async def _runs(self, caller: Caller) -> list[Mapping[str, object]]:
        """Return the commands that run in this gateway, with the last lines that they printed."""
        found: list[Mapping[str, object]] = []
        for run_id in sorted(self.gate.running):
            if len(found) == MOST_RUNS:
                break
            try:
                known: Any = await invoke(self.table["history.list"], {"id": run_id}, caller)
                tail: Any = await invoke(self.table["exec.tail"], {"id": run_id}, caller)
            except SaysoError:
                continue  # it ended between the two reads, or is not stored yet
            if known["history"] and tail["running"]:
                text = tail["text"][-_TAIL:]
                found.append({**known["history"][0], "tail": text, "bytes": tail["totalBytes"]})
        return sorted(found, key=lambda one: (str(one["atMs"]), str(one["id"])))

    async def _health_line(self, visit: Visit) -> str:
        found = await self._looked_at(visit.who)
        locked: Any = await invoke(self.table["lockdown.get"], {}, visit.who)
        wrong = {name: one for name, one in found["parts"].items() if not one["ok"]}
        wrong.pop("lockdown", None)
        return self.render.text(
            "health.html",
            ok=found["ok"] if not locked["locked"] else not wrong,
            wrong=wrong,
            groups=_groups(found["parts"]),
            locked=locked,
            visit=visit,
        )

    async def _looked_at(self, caller: Caller) -> dict[str, Any]:
        """Return the health; the page does not wait for a slow check but shows it later."""
        if time.monotonic() < self._health_until:
            return self._health
        async with self._looking:
            if time.monotonic() >= self._health_until:
                try:
                    async with asyncio.timeout(_PATIENCE_S):
                        found: Any = await invoke(self.table["health.get"], {}, caller)
                        self._health = found
                except (TimeoutError, SaysoError):
                    self._health = dict(_UNKNOWN)
                self._health_until = time.monotonic() + _HEALTH_S
        return self._health


def _after(visit: Visit) -> ApprovalId:
    """Return the card that a further page begins after; empty for the first page.

    Raises:
        Fault: the address names no card.
    """
    found = visit.query().get("after", "")
    if not _ID.fullmatch(found):
        raise Fault(FaultCode.BAD_REQUEST, "The address is malformed.")
    return ApprovalId(found)


def _groups(parts: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return how many parts of each kind are healthy, as one line."""
    proofs = [one["ok"] for name, one in parts.items() if name.startswith("gate proof")]
    others = [
        one["ok"]
        for name, one in parts.items()
        if not name.startswith("gate proof") and name != "lockdown"
    ]
    counted = (("parts", others), ("entry points proved", proofs))
    return [(word, sum(found)) for word, found in counted if found]
