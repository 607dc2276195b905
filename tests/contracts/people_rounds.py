"""Two people answer on two platforms in the same millisecond: one wins, both hear the truth."""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from channels.base import Inbound, Inbox, Reply, Tone
from channels.commands import Approve
from channels.memory import MemoryChannel
from core.model.approval import Approval, ApprovalReply
from core.model.identity import CODE_LENGTH
from core.model.result import Finished
from core.text.render import redact
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.people_gateway import PeopleGateway, people_line
from tests.contracts.people_prompts import PeopleLine, until
from tests.contracts.simultaneous_answers import faults

_ONCE, _, _DENY = ApprovalReply
_SHOWN = {_ONCE: "Allowed once", _DENY: "Denied"}
_BATCH = 16


@dataclass(frozen=True, slots=True)
class BothWin:
    """An inbox that tells everybody that the answer decided: what the rounds must catch."""

    inbox: Inbox

    async def receive(self, inbound: Inbound) -> Reply:
        """Let the gate decide and tell the loser a lie."""
        await self.inbox.receive(inbound)
        assert isinstance(inbound.command, Approve)
        code = inbound.command.ref[:CODE_LENGTH].upper()
        return Reply(redact(f"{_SHOWN[inbound.command.reply]}: {code}."), Tone.OK)


class RoundsContract:
    """Duplicate answers."""

    rounds = 40
    """How many, within what the platform's rates let a test do."""

    @pytest.mark.slow
    @pytest.mark.timeout(180)
    async def test_two_answers_at_once_have_one_winner(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """In each round the store has one decision, and both people, copies and the run agree."""
        pick, wins, spreads = random.Random(self.rounds), Counter[str](), list[float]()
        async with people_line(tmp_path, world, other, PeopleGateway()) as line:
            for start in range(0, self.rounds, _BATCH):
                numbers = range(start, min(start + _BATCH, self.rounds))
                batch = await _ask(line, numbers)
                await line.hold_outbox()  # both copies keep their buttons until both have answered
                for asked in batch:
                    assert [] == await _round(line, asked, pick)
                    await _told_here(line)
                    spreads.append(line.meeting.spread_ms())
                await line.send()
                ends = [await line.ended(asked) for asked in batch]
                for number, end in zip(numbers, ends, strict=True):
                    wins[await _agrees(line, end, tmp_path / f"made-{number}")] += 1

        assert self.rounds == wins.total()
        assert {line.here, other.name} == set(wins)
        assert median(spreads) < 1.0

    async def test_a_lie_to_the_loser_is_caught(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Negative control: where both are told that they won, every round is found wrong."""
        async with people_line(tmp_path, world, other, PeopleGateway()) as line:
            line.meeting.inbox = BothWin(line.meeting.inbox)
            batch = await _ask(line, range(3))
            found = [await _round(line, asked, random.Random(7)) for asked in batch]

        assert all("2 of 2 were told that they decided" in faults for faults in found)


async def _ask(line: PeopleLine, numbers: range) -> list[Approval]:
    """Ask about some commands at once and wait until both platforms show them."""
    batch = await asyncio.gather(*(line.ask(f"touch made-{number}") for number in numbers))
    for asked in batch:
        await line.shown(asked)
    return batch


async def _round(line: PeopleLine, asked: Approval, pick: random.Random) -> list[str]:
    """Let both people answer, in any order and sense; return what is wrong in what they heard."""
    names = [line.here, line.other.name]
    line.meeting.expect(*pick.sample(names, 2))
    here, there = pick.choices((_ONCE, _DENY), (1, 2), k=2)
    message = (await line.copies(asked))[line.here]
    async with asyncio.TaskGroup() as both:
        both.create_task(line.press_there(asked, there, line.bob))
        both.create_task(line.world.press_in(message, asked.code, here))
    await until(lambda: _answered(line))
    return faults(await line.approval(asked.id), line.meeting.given)


async def _answered(line: PeopleLine) -> bool:
    return len(line.meeting.given) == 2


async def _told_here(line: PeopleLine) -> None:
    """Wait until the platform has shown its person what the gate said."""
    (mine,) = (one for one in line.meeting.given if one.inbound.actor.channel == line.here)
    await line.world.told(mine.words)


async def _agrees(line: PeopleLine, end: Approval, made: Path) -> str:
    """Look that both copies, the run and the decision agree; return the winner's channel."""
    final = end.resolution
    assert final is not None
    assert final.by is not None
    assert final.reply is not None
    await line.final(end, _SHOWN[final.reply])
    result = await line.run(end)
    assert (final.reply is _ONCE) is isinstance(result, Finished) is made.exists()
    return final.by.channel
