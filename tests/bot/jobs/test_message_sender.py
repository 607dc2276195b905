"""Send prompts together, or elsewhere when their session's thread cannot be opened now."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.jobs.message_sender import Delivery, _are_prompts_alike
from channels.cards.card import PromptCard
from channels.memory import MemoryChannel
from core.errors import ChannelError
from core.model.identity import Target
from core.store.schema.records import OutboxItem
from core.store.schema.states import OutboxKind
from core.text.render import Redacted
from tests.support.chat import ask, notices, prompts, sending
from tests.support.gate import PLACE, gate_at
from tests.support.waiting import until


@dataclass
class Limited(MemoryChannel):
    """A memory channel that opens no thread until this many tries were refused."""

    wait_ms: int = 219_000
    refusals: int = 1

    async def open_thread(self, target: Target, title: Redacted, message: str = "") -> Target:
        """Refuse for a while, or open."""
        if self.refusals:
            self.refusals -= 1
            raise ChannelError("slow down", retry_after_ms=self.wait_ms)
        return await super().open_thread(target, title, message)


class Searchable(MemoryChannel):
    """A memory channel that finds what it already shows."""

    async def resume(self, target: Target, card: PromptCard) -> str:
        """Return where it is shown, or show it."""
        shown = (one.id for one in self.shown.values() if card.id in one.prompts)
        return next(shown, "") or await self.post(target, card)


async def test_a_question_does_not_wait_minutes_for_a_thread(tmp_path: Path) -> None:
    """It is asked at once in the place itself; the session's next one opens the thread."""
    channel = Limited()
    async with gate_at(tmp_path) as gate, sending(gate, channel, threaded=True):
        await ask(gate, tmp_path, "touch one")
        await until(lambda: prompts(channel))
        await ask(gate, tmp_path, "touch two")
        await until(lambda: len(prompts(channel)) == 2)

    first, second = prompts(channel)
    assert PLACE == first.target
    assert "" != second.target.thread
    assert ["Session main"] == notices(channel)


@pytest.mark.parametrize("wait_ms", [200, 4_000])
async def test_a_thread_that_comes_soon_is_waited_for(tmp_path: Path, wait_ms: int) -> None:
    """Negative control: a short wait is the outbox's, and the prompt goes into the thread."""
    channel = Limited(wait_ms=wait_ms)
    async with gate_at(tmp_path) as gate, sending(gate, channel, threaded=True):
        await ask(gate, tmp_path, "touch one")
        await until(lambda: prompts(channel), 10)

    assert "" != prompts(channel)[0].target.thread


def test_only_prompts_of_one_certainty_share_a_message() -> None:
    """What may have arrived already is looked for first, so it is sent with its like or alone."""
    prompt = OutboxItem(1, None, PLACE, OutboxKind.PROMPT, "{}", 0, None)
    doubtful = replace(prompt, id=2, uncertain=True)
    notice = replace(prompt, id=3, kind=OutboxKind.NOTICE)

    assert _are_prompts_alike(prompt, replace(prompt, id=4))
    assert _are_prompts_alike(doubtful, replace(doubtful, id=5))
    assert not _are_prompts_alike(prompt, doubtful)
    assert not _are_prompts_alike(doubtful, prompt)
    assert not _are_prompts_alike(notice, replace(notice, id=6))
    assert not _are_prompts_alike(prompt, notice)


@pytest.mark.parametrize(
    ("channel", "waiting", "uncertain", "together"),
    [
        (MemoryChannel(), 2, False, 1),
        (MemoryChannel(), 3, False, 3),
        (MemoryChannel(), 1, True, 1),
        (MemoryChannel(), 2, True, 2),
        (Searchable(), 2, False, 1),
        (Searchable(), 3, False, 3),
        (Searchable(), 3, True, 1),
    ],
)
async def test_a_burst_of_prompts_shares_a_message(
    tmp_path: Path, channel: MemoryChannel, waiting: int, *, uncertain: bool, together: int
) -> None:
    """Three do; two that may have been sent together already; none that can be looked for."""
    async with gate_at(tmp_path) as gate:
        asked = [await ask(gate, tmp_path, f"touch {number}") for number in range(waiting)]
        items = [
            OutboxItem(number, one.run_id, PLACE, OutboxKind.PROMPT, "{}", 0, None, uncertain)
            for number, one in enumerate(asked)
        ]
        sent = await Delivery(gate.store, {"memory": channel}).batch(items)

    assert sent == items[:together]
