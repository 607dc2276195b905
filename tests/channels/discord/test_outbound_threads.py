"""Use threads for sessions: opened, written to, archived, refused."""

import pytest

from channels.base import Threads
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.discord.guild import ANA, DiscordGuild
from tests.contracts.channel_examples import approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord_objects import CHANNEL, THREAD


async def test_a_thread_is_opened_and_used(setup: DiscordGuild, inbox: RecordingInbox) -> None:
    """Prompts, notices and endings go to the returned place, and presses come from it."""
    assert isinstance(setup.channel, Threads)
    await setup.channel.start(inbox)
    place = await setup.channel.open_thread(setup.target, redact("agent:main:" + "x" * 200))
    message = await setup.channel.post(place, build_prompt(approval()))
    await setup.channel.notify(place, NoticeCard(redact("Half time passed")))
    number = int(place.thread)
    await setup.server.press(number, int(message), ANA, "Allow once")
    (inbound,) = await inbox.take()
    await setup.channel.update(place, message, build_outcome(approval(resolution=resolved())))

    assert inbound.place == place == Target("discord", str(CHANNEL), thread=str(number))
    assert setup.server.state.names[number] == "agent:main:" + "x" * 89
    assert len(setup.server.messages(number)) == 2
    assert setup.server.state.message(number, int(message))["components"] == []
    assert setup.server.messages(CHANNEL) == []


async def test_a_message_has_one_thread_however_often_it_is_asked_for(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """It has the message's id, even if an earlier gateway opened it; one alone has another."""
    assert isinstance(setup.channel, Threads)
    await setup.channel.start(inbox)
    written = await setup.server.say(CHANNEL, ANA, "hello")
    first = await setup.channel.open_thread(setup.target, redact("one"), str(written["id"]))
    again = await setup.channel.open_thread(setup.target, redact("two"), str(written["id"]))
    alone = await setup.channel.open_thread(setup.target, redact("three"))
    message = await setup.channel.notify(again, NoticeCard(redact("Half time passed")))

    assert first == again == Target("discord", str(CHANNEL), thread=str(written["id"]))
    assert alone.thread != first.thread
    assert setup.server.state.message(int(first.thread), int(message))["content"]


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
    setup: DiscordGuild, inbox: RecordingInbox, target: Target, words: str
) -> None:
    """Direct messages, threads and unknown places: permanent, with what to do."""
    assert isinstance(setup.channel, Threads)
    await setup.channel.start(inbox)
    with pytest.raises(ChannelError, match=words) as raised:
        await setup.channel.open_thread(target, redact("session"))

    assert raised.value.permanent


async def test_news_and_missing_permissions_are_told(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """An announcement channel has none; a missing permission names the one to give."""
    assert isinstance(setup.channel, Threads)
    await setup.channel.start(inbox)
    setup.server.state.news.add(CHANNEL)
    with pytest.raises(ChannelError, match="has no public threads"):
        await setup.channel.open_thread(setup.target, redact("session"))
    setup.server.state.news.clear()
    setup.server.state.threadless.add(CHANNEL)
    with pytest.raises(ChannelError, match="Create Public Threads") as raised:
        await setup.channel.open_thread(setup.target, redact("session"))

    assert raised.value.permanent


async def test_a_thread_without_a_title_has_a_name(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """Discord takes no empty name."""
    assert isinstance(setup.channel, Threads)
    await setup.channel.start(inbox)
    place = await setup.channel.open_thread(setup.target, redact(""))

    assert setup.server.state.names[int(place.thread)] == "Sayso"


async def test_a_locked_thread_is_told_and_an_archived_one_is_used(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """A post unarchives a thread; one that moderators locked is a permanent refusal."""
    thread = Target("discord", str(CHANNEL), thread=str(THREAD))
    await setup.channel.start(inbox)
    setup.server.state.archived.add(THREAD)
    await setup.channel.post(thread, build_prompt(approval()))
    assert setup.server.state.archived == set()

    setup.server.state.archived.add(THREAD)
    setup.server.state.locked.add(THREAD)
    with pytest.raises(ChannelError, match="archived and locked") as raised:
        await setup.channel.notify(thread, NoticeCard(redact("Half time passed")))

    assert raised.value.permanent
