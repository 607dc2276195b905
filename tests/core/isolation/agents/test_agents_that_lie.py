"""Face agents that lie, flood and look: only what people allow happens, and nothing breaks."""

import json

import pytest

from channels.cards.build import build_prompt
from channels.cards.lines import whole_text
from core.isolation.agents.said import _MOST
from core.model.approval import ApprovalReply
from core.model.identity import SessionKey
from core.model.result import Finished
from core.store import approvals
from core.store.sessions import events
from tests.support.agents import Bench


@pytest.mark.parametrize("reply", [ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY])
async def test_an_id_for_several_kinds_is_not_passed_on(bench: Bench, reply: ApprovalReply) -> None:
    """One id for allow, allow always and reject could mean any of them: it is cancelled."""
    file = bench.work / f"shared-{reply.value}"
    under_way = bench.give(f"shared {file}")
    await bench.answer(await bench.question(), reply)
    done = await under_way

    assert isinstance(done, Finished)
    assert json.loads(done.output.text) == {"outcome": "cancelled"}
    assert not file.exists()


async def test_hidden_text_is_shown(bench: Bench) -> None:
    """Text that reverses, hides or colours reaches no one unchanged."""
    under_way = bench.give(f"hidden {bench.work}/x")
    question = await bench.question()
    card = whole_text(build_prompt(question))
    await bench.answer(question, ApprovalReply.DENY)
    await under_way

    assert "Allowed by Ana" in card
    for character in "\u202e\u2066\u200b\x1b\x07\r":
        assert character not in card, repr(character)


async def test_much_at_once_is_heard(bench: Bench) -> None:
    """A chunk that is longer than any line between executor and gateway ends nothing."""
    done = await bench.give("chunk 200000")

    assert isinstance(done, Finished)
    assert done.exit_code == 0, done.output.tail
    assert len(done.output.text) == _MOST


async def test_a_flood_of_reports_is_held_back(bench: Bench) -> None:
    """Neither the session nor the journal gets more than a token's rate allows at once."""
    done = await bench.give("flood 300")
    told = await bench.gate.store.read(events.drain, SessionKey("main"))

    assert isinstance(done, Finished)
    assert done.exit_code == 0, done.output.tail
    assert len(told) <= 300


async def test_what_is_no_message_is_passed_over(bench: Bench) -> None:
    """Halves, lists, deep nesting, wrong types, characters and counts that cannot be stored."""
    done = await bench.give("odd")

    assert isinstance(done, Finished)
    assert done.exit_code == 0, done.output.tail
    assert dict(done.token_usage) == {"inputTokens": 11, "outputTokens": 5}


async def test_after_its_answer_an_agent_asks_nobody(bench: Bench) -> None:
    """It is ended; nothing is asked, and nothing written. The control: before that, it is asked."""
    file = bench.work / "late"
    done = await bench.give(f"late {file}")

    assert isinstance(done, Finished)
    assert done.exit_code == 0
    assert await bench.gate.store.read(approvals.pending, 10, None, None) == ()
    assert not file.exists()


async def test_an_agent_cannot_look_into_its_executor(bench: Bench) -> None:
    """Environment, descriptors, memory, ptrace; the control: all of it is open in its own child."""
    done = await bench.give("spy")

    assert isinstance(done, Finished)
    found = json.loads(done.output.text)
    assert found["executor"] == dict.fromkeys(found["executor"], False)
    assert found["child"] == dict.fromkeys(found["child"], True)
    assert len(found["child"]) == 7
