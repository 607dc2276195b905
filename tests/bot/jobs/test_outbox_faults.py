"""Let a row that breaks its channel's code stop no other row, and try it again."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from channels.cards.card import OutcomeCard, PromptCard
from channels.memory import MemoryChannel
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import Target
from core.store import outbox
from tests.support.chat import ask, prompts, sending, settled
from tests.support.gate import ANA, gate_at
from tests.support.waiting import until


@dataclass
class Broken(MemoryChannel):
    """A memory channel whose code fails on what contains a word, a set number of times."""

    word: str = "broken"
    failure: Callable[[], BaseException] = lambda: AttributeError("components")
    times: int = 1
    tried: int = 0

    def _fail(self, *cards: PromptCard | OutcomeCard) -> None:
        if any(self.word in card.command.text for card in cards) and self.tried < self.times:
            self.tried += 1
            raise self.failure()

    async def post(self, target: Target, card: PromptCard) -> str:
        """Fail, or show."""
        self._fail(card)
        return await super().post(target, card)

    async def post_group(self, target: Target, cards: tuple[PromptCard, ...]) -> str:
        """Fail if one of them fails, or show."""
        self._fail(*cards)
        return await super().post_group(target, cards)

    async def update_group(
        self, target: Target, message: str, cards: tuple[PromptCard | OutcomeCard, ...]
    ) -> None:
        """Fail on a final state, or show."""
        if self.word == "edit":
            self._fail(*cards)
        await super().update_group(target, message, cards)


async def test_the_rows_behind_a_broken_one_are_sent_at_once(tmp_path: Path) -> None:
    """An error that no channel should raise costs its own row half a second, the others nothing."""
    channel = Broken()
    async with gate_at(tmp_path) as gate:
        await ask(gate, tmp_path, "touch broken")
        await ask(gate, tmp_path, "touch whole")
        async with sending(gate, channel):
            await until(lambda: len(channel.shown) == 2, 5)

    assert ["touch whole", "touch broken"] == [
        one.prompt.command.text for one in prompts(channel) if one.prompt
    ]


@pytest.mark.parametrize(
    "failure",
    [KeyError, lambda: ChannelError("invalid_blocks", permanent=True)],
    ids=["an error of ours", "a refusal for good"],
)
async def test_one_prompt_of_a_group_does_not_cost_the_others(
    tmp_path: Path, failure: Callable[[], BaseException]
) -> None:
    """A group that one card breaks is sent one by one: the other prompts are shown."""
    channel = Broken(failure=failure, times=100)
    async with gate_at(tmp_path) as gate:
        for line in ("touch one", "touch broken", "touch two", "touch three"):
            await ask(gate, tmp_path, line)
        async with sending(gate, channel):
            await until(lambda: len(channel.shown) == 3, 5)

    shown = [card.command.text for one in prompts(channel) for card in one.prompts.values()]
    assert ["touch one", "touch two", "touch three"] == shown


async def test_a_broken_edit_is_tried_again(tmp_path: Path) -> None:
    """The final state arrives once the code can show it."""
    channel = Broken(word="edit")
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        await ask(gate, tmp_path, "touch edit")
        await until(lambda: channel.shown)
        (shown,) = channel.shown.values()
        channel.tried = 0
        await channel.press(shown.id, ApprovalReply.DENY, ANA)
        await until(lambda: shown.outcome, 5)
        await settled(gate)

    assert 1 == channel.tried


async def test_the_log_says_which_row_broke_and_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The operator reads the place, the kind of row and the error, at every attempt."""
    channel = Broken(times=2)
    with caplog.at_level(logging.WARNING):
        async with gate_at(tmp_path) as gate, sending(gate, channel):
            await ask(gate, tmp_path, "touch broken")
            await until(lambda: channel.shown, 10)

    said = [one.getMessage() for one in caplog.records if "AttributeError" in one.getMessage()]
    assert 2 == len(said)
    assert "memory prompt" in said[0]
    assert "components" in said[0]


async def test_a_lane_that_dies_takes_its_rows_along(tmp_path: Path) -> None:
    """Negative control: what ends a lane itself leaves the rows behind it claimed and unsent."""
    channel = Broken(failure=asyncio.CancelledError)
    async with gate_at(tmp_path) as gate:
        await ask(gate, tmp_path, "touch broken")
        await ask(gate, tmp_path, "touch whole")
        async with sending(gate, channel):
            await asyncio.sleep(1)
            due = await gate.store.read(outbox.next_due)

    assert not channel.shown
    assert due is not None
