"""Show events to those who may read them, and what others' commands printed masked."""

from bot.intake.callers.caller import Caller
from bot.intake.results.records import EventAnswer
from core.model.access import Scope
from core.model.events import EventKind, SessionEvent, finished_text
from core.model.identity import AgentId, ApprovalId, Intake, Requester, SessionKey
from core.model.result import Output
from core.store.runs.outcomes import event_tail

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
