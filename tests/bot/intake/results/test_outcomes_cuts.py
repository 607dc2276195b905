"""Mask output that was cut where it was captured; its own agent gets every byte."""

from bot.intake.callers.caller import Caller
from bot.intake.results.outcomes import TailAnswer, submission
from core.model.access import Scope
from core.model.identity import AgentId, ApprovalId, Intake, Requester
from core.model.result import Finished, LiveOutput, Output
from core.text.cuts import CUT

FAR = Requester(Intake.HTTP, "api:1")
READER = Caller(FAR, None, frozenset({Scope.READ}))
AGENT = Caller(FAR, None, frozenset({Scope.REQUEST}), frozenset({AgentId("main")}))
_REST = "a1B2" * 9
_PRINTED = f"ghp_{_REST}\n" + "filler text\n" * 3_000
_TAIL = _PRINTED[3:20_003]
_TEXT = "filler text\n" * 10 + f"ghp_{_REST[:15]}"


def _ended(output: Output) -> Finished:
    return Finished(ApprovalId("1" * 26), 0, None, output, 5)


def test_a_token_that_a_tail_begins_in_is_not_shown() -> None:
    """While the command runs, after its end, and where all of its text is kept as well."""
    for kept in (Output(_PRINTED, _TAIL, 36_041), Output("", _TAIL, 900_000, truncated=True)):
        seen = TailAnswer.stored(_ended(kept), READER).text
        assert _REST not in seen
        assert "filler text\nfiller text\n" in seen
        assert TailAnswer.stored(_ended(kept), AGENT).text == _TAIL
    live = LiveOutput(_TAIL, 36_041)
    assert _REST not in TailAnswer.live(live, READER).text
    assert TailAnswer.live(live, AGENT).text == _TAIL


def test_a_token_that_the_text_ends_in_is_not_shown() -> None:
    """Nor the one that the tail begins in."""
    kept = Output(f"{_TEXT}{CUT}", _TAIL, 900_000, truncated=True)
    found = submission(_ended(kept), READER).as_json()
    assert _REST[:15] not in str(found)
    assert str(found["output"]).endswith("filler text\n\\u{2026} (truncated)")
    own = submission(_ended(kept), AGENT).as_json()
    assert (own["output"], own["tail"]) == (f"{_TEXT}{CUT}", _TAIL)


def test_what_was_not_cut_is_shown_from_its_first_line() -> None:
    """Also where it is as long as a tail can be, or has characters of several bytes."""
    text = "grüße\n" + "filler text\n" * 1_600
    for kept in (LiveOutput(text, len(text.encode())), LiveOutput("x\n" * 10_000, 20_000)):
        assert TailAnswer.live(kept, READER).text == kept.text
    assert TailAnswer.stored(_ended(Output(text, text, 30_000)), READER).text == text
