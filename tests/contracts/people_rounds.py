"""Have two people answer on two platforms in the same millisecond: one wins, both learn it."""

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
from tests.contracts.people_gateway import GatewayRules, people_gateway
from tests.contracts.people_prompts import PeopleGateway, until
from tests.contracts.simultaneous_answers import faults

_ONCE, _, _DENY = ApprovalReply
_SHOWN = {_ONCE: "Allowed once", _DENY: "Denied"}
_BATCH = 16


@dataclass(frozen=True, slots=True)
class BothWin:
    """An inbox that tells everyone that the answer decided: what the rounds must catch."""

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
    """How many make a storm, within what the platform's rates allow a test."""

    async def test_two_answers_at_once_have_one_winner(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """In each round the store has one decision, and both people, copies and the run agree."""
        await _rounds(setup, other, tmp_path, 2 * _BATCH)

    @pytest.mark.deep
    @pytest.mark.timeout(180)
    async def test_a_storm_of_answers_has_one_winner_each(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """The same, as often as the platform allows: a rare order of events occurs, too."""
        await _rounds(setup, other, tmp_path, self.rounds)

    async def test_a_lie_to_the_loser_is_caught(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Negative control: if both are told that they won, every round is found wrong."""
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            gateway.meeting.inbox = BothWin(gateway.meeting.inbox)
            batch = await _ask(gateway, range(3))
            found = [await _round(gateway, asked, random.Random(7)) for asked in batch]

        assert all("2 of 2 were told that they decided" in faults for faults in found)


async def _rounds(setup: PeopleSetup, other: MemoryChannel, folder: Path, rounds: int) -> None:
    """Have two people answer at once, again and again; fail if anything disagrees."""
    pick, wins, spreads = random.Random(rounds), Counter[str](), list[float]()
    async with people_gateway(folder, setup, other, GatewayRules()) as gateway:
        for start in range(0, rounds, _BATCH):
            numbers = range(start, min(start + _BATCH, rounds))
            batch = await _ask(gateway, numbers)
            await gateway.hold_outbox()  # both copies keep their buttons until both have answered
            for asked in batch:
                assert [] == await _round(gateway, asked, pick)
                await _told_here(gateway)
                spreads.append(gateway.meeting.spread_ms())
            await gateway.send()
            ends = [await gateway.ended(asked) for asked in batch]
            for number, end in zip(numbers, ends, strict=True):
                wins[await _agrees(gateway, end, folder / f"made-{number}")] += 1
        names = {gateway.here, other.name}

    assert rounds == wins.total()
    assert names == set(wins)
    assert median(spreads) < 1.0


async def _ask(gateway: PeopleGateway, numbers: range) -> list[Approval]:
    """Ask for some commands at once and wait until both platforms show them."""
    batch = await asyncio.gather(*(gateway.ask(f"touch made-{number}") for number in numbers))
    for asked in batch:
        await gateway.shown(asked)
    return batch


async def _round(gateway: PeopleGateway, asked: Approval, pick: random.Random) -> list[str]:
    """Let both people answer, in any order and sense; return what is wrong in their replies."""
    names = [gateway.here, gateway.other.name]
    gateway.meeting.expect(*pick.sample(names, 2))
    here, there = pick.choices((_ONCE, _DENY), (1, 2), k=2)
    message = (await gateway.copies(asked))[gateway.here]
    async with asyncio.TaskGroup() as both:
        both.create_task(gateway.press_there(asked, there, gateway.bob))
        both.create_task(gateway.setup.press_in(message, asked.code, here))
    await until(lambda: _answered(gateway))
    return faults(await gateway.approval(asked.id), gateway.meeting.given)


async def _answered(gateway: PeopleGateway) -> bool:
    return len(gateway.meeting.given) == 2


async def _told_here(gateway: PeopleGateway) -> None:
    """Wait until the platform has shown its person what the gate said."""
    (mine,) = (one for one in gateway.meeting.given if one.inbound.actor.channel == gateway.here)
    await gateway.setup.sees(mine.words)


async def _agrees(gateway: PeopleGateway, end: Approval, made: Path) -> str:
    """Check that both copies, the run and the decision agree; return the winner's channel."""
    final = end.resolution
    assert final is not None
    assert final.by is not None
    assert final.reply is not None
    await gateway.final(end, _SHOWN[final.reply])
    result = await gateway.run(end)
    assert (final.reply is _ONCE) is isinstance(result, Finished) is made.exists()
    return final.by.channel
