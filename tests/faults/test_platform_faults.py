"""Break the platforms and the gateway while prompts are in transit, and judge every copy.

Each prompt ends shown and ends final. No copy shows a decision that was not made. A prompt exists
once: on Discord and Slack always, on Telegram except for one message per crash or lost answer,
since Telegram offers no way to look for sent messages.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.emulators.faults import Fault, FaultKind
from tests.faults.chat_platforms import asking, break_off, configure, on_edits, on_posts, serving
from tests.faults.prompt_rounds import Round
from tests.support.prompt_copies import Findings
from tests.support.waiting import until

ALL = ("slack", "telegram", "discord")
CRASHES = 20
DECIDED = 12
"""Prompts that are decided after the crashes: Slack takes 50 edits a minute."""
SEED = 20261121
FAULTS = {
    "drops the connection": Fault(FaultKind.DROP),
    "answers 429": Fault(FaultKind.STATUS, status=429, retry_after=1),
    "answers 500": Fault(FaultKind.STATUS, status=500),
    "accepts and loses the answer": Fault(FaultKind.LOSE),
}


@asynccontextmanager
async def rounds(home: Path, *names: str) -> AsyncIterator[list[Round]]:
    """Run some platforms, and write the settings of a gateway that asks there."""
    async with serving(*names) as sides:
        configure(home, sides)
        yield [Round(side, home) for side in sides]


async def end(all_: list[Round], home: Path) -> dict[str, Findings]:
    """Let a last gateway show what is left, decide everything, and judge the copies."""
    async with asking(home) as running:
        await asyncio.gather(*(one.until_shown(running) for one in all_))
        await asyncio.gather(*(one.decide(DECIDED) for one in all_))
        await asyncio.gather(*(one.until_final(running) for one in all_))
        return {one.side.name: await one.verdict(running) for one in all_}


def allowed(all_: list[Round]) -> list[str]:
    """Return what the allowed commands write, sorted."""
    return sorted(one.key for each in all_ for one in each.allowed())


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_platform_that_fails(tmp_path: Path, fault: str) -> None:
    """Posts, a group's post, edits and both connections fail: all is shown once and final."""
    async with rounds(tmp_path, *ALL) as all_, asking(tmp_path) as running:
        for one in all_:
            on_posts(one.side, FAULTS[fault], 2)
            await one.ask(running, 1)
            await one.ask(running, 2, 4)
            await one.side.cut()
        await asyncio.gather(*(one.until_shown(running) for one in all_))
        for one in all_:
            on_edits(one.side, FAULTS[fault], 2)
        await asyncio.gather(*(one.decide(breaking=True) for one in all_))
        await asyncio.gather(*(one.until_final(running) for one in all_))
        found = {one.side.name: await one.verdict(running) for one in all_}
        ran = all_[0].ran()

    lost_answers = 2 if FAULTS[fault].kind is FaultKind.LOSE else 0
    assert allowed(all_) == ran
    for name, findings in found.items():
        assert ([], []) == (findings.lost, findings.wrong)
        assert len(findings.duplicates) <= (lost_answers if name == "telegram" else 0)


@pytest.mark.deep
@pytest.mark.slow
async def test_a_gateway_that_dies_while_it_sends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """20 crashes, half of them after the platforms' yes and before ours: each prompt once."""
    dice = random.Random(SEED)
    async with rounds(tmp_path, *ALL) as all_:
        for number in range(CRASHES):
            await crash(all_, dice, number)
        found = await end(all_, tmp_path)
        ran = all_[0].ran()

    with capsys.disabled():
        for one in all_:
            name, many = one.side.name, len(one.asked)
            twice = len(found[name].duplicates)
            print(f"\n{name}: {CRASHES} crashes, {many} prompts, {twice} messages too many", end="")
    assert allowed(all_) == ran
    for name, findings in found.items():
        assert ([], []) == (findings.lost, findings.wrong)
        assert len(findings.duplicates) <= (CRASHES if name == "telegram" else 0)


async def crash(all_: list[Round], dice: random.Random, number: int) -> None:
    """Ask one, two or three questions on each platform; end the gateway while it sends them."""
    async with asking(all_[0].home) as running:
        for one in all_:
            await one.until_shown(running)
        for one in all_:
            on_posts(one.side, Fault(FaultKind.HOLD, seconds=5), number % 2)
        many = dice.choice((1, 2, 3))
        asked = asyncio.gather(*(one.ask(running, number, many) for one in all_))
        if number % 2:
            held = [partial(one.copies_at, number) for one in all_]
            await until(lambda: all(copies() for copies in held))
        else:
            await asyncio.sleep(dice.uniform(0, 0.15))
        break_off()
        await asked


@pytest.mark.parametrize("name", ["slack", "discord"])
async def test_without_the_lookup_the_judge_finds_a_second_copy(tmp_path: Path, name: str) -> None:
    """Negative control: if no sent message can be found again, the same crash shows two prompts."""
    async with rounds(tmp_path, name) as all_:
        all_[0].side.forget_dedupe()
        await crash(all_, random.Random(SEED), 1)
        all_[0].side.forget_dedupe()
        found = (await end(all_, tmp_path))[name]

    assert found.duplicates
    assert ([], []) == (found.lost, found.wrong)


async def test_the_judge_finds_what_is_wrong(tmp_path: Path) -> None:
    """Negative control: dropped edits, a false ending and a lost prompt are each reported."""
    async with rounds(tmp_path, *ALL) as all_, asking(tmp_path) as running:
        for one in all_:
            await one.ask(running, 1, 3)
        await asyncio.gather(*(one.until_shown(running) for one in all_))
        before = {one.side.name: one.copies() for one in all_}
        await asyncio.gather(*(one.decide() for one in all_))
        await asyncio.gather(*(one.until_final(running) for one in all_))
        for one in all_:
            unedited = await one.verdict(running, before[one.side.name])
            false = [
                replace(copy, text=copy.text.replace("Denied by", "Allowed once by"))
                for copy in one.copies()
            ]
            assert (await one.verdict(running)).clean
            assert 3 == len(unedited.wrong)
            assert 1 == len((await one.verdict(running, false)).wrong)
            assert 3 == len((await one.verdict(running, [])).lost)
