"""Show events to those who may read them, and what others' commands printed masked."""

from dataclasses import replace

from bot.intake.callers.caller import Caller
from bot.intake.results.records import EventAnswer, HistoryRowAnswer
from core.model.access import Scope
from core.model.approval import ApprovalState
from core.model.events import EventKind, SessionEvent, finished_text
from core.model.identity import AgentId, ApprovalId, Intake, Requester, SessionKey
from core.model.result import Finished, Output
from core.store.runs.outcomes import event_tail
from core.store.schema.records import HistoryRow

FAR = Requester(Intake.HTTP, "api:1")
READER = Caller(FAR, None, frozenset({Scope.READ}))
AGENT = Caller(FAR, None, frozenset({Scope.REQUEST}), frozenset({AgentId("main")}))


def test_an_event_shows_no_part_of_a_token() -> None:
    """The tail of what was printed begins in one; its own agent reads it as it was printed."""
    rest = "a1B2" * 9
    printed = f"{rest}\n" + "filler text\n" * 5
    tail = event_tail(Output("", printed, 900_000, truncated=True))
    text = finished_text("gateway", "1" * 26, "0", tail)
    event = SessionEvent(SessionKey("s"), 1, EventKind.FINISHED, text, ApprovalId("1" * 26), 5)
    seen = EventAnswer.of(event, READER).text
    assert rest not in seen
    assert seen.startswith("Exec finished (")
    assert seen.count("filler text") == 5
    assert EventAnswer.of(event, AGENT).text == text


def test_a_row_of_the_history_has_an_ending_only_where_the_run_ended() -> None:
    """A program that was stopped after its time has a signal and no exit code."""
    row = HistoryRow(
        id=ApprovalId("1" * 26),
        code="abcd",
        at_ms=1,
        agent=AgentId("main"),
        session=SessionKey("s"),
        place="/srv",
        text="sleep 60",
        source=None,
        by=None,
        reply=None,
        reason=None,
        state=ApprovalState.ALLOWED,
        end=None,
    )
    assert _ending(row) == (None, None, False, False, None)
    ended = Finished(row.id, None, 9, Output(), 1500, timed_out=True)
    assert _ending(replace(row, end=ended)) == (None, 9, True, False, 1500)
    cancelled = Finished(row.id, 0, None, Output(), 20, cancelled=True)
    assert _ending(replace(row, end=cancelled)) == (0, None, False, True, 20)


def _ending(row: HistoryRow) -> tuple[object, ...]:
    shown = HistoryRowAnswer.of(row)
    return (shown.exit_code, shown.signal, shown.timed_out, shown.cancelled, shown.duration_ms)
