"""Return past records: unacknowledged events, sessions, the history."""

from collections.abc import Callable
from dataclasses import dataclass

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.methods.runs import ASKS, FOLLOWS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import (
    AckParams,
    EventsParams,
    ListParams,
    PastParams,
)
from bot.intake.results.answer import safe
from bot.intake.results.records import (
    AckedAnswer,
    EventAnswer,
    EventsAnswer,
    HistoryAnswer,
    HistoryRowAnswer,
    SessionAnswer,
    SessionsAnswer,
)
from core.model.identity import AgentId, SessionKey
from core.store import Store, approvals
from core.store.schema.records import HistoryRow
from core.store.sessions import events
from core.store.views import owners, references


@dataclass(frozen=True, slots=True)
class HistoryMethods(Group):
    """The methods about past records."""

    store: Store

    @handles(
        "events.drain", FOLLOWS, "Read a session's events after `seq` that are not acknowledged."
    )
    async def drain(self, params: EventsParams, caller: Caller) -> EventsAnswer:
        """Return a session's events after the last acknowledged one and after ``seq``."""
        session = SessionKey(params.session)
        waiting = await self.store.read(events.drain, session, params.limit, params.seq)
        return EventsAnswer(events=[EventAnswer.of(happened, caller) for happened in waiting])

    @handles("events.ack", ASKS, "Acknowledge a session's events; they are not delivered again.")
    async def ack(self, params: AckParams, _caller: Caller) -> AckedAnswer:
        """Acknowledge a session's events up to ``seq``."""
        acked = await self.store.write(events.ack, SessionKey(params.session), params.seq)
        return AckedAnswer(acked=acked)

    @handles(
        "sessions.list", READS, "List the sessions; with `agent`, those named `agent:AGENT:…`."
    )
    async def sessions(self, params: ListParams, _caller: Caller) -> SessionsAnswer:
        """List the sessions in the order of their keys."""
        head = "" if params.agent is None else f"agent:{params.agent}:"
        found = await self.store.read(owners.sessions_of, params.limit, head)
        return SessionsAnswer(sessions=[SessionAnswer.of(row) for row in found])

    @handles(
        "history.list", READS, "List requests and how they ended, the newest first.", filters=True
    )
    async def history(self, params: PastParams, caller: Caller) -> HistoryAnswer:
        """List what was asked and how it ended, newest first, as far as the caller may see it."""
        if params.id is not None:
            meant = await self.store.read(references.past, params.id)
            mine = (row for row in meant if params.agent in {None, row.agent})
            seen = [HistoryRowAnswer.of(row) for row in mine if caller.sees(row.agent)]
            return HistoryAnswer(history=seen)
        agent = AgentId(params.agent) if params.agent is not None else None
        span = (params.limit, params.before_ms, agent, params.since_ms)
        filters = (params.state, params.grep, params.session, params.by)
        looked: int | None = None
        sifted = agent is None and not caller.sees_all
        if not any(filters) and not sifted:
            rows = await self.store.read(approvals.history, *span)
        else:
            narrowing = approvals.Narrowing(
                state=params.state, session=params.session, by=params.by, words=params.grep
            )
            asked = wanted(*filters)

            def keep(row: HistoryRow) -> bool:
                return caller.sees(row.agent) and asked(row)

            rows = await self.store.read_beside(approvals.search, keep, *span, narrowing)
            if len(rows) < params.limit:
                began = await self.store.read(approvals.searched_from, *span[1:], narrowing)
                looked = None if began == params.since_ms else began
        shown = [HistoryRowAnswer.of(row) for row in rows]
        return HistoryAnswer(history=shown, looked_back_to_ms=looked)


def wanted(
    state: str | None, grep: str | None, session: str | None = None, by: str | None = None
) -> Callable[[HistoryRow], bool]:
    """Return the filter of a search: rows in a state, whose shown text contains some words.

    What is masked cannot be found, or readers could guess secrets. ``by`` is who decided:
    a name in any case, or an account with its channel.
    """
    words = None if grep is None else grep.casefold()

    def keep(row: HistoryRow) -> bool:
        if state is not None and row.state != state:
            return False
        if session is not None and row.session != session:
            return False
        if by is not None and not _decided(row, by):
            return False
        return words is None or words in safe(row.text).casefold()

    return keep


def _decided(row: HistoryRow, by: str) -> bool:
    return row.by is not None and (
        by == row.by.ref or by.casefold() in {row.by.name.casefold(), row.by.account.casefold()}
    )
