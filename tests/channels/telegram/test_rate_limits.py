"""Send no faster than Telegram allows, and never final states after prompts."""

import asyncio
import time

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.pacing import Clock, Rate
from channels.telegram.rate_limits import CHAT as PRIVATE
from channels.telegram.rate_limits import GROUP as IN_GROUP
from channels.telegram.rate_limits import OVERALL, ChatPacing
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.telegram.bot_and_user import CHAT, GROUP, TelegramUsers
from tests.contracts.channel_examples import approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox

NOTICE = NoticeCard(redact("Half time passed"))
OUTCOME = build_outcome(approval(resolution=resolved()))


async def test_an_edit_never_waits_behind_prompts(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """While five notices to the chat wait for their turns, the final state is shown at once."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    waiting = [asyncio.create_task(setup.channel.notify(setup.target, NOTICE)) for _ in range(5)]
    began = time.monotonic()
    await asyncio.sleep(0.05)
    await setup.channel.update(setup.target, message, OUTCOME)
    turns = 2 + int(time.monotonic() - began)
    ahead = sum(task.done() for task in waiting)

    # Two need not wait, and the others a second each: counted in turns, as the machine may be busy.
    assert ahead <= turns + 1
    await asyncio.gather(*waiting)
    await setup.channel.stop()
    assert 0 == setup.server.state.rates.violations


async def test_many_chats_at_once_keep_within_thirty_a_second() -> None:
    """Sixty messages to sixty chats leave in about three seconds, and few in any one second."""
    pacing, left = ChatPacing(), list[float]()
    loop = asyncio.get_running_loop()

    async def send() -> None:
        left.append(loop.time())

    began = loop.time()
    sent = (
        pacing.process_request(send, (), {}, "sendMessage", {"chat_id": chat}, None)
        for chat in range(1, 61)
    )
    await asyncio.gather(*sent)

    assert 60 == len(left)
    assert max(_within_a_second(left)) <= 25
    assert 2.5 < left[-1] - began < 6


def _within_a_second(times: list[float]) -> list[int]:
    """Return for each time how many are in the second that begins with it."""
    return [sum(start <= at <= start + 1 for at in times) for start in times]


async def test_a_turn_far_off_is_the_outboxs_to_schedule(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """What would wait more than five seconds is refused at once with its wait."""
    await setup.channel.start(inbox)
    place = Target("telegram", str(GROUP))
    sent = await asyncio.gather(
        *(setup.channel.notify(place, NOTICE) for _ in range(10)), return_exceptions=True
    )
    await setup.channel.stop()

    refused = [one for one in sent if isinstance(one, ChannelError)]
    assert 2 == len(refused)
    assert all(not one.permanent and (one.retry_after_ms or 0) > 5_000 for one in refused)
    assert 0 == setup.server.state.rates.violations


@pytest.mark.parametrize(
    ("rate", "window", "most"), [(IN_GROUP, 60.0, 20), (OVERALL, 1.0, 30), (PRIVATE, 5.0, 9)]
)
def test_no_window_sees_more_than_telegram_takes(rate: Rate, window: float, most: int) -> None:
    """From the first burst on, and with room for what the network bunches."""
    clock, now, left = Clock(rate), 1_000.0, list[float]()
    for _ in range(100):
        now = max(now, clock.turn(now))
        clock.leave(now)
        left.append(now)

    assert [1_000.0] * rate.burst == left[: rate.burst]
    for start in left:
        assert sum(start <= at <= start + window for at in left) <= most


async def test_the_parts_of_a_long_prompt_are_sent_to_the_end(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """A prompt in five messages is not left half sent, even in a group that was busy."""
    await setup.channel.start(inbox)
    place = Target("telegram", str(GROUP))
    await asyncio.gather(*(setup.channel.notify(place, NOTICE) for _ in range(3)))
    await setup.channel.post(place, build_prompt(approval(plan(text="x" * 14_000))))
    await setup.channel.stop()

    assert 8 == len(setup.server.messages(GROUP))
    assert "reply_markup" in setup.server.messages(GROUP)[-1]
    assert 0 == setup.server.state.rates.violations


async def test_edits_are_paced_by_themselves(setup: TelegramUsers, inbox: RecordingInbox) -> None:
    """Eight at once, then four a second to a chat, so a long list ends soon."""
    await setup.channel.start(inbox)
    message = await setup.channel.notify(setup.target, NOTICE)
    started = time.monotonic()
    await asyncio.gather(*(setup.channel.update(setup.target, message, OUTCOME) for _ in range(12)))
    took = time.monotonic() - started
    await setup.channel.stop()

    assert 0.9 < took < 4
    assert 1 == len(setup.server.messages(CHAT))
