"""Push changes of the start page as server-sent events (HTML Standard, 9.2).

Each update reads the store afresh through the methods, and looks the session up again: a person who
is signed out receives nothing more. A client that reconnects sends what it has, and gets what
differs.
"""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.types import Send

from bot.api.rest.rest import unless_gone
from bot.api.rest.wakeups import ApiWakeups
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import permit
from bot.page.start_page import Snapshot, StartPage
from bot.page.visit import HEADERS, Visit
from core.errors import SaysoError, Unauthenticated
from core.gate.gate import Gate
from core.model.approval import Approval
from core.model.identity import ApprovalId
from core.store import approvals
from core.store.engine.clock import wall_ms
from core.store.people import tokens
from core.store.views.status import status_of

Check = Callable[[Visit], Awaitable[Caller]]
"""Return the current caller of a visit's session, or raise ``Unauthenticated``."""
_IDLE_S = 10.0
_RUNNING_S = 1.0
"""How often output is read while something runs."""
_SETTLE_S = 0.05
"""How long changes are gathered, so that a burst causes one update."""
_ABOUT = ("approval:", "run:", tokens.CHANGED)


@dataclass(slots=True)
class Sent:
    """What has been sent to a page: the revision of each card, and the text of every other part."""

    cards: dict[str, str]
    running: str = ""
    health: str = ""
    plans: str = ""


@dataclass(frozen=True, slots=True)
class Live:
    """Serve the stream of one page."""

    start_page: StartPage
    gate: Gate
    wakes: ApiWakeups
    longest_s: float

    async def serve(self, visit: Visit, check: Check, send: Send) -> None:
        """Stream until the browser leaves, the session ends or the time is up."""
        await unless_gone(visit.receive, self._stream(visit, check, send))

    async def _stream(self, visit: Visit, check: Check, send: Send) -> None:
        query = visit.query()
        sent = Sent(_seen(query.get("seen", "")))
        follow = query.get("follow")
        events = self._end_of(visit, check, follow) if follow else self._events(visit, check, sent)
        head = [(b"content-type", b"text/event-stream; charset=utf-8")]
        head += [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        last = b""
        try:
            async for event in events:
                body = f"retry: 2000\nevent: now\ndata: {json.dumps(event)}\n\n".encode()
                await send({"type": "http.response.body", "body": body, "more_body": True})
        except Unauthenticated:
            last = b"event: signed-out\ndata: {}\n\n"
        except SaysoError:
            pass  # the stream ends, and the page that resumes it is sent the reason
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _events(
        self, visit: Visit, check: Check, sent: Sent
    ) -> AsyncIterator[Mapping[str, object]]:
        until = time.monotonic() + self.longest_s
        async with self.wakes.of(*_ABOUT) as woken:
            while not self.wakes.stopping.is_set() and time.monotonic() < until:
                visit.caller = await check(visit)
                shot = await self.start_page.snapshot(visit)
                yield {**await self._changes(shot, sent, visit), "now": wall_ms()}
                if await woken(_RUNNING_S if shot.runs else _IDLE_S):
                    await woken(_SETTLE_S)

    async def _end_of(
        self, visit: Visit, check: Check, ref: str
    ) -> AsyncIterator[Mapping[str, object]]:
        """Yield, again and again, whether one approval has ended, until it has."""
        until = time.monotonic() + self.longest_s
        about = (f"approval:{ref}", tokens.CHANGED)
        async with self.wakes.of(*about) as woken:
            while not self.wakes.stopping.is_set() and time.monotonic() < until:
                visit.caller = await check(visit)
                permit(self.start_page.table["exec.approval.get"], visit.who)
                found = await self._seen(ref, visit)
                ended = found is None or found.resolution is not None
                yield {"now": wall_ms(), "ended": ended}
                if ended:
                    return
                await woken(_IDLE_S)

    async def _changes(self, shot: Snapshot, sent: Sent, visit: Visit) -> dict[str, object]:
        """Return what differs from what was sent, and record it as sent."""
        known = {card.id: card.rev for card in shot.cards}
        gone = [one for one in sent.cards if one not in known]
        event: dict[str, object] = {
            "order": list(known),
            "total": shot.total,
            "more": shot.more,
            "cards": {one.id: one.html for one in shot.cards if sent.cards.get(one.id) != one.rev},
            "gone": {one: await self._ending(one, visit) for one in gone},
        }
        if shot.running != sent.running:
            event["running"] = shot.running
        if shot.health != sent.health:
            event["health"] = shot.health
        if shot.plans != sent.plans:
            event["plans"] = shot.plans
        sent.cards, sent.running, sent.health = known, shot.running, shot.health
        sent.plans = shot.plans
        return event

    async def _seen(self, ref: str, visit: Visit) -> Approval | None:
        """Return an approval that the visitor may know of."""
        found = await self.gate.store.read(approvals.get, ApprovalId(ref))
        return found if found is not None and visit.who.sees(found.plan.agent) else None

    async def _ending(self, card_id: str, visit: Visit) -> str:
        """Return how a card that is gone ended; one that moved to another page has no text."""
        found = await self._seen(card_id, visit)
        if found is None or found.resolution is None:
            return ""
        ended = await self.gate.store.read(status_of, found.id)
        return self.start_page.cards.ending(found, ended)


def _seen(text: str) -> dict[str, str]:
    """Return the revisions that a page says it has: ``id.rev,id.rev``."""
    pairs = (one.partition(".") for one in text.split(",") if one)
    return {card: rev for card, _, rev in pairs}
