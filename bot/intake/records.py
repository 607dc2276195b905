"""Tell what happened: session events until acknowledged, sessions, the history."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.intake import results
from bot.intake.caller import Caller
from bot.intake.frames import AckParams, EventsParams, ListParams, PastParams
from bot.intake.methods import AnyMethod, Method
from bot.intake.questions import READS
from bot.intake.runs import ASKS, FOLLOWS
from core.model.identity import AgentId, SessionKey
from core.store import Store, approvals, events, owners


@dataclass(frozen=True, slots=True)
class RecordMethods:
    """The methods about what was."""

    store: Store

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="events.drain",
                params=EventsParams,
                scopes=FOLLOWS,
                handler=self.drain,
                summary="Read a session's events above `seq` and above what was acknowledged.",
                answer='`{"events": [{"seq", "kind", "text", "id", "atMs"}]}`',
            ),
            Method(
                name="events.ack",
                params=AckParams,
                scopes=ASKS,
                handler=self.ack,
                summary="Acknowledge a session's events; they are not told again.",
                answer='`{"acked"}`: the number that is acknowledged now',
            ),
            Method(
                name="sessions.list",
                params=ListParams,
                scopes=READS,
                handler=self.sessions,
                summary="List the sessions; with `agent`, those named `agent:AGENT:…`.",
                answer='`{"sessions": [{"session", "lastSeq", "ackedSeq", "atMs"}]}`',
            ),
            Method(
                name="history.list",
                params=PastParams,
                scopes=READS,
                handler=self.history,
                summary="List what was asked and how it ended, the newest first.",
                answer='`{"history": […]}`, `how` says in words how each ended',
            ),
        )

    async def drain(self, wish: EventsParams, caller: Caller) -> object:
        """Return a session's events above what was acknowledged and above ``seq``."""
        session = SessionKey(wish.session)
        waiting = await self.store.read(events.drain, session, wish.limit, wish.seq)
        return {"events": [results.event(happened, caller) for happened in waiting]}

    async def ack(self, wish: AckParams, _caller: Caller) -> object:
        """Acknowledge a session's events up to ``seq``."""
        return {"acked": await self.store.write(events.ack, SessionKey(wish.session), wish.seq)}

    async def sessions(self, wish: ListParams, _caller: Caller) -> object:
        """List the sessions in the order of their keys."""
        head = "" if wish.agent is None else f"agent:{wish.agent}:"
        found = await self.store.read(owners.sessions_of, wish.limit, head)
        return {"sessions": [results.session(row) for row in found]}

    async def history(self, wish: PastParams, _caller: Caller) -> object:
        """List what was asked and how it ended, newest first."""
        agent = AgentId(wish.agent) if wish.agent is not None else None
        rows = await self.store.read(approvals.history, wish.limit, wish.before_ms, agent)
        return {"history": [results.history(row) for row in rows]}
