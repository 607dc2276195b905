"""Let no press allow if a tier requires the typed word; on the memory channel, as shown."""

from dataclasses import replace
from pathlib import Path

import pytest

from channels.memory import MemoryChannel
from core.approvals.routing.tiers import TierTerms
from core.gate.gate import Gate
from core.model.approval import ApprovalReply
from core.model.decision import Tier
from core.model.result import Denied, Finished, Pending
from tests.support.chat import ask, prompts, said, sending
from tests.support.gate import ANA, PLACE, gate_at
from tests.support.waiting import until

ONCE, ALWAYS, DENY = ApprovalReply


def _stepped(gate: Gate, *, step_up: bool = True) -> Gate:
    """Return the gate with typed words required for what is asked here."""
    asking = replace(gate.broker.asking, tiers={Tier.ROUTINE: TierTerms(step_up=step_up)})
    return replace(gate, broker=replace(gate.broker, asking=asking))


@pytest.mark.parametrize("answer", ["/approve {} allow-once", "approve {} always"])
async def test_a_press_is_told_to_type_and_the_word_counts(tmp_path: Path, answer: str) -> None:
    """The prompt says so beforehand; presses and a bare yes change nothing, the code does."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as plain:
        gate = _stepped(plain)
        async with sending(gate, channel):
            asked = await ask(gate, tmp_path, "uptime")
            await until(lambda: prompts(channel))
            (shown,) = prompts(channel)
            once = said(await channel.press(shown.id, ONCE, ANA))
            always = await channel.press(shown.id, ALWAYS, ANA)
            bare = said(await channel.say(PLACE, "yes", ANA, to=shown.id))
            still = await gate.wait(asked.run_id, 0)
            typed = said(await channel.say(PLACE, answer.format(asked.code), ANA))
            done = await gate.wait(asked.run_id, 10_000)

    assert shown.prompt is not None
    assert shown.prompt.step_up
    assert f"Send /approve {asked.code} allow-once" in once
    assert once == bare
    assert f"Send /approve {asked.code} allow-always" in said(always)
    assert always is not None
    assert () == always.choices
    assert isinstance(still, Pending)
    assert asked.code in typed
    assert isinstance(done, Finished)


async def test_a_press_denies_at_once(tmp_path: Path) -> None:
    """Saying no takes no second step."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as plain:
        gate = _stepped(plain)
        async with sending(gate, channel):
            asked = await ask(gate, tmp_path)
            await until(lambda: prompts(channel))
            await channel.press(prompts(channel)[0].id, DENY, ANA)
            done = await gate.wait(asked.run_id, 10_000)

    assert isinstance(done, Denied)


async def test_elsewhere_a_press_allows(tmp_path: Path) -> None:
    """The control: the same press counts if the tier does not require the word."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as plain:
        gate = _stepped(plain, step_up=False)
        async with sending(gate, channel):
            asked = await ask(gate, tmp_path)
            await until(lambda: prompts(channel))
            await channel.press(prompts(channel)[0].id, ONCE, ANA)
            done = await gate.wait(asked.run_id, 10_000)

    assert isinstance(done, Finished)
