"""Push what happens to a WebSocket that asked for it: its sessions' events, and approvals.

Nothing is queued in memory: a wake-up only marks what to read, and the store is read when the
client has taken what came before. The number of marks is bounded; beyond it the client is asked to
drain.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Table, bound, invoke, permit
from bot.intake.registry.params import SessionParams, read
from core.errors import BadRequest, NotFound
from core.ipc.jsonrpc import Notify
from core.store import Store
from core.store.engine.notifications import RESYNC

OVERFLOW = "events.overflow"
_PAGE = 100
_MOST_MARKED = 1000
_MOST_SESSIONS = 64
_MAX_REPORTED = 10_000
_PENDING = "pending"


class SubscribeParams(SessionParams):
    """``events.subscribe``: on a WebSocket only."""

    seq: Annotated[int, Field(ge=0, le=2**53 - 1)] = Field(
        default=0, description="only events after this number"
    )
    events: bool = Field(default=True, description="push the session's events")
    approvals: bool = Field(default=False, description="push approvals as well")


@dataclass(slots=True)
class Subscriptions:
    """What one WebSocket subscribes to. ``login`` returns its current caller."""

    store: Store
    table: Table
    login: Callable[[], Awaitable[Caller]]
    notify: Notify
    _sessions: dict[str, int] = field(default_factory=dict)
    _approvals: bool = False
    _marked: dict[str, None] = field(default_factory=dict)
    _reported: OrderedDict[str, bool] = field(default_factory=OrderedDict)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _overflowed: bool = False

    def subscribe(self, raw: Mapping[str, object], caller: Caller) -> dict[str, object]:
        """Add a subscription.

        Raises:
            Forbidden: the caller may not read it.
            BadRequest: the params are wrong, or name too many sessions.
        """
        permit(self.table["events.drain"], caller)
        params = bound(read(SubscribeParams, raw), caller)
        if params.approvals:
            permit(self.table["exec.approval.get"], caller)
            self._approvals = True
        if params.events:
            if len(self._sessions) >= _MOST_SESSIONS and params.session not in self._sessions:
                raise BadRequest(f"at most {_MOST_SESSIONS} sessions per connection")
            self._sessions[params.session] = params.seq
            self._mark(f"session:{params.session}")
        return {"sessions": list(self._sessions), "approvals": self._approvals}

    async def pump(self) -> None:
        """Push until cancelled, or until the client falls too far behind.

        Raises:
            SaysoError: the token is no longer valid, or the store cannot be read.
        """
        unsubscribe = self.store.subscribe(self._hear)
        try:
            while not self._overflowed:
                await self._woken.wait()
                self._woken.clear()
                await self._push()
            hint = "The client is too slow. Drain the events, then reconnect."
            await self.notify(OVERFLOW, {"hint": hint})
        finally:
            unsubscribe()

    def _hear(self, note: str) -> None:
        kind, _, about = note.partition(":")
        if note == RESYNC:
            for session in self._sessions:
                self._mark(f"session:{session}")
        elif (kind == "session" and about in self._sessions) or (
            kind == "approval" and self._approvals
        ):
            self._mark(note)

    def _mark(self, note: str) -> None:
        if len(self._marked) < _MOST_MARKED:
            self._marked[note] = None
        else:
            self._overflowed = self._overflowed or note not in self._marked
        self._woken.set()

    async def _push(self) -> None:
        while self._marked and not self._overflowed:
            note = next(iter(self._marked))
            del self._marked[note]
            kind, _, about = note.partition(":")
            caller = await self.login()
            if kind == "session":
                await self._push_events(about, caller)
            else:
                await self._push_approval(about, caller)

    async def _push_events(self, session: str, caller: Caller) -> None:
        raw = {"session": session, "seq": self._sessions[session], "limit": _PAGE}
        answer = await invoke(self.table["events.drain"], raw, caller)
        found = answer["events"] if isinstance(answer, dict) else []
        for event in found:
            await self.notify(event["kind"], {"session": session, **event})
            self._sessions[session] = event["seq"]
        if len(found) == _PAGE:
            self._mark(f"session:{session}")

    async def _push_approval(self, approval_id: str, caller: Caller) -> None:
        """Report once that a question was asked, and once how it ended."""
        try:
            asked = await invoke(self.table["exec.approval.get"], {"id": approval_id}, caller)
        except NotFound:
            return  # another agent's
        if not isinstance(asked, dict):
            return
        ended = asked["state"] != _PENDING
        if self._reported.get(approval_id) in {ended, True}:
            return
        self._reported[approval_id] = ended
        if len(self._reported) > _MAX_REPORTED:
            self._reported.popitem(last=False)
        await self.notify(f"exec.approval.{'resolved' if ended else 'requested'}", asked)
