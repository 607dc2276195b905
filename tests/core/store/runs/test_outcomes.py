"""Say why nothing ran, and how a run ended, from what the store has."""

from typing import cast

import pytest
from sqlalchemy import RowMapping

from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.result import Finished, Output
from core.store.runs.outcomes import _why, code_words, event_tail

RUN, NOTHING = ApprovalId("0run"), Output("", "", 0)
TAIL, CUT = 20_000, "… (truncated)\n"


@pytest.mark.parametrize(
    ("reason", "note", "said"),
    [
        (DenialReason.APPROVER_DENIED, "", "Ana denied it."),
        (DenialReason.APPROVER_DENIED, "not now", "Ana denied it: not now"),
        (DenialReason.APPROVAL_TIMEOUT, "", "Nobody answered before the deadline."),
        (
            DenialReason.UNDELIVERED,
            "",
            "The prompt could not be delivered to anybody, so nobody was asked.",
        ),
        (DenialReason.CANCELLED, "", "It was cancelled before anybody answered."),
        (DenialReason.CANCELLED, "withdrawn by uid:0", "withdrawn by uid:0"),
    ],
)
def test_each_reason_has_its_sentence(reason: DenialReason, note: str, said: str) -> None:
    """With the note of whoever decided; a person without a name goes by the account."""
    row = {"reason": reason.value, "name": "Ana", "account": "42", "note": note}

    assert _why(cast("RowMapping", row)) == said
    assert _why(cast("RowMapping", {**row, "name": ""})) == said.replace("Ana", "42")


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (Finished(RUN, 3, None, NOTHING, 1), "3"),
        (Finished(RUN, None, None, NOTHING, 1), "unknown"),
        (Finished(RUN, None, 9, NOTHING, 1), "signal 9"),
        (Finished(RUN, 0, None, NOTHING, 1, timed_out=True), "0, stopped at its time limit"),
        (Finished(RUN, None, 15, NOTHING, 1, cancelled=True), "signal 15, cancelled"),
        (Finished(RUN, None, 15, NOTHING, 1, drift="x changed"), "signal 15, plan_drift"),
    ],
)
def test_each_end_has_its_words(result: Finished, said: str) -> None:
    """The code or the signal, and what else ended it."""
    assert code_words(result) == said


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        (NOTHING, ""),
        (Output("abc", "abc", 3), "abc"),
        (Output("a" * TAIL, "a" * TAIL, TAIL), "a" * TAIL),
        (Output("a" * TAIL + "b", "a" * TAIL + "b", TAIL + 1), None),
        (Output("abc", "bc", 3), f"{CUT}bc"),
        (Output("abc", "abc", 9, truncated=True), f"{CUT}abc"),
    ],
)
def test_a_tail_without_its_beginning_says_so(output: Output, shown: str | None) -> None:
    """And is no longer than an event may be."""
    found = event_tail(output)

    assert len(found) <= TAIL
    if shown is None:
        assert found == CUT + ("a" * TAIL + "b")[-(TAIL - len(CUT)) :]
    else:
        assert found == shown
