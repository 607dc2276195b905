"""Threads for sessions: opened, written to, asleep, refused."""

import pytest

from channels.base import Threads
from channels.cards import NoticeCard, build_outcome, build_prompt
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.discord.guild import ANA, DiscordGuild
from tests.contracts.channel_examples import approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord_objects import CHANNEL, THREAD


async def test_a_thread_is_opened_and_used(world: DiscordGuild, inbox: RecordingInbox) -> None:
    """Prompts, notices and endings go to the returned place, and presses come from it."""
    assert isinstance(world.channel, Threads)
    await world.channel.start(inbox)
    place = await world.channel.open_thread(world.target, redact("agent:main:" + "x" * 200))
    message = await world.channel.post(place, build_prompt(approval()))
    await world.channel.notify(place, NoticeCard(redact("Half time passed")))
    number = int(place.thread)
    await world.server.press(number, int(message), ANA, "Allow once")
    (inbound,) = await inbox.take()
    await world.channel.update(place, message, build_outcome(approval(resolution=resolved())))

    assert inbound.place == place == Target("discord", str(CHANNEL), thread=str(number))
    assert world.server.state.names[number] == "agent:main:" + "x" * 89
    assert len(world.server.messages(number)) == 2
    assert world.server.state.message(number, int(message))["components"] == []
    assert world.server.messages(CHANNEL) == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target("discord", f"user:{ANA}"), "irect messages have no threads"),
        (Target("discord", "ops"), "is not a Discord target"),
        (Target("discord", "404"), "a channel's id, or user:"),
        (Target("discord", str(THREAD)), "has no public threads"),
    ],
    ids=["direct", "a name", "unknown", "a thread"],
)
async def test_a_place_without_threads_is_refused_for_good(
    world: DiscordGuild, inbox: RecordingInbox, target: Target, words: str
) -> None:
    """Direct messages, threads and unknown places: permanent, with what to do."""
    assert isinstance(world.channel, Threads)
    await world.channel.start(inbox)
    with pytest.raises(ChannelError, match=words) as raised:
        await world.channel.open_thread(target, redact("session"))

    assert raised.value.permanent


async def test_news_and_missing_permissions_are_told(
    world: DiscordGuild, inbox: RecordingInbox
) -> None:
    """An announcement channel has none; a missing permission names the one to give."""
    assert isinstance(world.channel, Threads)
    await world.channel.start(inbox)
    world.server.state.news.add(CHANNEL)
    with pytest.raises(ChannelError, match="has no public threads"):
        await world.channel.open_thread(world.target, redact("session"))
    world.server.state.news.clear()
    world.server.state.threadless.add(CHANNEL)
    with pytest.raises(ChannelError, match="Create Public Threads") as raised:
        await world.channel.open_thread(world.target, redact("session"))

    assert raised.value.permanent


async def test_a_thread_without_a_title_has_a_name(
    world: DiscordGuild, inbox: RecordingInbox
) -> None:
    """Discord takes no empty name."""
    assert isinstance(world.channel, Threads)
    await world.channel.start(inbox)
    place = await world.channel.open_thread(world.target, redact(""))

    assert world.server.state.names[int(place.thread)] == "Sayso"


async def test_a_locked_thread_is_told_and_an_archived_one_is_used(
    world: DiscordGuild, inbox: RecordingInbox
) -> None:
    """A post wakes a sleeping thread; one that moderators locked is a permanent refusal."""
    thread = Target("discord", str(CHANNEL), thread=str(THREAD))
    await world.channel.start(inbox)
    world.server.state.archived.add(THREAD)
    await world.channel.post(thread, build_prompt(approval()))
    assert world.server.state.archived == set()

    world.server.state.archived.add(THREAD)
    world.server.state.locked.add(THREAD)
    with pytest.raises(ChannelError, match="archived and locked") as raised:
        await world.channel.notify(thread, NoticeCard(redact("Half time passed")))

    assert raised.value.permanent
