"""Return what happened: session events until acknowledged, sessions, the history."""

from collections.abc import Iterable
from dataclasses import dataclass

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.methods.runs import ASKS, FOLLOWS
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import AckParams, EventsParams, ListParams, PastParams
from bot.intake.results import results
from core.model.identity import AgentId, SessionKey
from core.store import Store, approvals
from core.store.sessions import events
from core.store.views import owners


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
                summary="Read a session's events after `seq` that are not acknowledged.",
                answer='`{"events": [{"seq", "kind", "text", "id", "atMs"}]}`',
            ),
            Method(
                name="events.ack",
                params=AckParams,
                scopes=ASKS,
                handler=self.ack,
                summary="Acknowledge a session's events; they are not delivered again.",
                answer='`{"acked"}`: the number now acknowledged',
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
                summary="List requests and how they ended, the newest first.",
                answer='`{"history": […]}`, `how` says in words how each ended',
            ),
        )

    async def drain(self, params: EventsParams, caller: Caller) -> object:
        """Return a session's events above what was acknowledged and above ``seq``."""
        session = SessionKey(params.session)
        waiting = await self.store.read(events.drain, session, params.limit, params.seq)
        return {"events": [results.event(happened, caller) for happened in waiting]}

    async def ack(self, params: AckParams, _caller: Caller) -> object:
        """Acknowledge a session's events up to ``seq``."""
        return {"acked": await self.store.write(events.ack, SessionKey(params.session), params.seq)}

    async def sessions(self, params: ListParams, _caller: Caller) -> object:
        """List the sessions in the order of their keys."""
        head = "" if params.agent is None else f"agent:{params.agent}:"
        found = await self.store.read(owners.sessions_of, params.limit, head)
        return {"sessions": [results.session(row) for row in found]}

    async def history(self, params: PastParams, _caller: Caller) -> object:
        """List what was asked and how it ended, newest first."""
        agent = AgentId(params.agent) if params.agent is not None else None
        rows = await self.store.read(approvals.history, params.limit, params.before_ms, agent)
        return {"history": [results.history(row) for row in rows]}
