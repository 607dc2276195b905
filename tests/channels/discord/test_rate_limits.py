"""Use what a bucket of a second to five minutes has left; leave the rest for later."""

import asyncio
import time

import pytest

from channels.base import Threads
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from core.errors import ChannelError
from core.text.render import redact
from tests.channels.discord.guild import ANA, DiscordGuild
from tests.contracts.channel_examples import approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord_http import Pacing
from tests.emulators.discord_objects import BOT, CHANNEL
from tests.emulators.faults import Fault, FaultKind

SECONDS = (1, 10, 31, 120, 219, 300)


@pytest.mark.parametrize("seconds", SECONDS)
async def test_what_a_bucket_has_left_is_used(
    setup: DiscordGuild, inbox: RecordingInbox, seconds: int
) -> None:
    """Three calls of three are sent at once, however late the bucket resets."""
    assert isinstance(setup.channel, Threads)
    for method in ("createMessage", "editMessage", "createThread"):
        setup.server.buckets[method] = Pacing(3, seconds)
    await setup.channel.start(inbox)
    began = time.monotonic()
    for number in range(3):
        await setup.channel.open_thread(setup.target, redact(f"Session {number}"))
        message = await setup.channel.notify(setup.target, NoticeCard(redact(f"Notice {number}")))
        outcome = build_outcome(approval(resolution=resolved()))
        await setup.channel.update(setup.target, message, outcome)

    assert time.monotonic() - began < 3
    refused = [call for call in setup.server.calls if call.status == 429]
    assert [] == refused


@pytest.mark.parametrize("seconds", [one for one in SECONDS if one > 10])
async def test_an_empty_bucket_is_for_later(
    setup: DiscordGuild, inbox: RecordingInbox, seconds: int
) -> None:
    """The outbox is told how long; Discord is not asked needlessly."""
    setup.server.buckets["createMessage"] = Pacing(1, seconds)
    await setup.channel.start(inbox)
    await setup.channel.post(setup.target, build_prompt(approval()))
    with pytest.raises(ChannelError) as raised:
        await setup.channel.notify(setup.target, NoticeCard(redact("Notice")))

    assert raised.value.retry_after_ms is not None
    assert seconds - 2 < raised.value.retry_after_ms / 1000 <= seconds
    assert [] == [call for call in setup.server.calls if call.status == 429]


async def test_a_bucket_that_is_empty_for_a_moment_is_waited_for(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """Within ten seconds a call waits in its place."""
    setup.server.buckets["createMessage"] = Pacing(1, 1.0)
    await setup.channel.start(inbox)
    began = time.monotonic()
    for number in range(3):
        await setup.channel.notify(setup.target, NoticeCard(redact(f"Notice {number}")))

    assert 2 <= time.monotonic() - began < 6


@pytest.mark.slow
async def test_a_reply_waits_for_its_bucket(
    setup: DiscordGuild, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
) -> None:
    """What a person asked for is answered once the bucket has room, and not dropped."""
    setup.server.buckets["createMessage"] = Pacing(1, 12)
    await setup.channel.start(inbox)
    await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.server.say(CHANNEL, ANA, f"<@{BOT}> approve 7k3f9q once")
    await inbox.take()
    await asyncio.sleep(0.5)
    early = setup.seen()
    await setup.server.until(lambda: any("Allowed once" in text for text in setup.seen()), 20)

    assert not any("Allowed once" in text for text in early)
    assert "Cannot send" not in caplog.text


async def test_a_refusal_for_haste_holds_the_bucket(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """After a long 429 nothing more is sent there until the time is over."""
    setup.server.faults.add(
        Fault(FaultKind.STATUS, "createMessage", status=429, retry_after=60), times=1
    )
    await setup.channel.start(inbox)
    for _ in range(3):
        with pytest.raises(ChannelError) as raised:
            await setup.channel.notify(setup.target, NoticeCard(redact("Notice")))

    assert raised.value.retry_after_ms is not None
    assert 55_000 < raised.value.retry_after_ms <= 60_000
    assert 1 == sum(call.method == "createMessage" for call in setup.server.calls)


async def test_calls_at_once_share_a_bucket(setup: DiscordGuild, inbox: RecordingInbox) -> None:
    """Twenty notices at once, of twenty-one that a bucket has: all arrive, none is refused."""
    setup.server.buckets["createMessage"] = Pacing(21, 60)
    await setup.channel.start(inbox)
    notices = (NoticeCard(redact(f"Notice {number}")) for number in range(20))
    await asyncio.gather(*(setup.channel.notify(setup.target, notice) for notice in notices))

    assert 20 == len(setup.server.messages(CHANNEL))
    assert {200} == {call.status for call in setup.server.calls}
