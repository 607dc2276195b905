"""Use the companion as a channel: prompts become dialogs, keys become answers."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.commands import Approve
from channels.companion.channel import HERE, CompanionChannel
from core.companion.client import CompanionAddress, NoCompanion
from core.companion.server import CompanionServer
from core.errors import ChannelError, StoreError
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId
from core.text.render import Redacted
from tests.contracts.channel_examples import ID, approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.core.companion.desks import TOKEN, RecordingDesk, companion
from tests.support.waiting import until

SESSION = (4_711, 99)


@dataclass
class Side:
    """A companion and the gateway's channel to it."""

    desk: RecordingDesk
    server: CompanionServer
    channel: CompanionChannel
    inbox: RecordingInbox
    lost: list[tuple[ApprovalId, str]] = field(default_factory=list)


@pytest.fixture
async def side() -> AsyncIterator[Side]:
    """Return a started channel whose companion listens."""
    desk = RecordingDesk()
    async with companion(desk) as server:
        channel = CompanionChannel(
            lambda: CompanionAddress(server.path, TOKEN), lambda _peer: SESSION
        )
        found = Side(desk, server, channel, RecordingInbox())

        async def lost(asked: ApprovalId, why: str) -> None:
            found.lost.append((asked, why))

        channel.lost = lost
        await channel.start(found.inbox)
        yield found
        await channel.stop()


async def test_a_press_arrives_as_a_command_with_its_session(side: Side) -> None:
    """The answer is that of the listener's user, at the companion, from its kernel session."""
    message = await side.channel.post(HERE, build_prompt(approval()))
    side.desk.shown[0].answer(ApprovalReply.ALLOW_ONCE)
    (inbound,) = await side.inbox.take()
    await until(lambda: side.desk.replies == [("Allowed once: 7K3F9Q.", True)])

    assert Approve(ID, ApprovalReply.ALLOW_ONCE) == inbound.command
    assert not inbound.command.typed
    assert ("companion", f"uid:{os.getuid()}") == (inbound.actor.channel, inbound.actor.account)
    assert (HERE, message, SESSION) == (inbound.place, inbound.replied_to, inbound.process)


async def test_an_outcome_closes_the_dialog_and_is_no_loss(side: Side) -> None:
    """The person reads how it ended; the gate is told of no loss."""
    message = await side.channel.post(HERE, build_prompt(approval()))
    await side.channel.update(HERE, message, build_outcome(approval(resolution=resolved())))
    await until(lambda: side.desk.ended != [])
    await side.channel.update(HERE, message, build_outcome(approval(resolution=resolved())))
    await asyncio.sleep(0.1)

    assert side.desk.ended[0].startswith("7K3F9Q ")
    assert [] == side.lost


async def test_a_companion_that_goes_away_is_reported_once(side: Side) -> None:
    """The gate is told which question has lost its companion."""
    await side.channel.post(HERE, build_prompt(approval()))
    await side.server.close()
    await until(lambda: side.lost != [])
    await side.channel.update(HERE, ID, build_outcome(approval(resolution=resolved())))

    assert [(ID, "it was closed")] == side.lost


async def test_a_stop_of_the_gateway_is_no_loss(side: Side) -> None:
    """The dialog says that the gateway stops; the question stays in the store."""
    await side.channel.post(HERE, build_prompt(approval()))
    await side.channel.stop()
    await until(lambda: side.desk.ended != [])

    assert ["The gateway is stopping; answer when it is back."] == side.desk.ended
    assert [] == side.lost


async def test_an_answer_that_could_not_be_committed_can_be_given_again(side: Side) -> None:
    """A store that fails decides nothing, the person is told, and the next answer counts."""
    side.inbox.failures.append(StoreError("The disk is away."))
    await side.channel.post(HERE, build_prompt(approval()))
    side.desk.shown[0].answer(ApprovalReply.DENY)
    failed = ("The disk is away. Nothing was decided.", False)
    await until(lambda: side.desk.replies == [failed])
    side.desk.shown[0].answer(ApprovalReply.DENY)
    await until(lambda: side.desk.replies[1:] == [("Allowed once: 7K3F9Q.", True)])


async def test_a_listener_whose_answers_do_not_count_is_not_there(side: Side) -> None:
    """It is not a companion to ask, and its answers reach no one."""
    await side.channel.post(HERE, build_prompt(approval()))
    side.channel.session_of = lambda _peer: None
    with pytest.raises(NoCompanion, match="do not count"):
        await side.channel.present()
    assert not (await side.channel.check()).ok
    side.desk.shown[0].answer(ApprovalReply.ALLOW_ONCE)
    await until(lambda: side.desk.replies != [])

    assert [] == side.inbox.got
    assert not side.desk.replies[0][1]


async def test_health_says_whether_somebody_listens(side: Side) -> None:
    """Good while the companion runs; without it, what to do."""
    assert (await side.channel.check()).ok
    assert SESSION == await side.channel.present()
    await side.server.close()
    found = await side.channel.check()

    assert not found.ok
    assert "sayso companion" in found.detail


async def test_a_prompt_without_a_companion_is_refused_for_good(side: Side) -> None:
    """The outbox gives it up at once, so that other places are asked instead."""
    side.channel.address = lambda: None
    with pytest.raises(ChannelError, match=r"has no socket\.token") as refused:
        await side.channel.post(HERE, build_prompt(approval()))
    assert refused.value.permanent


async def test_a_notice_goes_to_the_chats(side: Side) -> None:
    """A dialog is in front of its person; a notice opens none."""
    assert await side.channel.notify(HERE, NoticeCard(Redacted("hello")))
    assert [] == side.desk.shown
