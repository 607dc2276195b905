"""Record in the journal how a command ended, and read it back."""

from dataclasses import replace

import pytest

from core.gate.journal.journal_records import decided, finished, resolved, result_of
from core.model.approval import ApprovalState
from core.model.decision import Decision, DenialReason
from core.model.identity import ApprovalId
from core.model.result import Finished, Output
from tests.contracts import channel_examples
from tests.support.store_records import ASKER, evaluation, plan

RUN = ApprovalId("01jz0000000000000000000000")
ENDED = Finished(RUN, 3, None, Output(), 12)


@pytest.mark.parametrize(
    "result",
    [
        ENDED,
        replace(ENDED, exit_code=None, signal=9, timed_out=True),
        replace(ENDED, exit_code=None, signal=15, cancelled=True),
        replace(ENDED, exit_code=0, duration_ms=0),
        replace(ENDED, drift="the program was replaced"),
    ],
)
def test_a_record_gives_back_how_a_command_ended(result: Finished) -> None:
    """A gateway that follows one that died between journal and store knows the end from it."""
    assert result == result_of(finished(result))


def test_what_was_printed_is_lost_but_not_that_it_was() -> None:
    """The journal counts the bytes only; the text says where they went."""
    printed = replace(ENDED, output=Output("secret\n", "secret\n", 7))

    output = result_of(finished(printed)).output

    assert 7 == output.total_bytes
    assert output.truncated
    assert "the output was lost when the gateway died" in output.text
    assert output.text == output.tail


def test_an_end_has_its_denial_where_it_is_one() -> None:
    """Nothing of one if it was allowed, nor while no one has decided."""
    denied = replace(
        channel_examples.resolved(ApprovalState.DENIED, None, None), reason=DenialReason.NO_ROUTE
    )
    ends = (denied, channel_examples.resolved(), None)

    records = [resolved(channel_examples.approval(resolution=end)) for end in ends]

    assert [one["state"] for one in records] == ["denied", "allowed", "pending"]
    assert [one.get("denial", "none") for one in records] == ["no_route", "none", "none"]


@pytest.mark.parametrize(
    ("decision", "denial"),
    [
        (Decision.ALLOW, "none"),
        (Decision.ASK, "none"),
        (Decision.DENY, DenialReason.ALLOWLIST_MISS),
    ],
)
def test_a_decision_has_its_denial_where_it_is_one(decision: Decision, denial: str) -> None:
    """What policy allowed or asked about has none."""
    judged = replace(evaluation(), decision=decision)

    assert decided(RUN, ASKER, plan(), judged).get("denial", "none") == denial
