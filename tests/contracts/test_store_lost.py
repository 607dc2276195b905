"""State what every engine must do with a question whose companion went away."""

from dataclasses import replace

import pytest

from core.model.approval import ApprovalState
from core.model.decision import DenialReason
from core.model.identity import ApprovalId, Target
from core.model.result import Denied
from core.store import approvals, outbox
from core.store.runs import outcomes
from tests.support.store_records import ALICE, GROUP, MINUTE, ONCE, draft
from tests.support.stores import OpenStore

HERE = Target("companion", "here")
WHY = "the companion is gone"


async def _lost(bench: OpenStore, asked: ApprovalId) -> ApprovalState | None:
    """Report the companion as gone and return the state after it, ``None`` while pending."""
    await bench.store.write(approvals.settle_lost, asked, "companion", WHY)
    found = await bench.store.read(approvals.get, asked)
    assert found is not None
    return found.resolution.state if found.resolution else None


async def test_what_was_asked_nowhere_else_is_denied(bench: OpenStore) -> None:
    """It ends as no_route with the words, and a second report changes nothing."""
    asked = await bench.ask(draft(targets=(HERE,)))

    ended = await bench.store.write(approvals.settle_lost, asked, "companion", WHY)
    again = await bench.store.write(approvals.settle_lost, asked, "companion", WHY)

    assert ended is not None
    assert ended.resolution is not None
    assert (ApprovalState.DENIED, WHY) == (ended.resolution.state, ended.resolution.note)
    assert again is None
    outcome = await bench.store.read(outcomes.outcome, asked)
    assert isinstance(outcome, Denied)
    assert DenialReason.NO_ROUTE is outcome.reason


async def test_what_is_asked_elsewhere_goes_on(bench: OpenStore) -> None:
    """A chat that was asked as well, or a person who needs no prompt, can still answer."""
    both = await bench.ask(draft(targets=(HERE, GROUP)))
    local = await bench.ask(replace(draft(targets=(HERE,)), local=True))

    assert await _lost(bench, both) is None
    assert await _lost(bench, local) is None


async def test_a_chat_that_refused_the_prompt_is_no_other_place(bench: OpenStore) -> None:
    """If the chat's prompt was given up, the companion was the only place."""
    asked = await bench.ask(draft(targets=(HERE, GROUP)))
    names = ("telegram", "companion")
    for item in await bench.store.write(outbox.claim, 10, 5_000, names, ()):
        if item.target == HERE:
            await bench.store.write(outbox.sent, item.id, "shown")
        else:
            await bench.store.write(outbox.drop, item.id, "kicked out of the chat")

    assert ApprovalState.DENIED is await _lost(bench, asked)


@pytest.mark.parametrize("how", ["answered", "expired"])
async def test_what_has_ended_stays_as_it_ended(bench: OpenStore, how: str) -> None:
    """An answer before the loss counts; a deadline before it is a timeout, not a loss."""
    asked = await bench.ask(draft(targets=(HERE,)))
    if how == "answered":
        await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, "in:1"))
    else:
        await bench.advance(3 * MINUTE)

    expected = {"answered": ApprovalState.ALLOWED, "expired": ApprovalState.EXPIRED}[how]
    assert expected is await _lost(bench, asked)


async def test_an_unknown_question_is_none(bench: OpenStore) -> None:
    """A question that does not exist cannot be denied."""
    lost = approvals.settle_lost
    assert await bench.store.write(lost, ApprovalId("0" * 26), "companion", WHY) is None
