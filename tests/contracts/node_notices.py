"""State once how a chat shows a node that asks to be paired, on platforms with buttons."""

from typing import Protocol

from channels.base import Reminders
from channels.cards.build import node_choices
from channels.cards.card import NoticeCard
from channels.commands import PairNode
from core.text.render import redact
from tests.contracts.channel_setup import PeopleSetup, RecordingInbox


class NoticeSetup(PeopleSetup, Protocol):
    """A setup whose person presses buttons by their labels."""

    async def press_label(self, message: str, label: str) -> None:
        """Press the button of a message with this label."""


class NodeNoticeContract:
    """Inherit and provide the fixture ``setup``; ``inbox`` is in ``tests/channels/conftest.py``."""

    async def test_a_notice_is_pressed_and_replaced(
        self, setup: NoticeSetup, inbox: RecordingInbox
    ) -> None:
        """A press says which request it answers; the end leaves no button."""
        await setup.channel.start(inbox)
        for number, (label, allow) in enumerate((("Allow", True), ("Deny", False)), 1):
            card = NoticeCard(redact(f"The node web{number} asks"), node_choices("K3F7QZ"))
            message = await setup.channel.notify(setup.target, card)
            await setup.shows(message, f"The node web{number} asks")
            assert setup.can_press(message)

            await setup.press_label(message, label)
            inbound = (await inbox.take(number))[-1]
            assert inbound.command == PairNode("k3f7qz", allow=allow)
            assert (inbound.actor.account, inbound.replied_to) == (setup.account, message)

            assert isinstance(setup.channel, Reminders)
            end = NoticeCard(redact(f"Answered by Ana: {label}"))
            await setup.channel.end_reminder(setup.target, message, end)
            await setup.shows(message, f"Answered by Ana: {label}")
            assert not setup.can_press(message)
        await setup.channel.stop()
