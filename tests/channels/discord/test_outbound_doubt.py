"""Find a prompt whose sending was not confirmed, whatever fields Discord leaves out."""

import pytest

from channels.base import Resumable
from channels.cards.build import build_prompt
from core.errors import ChannelError
from tests.channels.discord.guild import ANA, DiscordGuild
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord_objects import CHANNEL
from tests.emulators.faults import Fault, FaultKind

HISTORY = "getMessages"
NEEDED = ("[].id", "[].author", "[].author.id")


@pytest.mark.parametrize("absent", ["[].components", "[].type", "[].content", "[].attachments"])
async def test_a_search_does_without_fields_of_others(
    setup: DiscordGuild, inbox: RecordingInbox, absent: str
) -> None:
    """Discord leaves out what is empty; a message of a person has no components."""
    server, channel = setup.server, setup.channel
    assert isinstance(channel, Resumable)
    await channel.start(inbox)
    await server.say(CHANNEL, ANA, "good morning")
    server.alterations.dropped = (HISTORY, absent)
    server.faults.add(Fault(FaultKind.LOSE, "createMessage"))
    card = build_prompt(approval())
    with pytest.raises(ChannelError):
        await channel.post(setup.target, card)
    server.state.nonces.clear()
    await channel.resume(setup.target, card)
    again = await channel.resume(setup.target, card)

    shown = [one for one in server.messages(CHANNEL) if one["author"]["bot"]]
    assert server.alterations.hits
    assert again in {one["id"] for one in shown}
    assert len(shown) == (2 if absent == "[].components" else 1)


@pytest.mark.parametrize("absent", NEEDED)
async def test_a_history_that_says_nothing_is_as_none(
    setup: DiscordGuild, inbox: RecordingInbox, absent: str
) -> None:
    """Negative control: without ids and authors nothing is found, and the prompt is sent."""
    channel = setup.channel
    assert isinstance(channel, Resumable)
    await channel.start(inbox)
    card = build_prompt(approval())
    first = await channel.post(setup.target, card)
    setup.server.state.nonces.clear()
    found = await channel.resume(setup.target, card)
    setup.server.alterations.dropped = (HISTORY, absent)
    second = await channel.resume(setup.target, card)

    assert found == first
    assert second != first


async def test_a_stall_and_five_502_show_one_prompt(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """What the library gives up after five tries is for later, and then appears once."""
    channel = setup.channel
    assert isinstance(channel, Resumable)
    await channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.STATUS, "createMessage", 503))
    card = build_prompt(approval())
    with pytest.raises(ChannelError) as raised:
        await channel.post(setup.target, card)
    await channel.resume(setup.target, card)

    assert not raised.value.permanent
    assert len(setup.server.messages(CHANNEL)) == 1


async def test_an_answer_that_cannot_be_read_is_for_later(
    setup: DiscordGuild, inbox: RecordingInbox
) -> None:
    """Discord took the message and did not give its id: it is looked up, and not sent twice."""
    channel = setup.channel
    assert isinstance(channel, Resumable)
    await channel.start(inbox)
    setup.server.alterations.dropped = ("createMessage", "id")
    card = build_prompt(approval())
    with pytest.raises(ChannelError, match="cannot read") as raised:
        await channel.post(setup.target, card)
    found = await channel.resume(setup.target, card)

    assert not raised.value.permanent
    assert [found] == [one["id"] for one in setup.server.messages(CHANNEL)]
