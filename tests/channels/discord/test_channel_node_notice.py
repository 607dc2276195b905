"""A node that asks to be paired: its notice has buttons, and its end takes their place."""

from channels.base import Reminders
from channels.cards import NoticeCard, node_choices
from channels.commands import PairNode
from core.text.render import redact
from tests.channels.discord.guild import ANA, CHANNEL, DiscordGuild
from tests.contracts.channel_setup import RecordingInbox


async def test_a_notice_is_pressed_and_replaced(setup: DiscordGuild, inbox: RecordingInbox) -> None:
    """A press says which request it answers; afterwards there is no button left."""
    await setup.channel.start(inbox)
    card = NoticeCard(redact("The node web asks"), node_choices("K3F7QZ"))
    message = await setup.channel.notify(setup.target, card)
    await setup.shows(message, "The node web asks")
    assert setup.can_press(message)

    await setup.server.press(CHANNEL, int(message), ANA, "Allow")
    (inbound,) = await inbox.take()
    assert inbound.command == PairNode("k3f7qz", allow=True)
    assert (inbound.actor.account, inbound.replied_to) == (setup.account, message)

    assert isinstance(setup.channel, Reminders)
    await setup.channel.end_reminder(setup.target, message, NoticeCard(redact("Allowed by Ana")))
    await setup.shows(message, "Allowed by Ana")
    assert not setup.can_press(message)
    await setup.channel.stop()
