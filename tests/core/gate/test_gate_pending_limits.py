"""Refuse at once, and say why, when too much already waits for people; no one is asked."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.approval import ApprovalReply
from core.model.command import ExecRequest
from core.model.decision import Decision, DenialReason
from core.model.identity import AgentId, SessionKey
from core.model.pending_limits import PendingBound, PendingLimits
from core.model.result import Denied, Finished, Pending
from core.model.stdio import Stdio
from core.store import outbox
from core.store.sessions import events
from core.store.views import status
from tests.support.gate import gate_at, list_patterns, request, says

TWO = PendingLimits(per_agent=2, total=3, input_bytes_per_agent=100, input_bytes=150)


def _wish(number: int, agent: str = "main", stdin: bytes | None = None) -> ExecRequest:
    made = request(argv=("touch", f"file-{number}"))
    return replace(made, agent=AgentId(agent), stdio=Stdio(stdin))


async def test_one_question_too_many_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    """The agent is told the limit; the session, the journal and the store keep it."""
    async with gate_at(tmp_path, limits=TWO) as gate:
        asked = [await gate.submit(_wish(number)) for number in range(2)]
        refused = await gate.submit(_wish(2))
        prompts = await gate.store.write(outbox.claim, 10, 1_000, ("memory",))
        told = await gate.store.read(events.drain, SessionKey("main"))
        kept = await gate.wait(refused.run_id)

    assert all(isinstance(one, Pending) for one in asked)
    assert isinstance(refused, Denied)
    assert DenialReason.TOO_MANY_PENDING is refused.reason
    assert refused.why == (
        "2 approvals of this agent are pending, the maximum is 2. Nobody was asked "
        "about this one. Wait for answers or cancel some (see `sayso pending`), then "
        "retry; the owner can raise approvals.exec.pending.perAgent."
    )
    assert {item.approval_id for item in prompts} == {one.run_id for one in asked}
    assert refused == kept
    assert [event.run_id for event in told] == [refused.run_id]
    assert "too_many_pending" in told[0].text
    journal = (tmp_path / "audit.jsonl").read_text()
    assert journal.count('"reason":"too_many_pending"') == 1


async def test_an_answer_makes_room(tmp_path: Path) -> None:
    """What was refused is asked when it is sent again."""
    one = replace(TWO, per_agent=1)
    async with gate_at(tmp_path, limits=one) as gate:
        first = await gate.submit(_wish(1))
        assert isinstance(await gate.submit(_wish(2)), Denied)
        await gate.answer(says(first.run_id, ApprovalReply.DENY))
        assert isinstance(await gate.submit(_wish(2)), Pending)


@pytest.mark.parametrize(
    ("wishes", "bound"),
    [
        ([_wish(1), _wish(2, "other"), _wish(3, "third"), _wish(4, "fourth")], PendingBound.TOTAL),
        ([_wish(1, stdin=b"x" * 60), _wish(2, stdin=b"x" * 41)], PendingBound.INPUT_PER_AGENT),
        (
            [_wish(1, stdin=b"x" * 99), _wish(2, "other", b"x" * 52)],
            PendingBound.INPUT,
        ),
    ],
    ids=str,
)
async def test_every_bound_names_its_key(
    tmp_path: Path, wishes: list[ExecRequest], bound: PendingBound
) -> None:
    """The last request exceeds it; the message says which and by how much."""
    async with gate_at(tmp_path, limits=TWO) as gate:
        *asked, refused = [await gate.submit(wish) for wish in wishes]
    assert all(isinstance(one, Pending) for one in asked)
    assert isinstance(refused, Denied)
    assert DenialReason.TOO_MANY_PENDING is refused.reason
    assert refused.why.endswith(f"the owner can raise {bound}.")


async def test_a_crowd_at_the_same_moment_gets_so_many_places(tmp_path: Path) -> None:
    """Thirty requests of three agents at once: three are asked."""
    async with gate_at(tmp_path, limits=TWO) as gate:
        wishes = [_wish(number, f"agent{number % 3}") for number in range(30)]
        told = await asyncio.gather(*map(gate.submit, wishes))
        assert await gate.store.read(status.pending) == 3
    assert [isinstance(one, Pending) for one in told].count(True) == 3
    assert {one.reason for one in told if isinstance(one, Denied)} == {
        DenialReason.TOO_MANY_PENDING
    }


async def test_a_gateway_that_starts_again_counts_what_waits(tmp_path: Path) -> None:
    """None of it is in memory."""
    async with gate_at(tmp_path, limits=TWO) as gate:
        await asyncio.gather(*(gate.submit(_wish(number)) for number in range(2)))
    async with gate_at(tmp_path, owner="boot-2", limits=TWO) as gate:
        assert isinstance(await gate.submit(_wish(3)), Denied)


async def test_the_proof_that_the_gate_holds_needs_no_room(tmp_path: Path) -> None:
    """A flood does not make the gateway lock itself down."""
    async with gate_at(tmp_path, limits=replace(TWO, per_agent=1)) as gate:
        await gate.submit(_wish(1))
        mark = gate.execution.guard.marks.draw("socket", "/usr/bin/touch", str(tmp_path))
        held = await gate.submit(request(argv=mark.argv))
    assert isinstance(held, Denied)
    assert (held.reason, mark.judged) == (DenialReason.CANCELLED, Decision.ASK)


async def test_what_is_allowed_runs_however_many_wait(tmp_path: Path) -> None:
    """The limits are about people, not about commands."""
    list_patterns(tmp_path, "/usr/bin/echo")
    async with gate_at(tmp_path, limits=replace(TWO, per_agent=1)) as gate:
        await gate.submit(_wish(1))
        assert isinstance(await gate.submit(request("echo one")), Finished)
