"""Take an answer to a question that the caller sees, and to no other that it may have meant."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import ApprovalMethods
from bot.intake.registry.params import IdParams, ResolveParams
from core.approvals.answer import AnswerOutcome
from core.errors import NotFound
from core.gate.gate import Gate
from core.model.approval import ApprovalReply
from core.model.identity import AgentId, ApprovalId
from core.store import approvals
from tests.support.gate import gate_at
from tests.support.store_records import draft
from tests.support.three_agents import approver_of, whole

IDS = {"amber": "aaaa1", "birch": "aaaa2", "cedar": "aaaa3"}
"""What the ids of the agents' questions begin with."""


async def _ask(gate: Gate, name: str) -> str:
    """Store a question of an agent; return its code."""
    asked = draft(ApprovalId(f"{IDS[name]:0<26}"))
    asked = replace(asked, plan=replace(asked.plan, agent=AgentId(name)))
    await gate.store.write(approvals.create, asked)
    return asked.id[:6].upper()


async def _denies(gate: Gate, caller: Caller) -> tuple[AnswerOutcome, str]:
    """Deny what the ids' common prefix means; return the outcome, and its sentence."""
    wanted = ResolveParams(id="aaaa", decision=ApprovalReply.DENY)
    answered = await ApprovalMethods(gate).resolve(wanted, caller)
    return answered.outcome, answered.sentence


async def test_a_prefix_means_what_the_caller_sees(tmp_path: Path) -> None:
    """Of three questions that share one: codes of others are not in the sentence."""
    async with gate_at(tmp_path) as gate:
        codes = {name: await _ask(gate, name) for name in IDS}
        for caller, named in (
            (whole(), set(IDS)),
            (approver_of("amber", "birch"), {"amber", "birch"}),
            (approver_of("amber", others=True), {"birch", "cedar"}),
        ):
            outcome, sentence = await _denies(gate, caller)
            assert outcome is AnswerOutcome.AMBIGUOUS
            assert {name for name, code in codes.items() if code in sentence} == named
        unknown = await _denies(gate, approver_of("dogwood"))
        denied = await _denies(gate, approver_of("birch"))

    assert unknown[0] is AnswerOutcome.UNKNOWN
    assert denied == (AnswerOutcome.ACCEPTED, f"Denied: {codes['birch']}.")


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (("amber", "birch"), "'aaaa' names 2 approvals"),
        (("dogwood",), "'aaaa' names no approvals"),
    ],
)
async def test_one_that_is_shown_is_the_only_one(
    tmp_path: Path, seen: tuple[str, ...], said: str
) -> None:
    """Of those that the caller sees: how many there are is said, and no code."""
    async with gate_at(tmp_path) as gate:
        for name in IDS:
            await _ask(gate, name)
        methods = ApprovalMethods(gate)
        with pytest.raises(NotFound, match=f"^{said}$"):
            await methods.get(IdParams(id="aaaa"), approver_of(*seen))
        shown = await methods.get(IdParams(id="aaaa"), approver_of("cedar"))

    assert shown.agent == "cedar"
