"""Never report a decision before its commit; lose nothing and count nothing twice."""

import asyncio
from dataclasses import dataclass, field

import pytest

from channels.base import Inbound, Reply, Tone
from channels.cards.build import build_prompt
from channels.commands import Approve
from core.errors import SaysoError
from core.model.approval import ApprovalReply
from core.text.render import redact
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, channel_for
from tests.contracts.channel_examples import approval
from tests.contracts.channel_setup import BROKEN_STORE, RecordingInbox

DENY = Approve("7k3f9q", ApprovalReply.DENY)


@dataclass(slots=True)
class CountingInbox:
    """Count every hand-over, those of one event too, and refuse."""

    got: list[Inbound] = field(default_factory=list)

    async def receive(self, inbound: Inbound) -> Reply:
        """Refuse, as for a person who may not answer."""
        self.got.append(inbound)
        return Reply(redact("You may not answer this."), Tone.REFUSED)


async def test_a_redelivered_event_is_handed_in_once(setup: SlackWorkspace) -> None:
    """The same envelope twice is acknowledged twice and counted once."""
    inbox = CountingInbox()
    await setup.channel.start(inbox)
    (event,) = await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
    await setup.server.until(lambda: event.acked)
    event.acked = False
    await setup.server.delivery.again(event)
    await setup.channel.stop()

    assert event.acked
    assert event.attempts == 2
    assert len(inbox.got) == 1


async def test_a_restarted_gateway_gives_a_redelivery_the_same_key(setup: SlackWorkspace) -> None:
    """The store, which outlives the process, can tell a redelivery by its key."""
    inbox = CountingInbox()
    await setup.channel.start(inbox)
    (event,) = await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
    await setup.server.until(lambda: event.acked)
    await setup.channel.stop()
    await setup.channel.start(inbox)
    await setup.server.delivery.again(event)
    await setup.channel.stop()

    first, second = inbox.got
    assert first.key == second.key


async def test_an_event_is_acknowledged_only_after_the_commit(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """While the inbox works, Slack still holds the event: a kill loses nothing."""
    inbox.held = asyncio.Event()
    await setup.channel.start(inbox)
    (event,) = await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
    await inbox.entered.wait()
    await asyncio.sleep(0.2)
    assert not event.acked

    inbox.held.set()
    await inbox.take()
    await setup.server.until(lambda: event.acked)
    await setup.channel.stop()


async def test_an_event_of_a_gateway_that_died_comes_again(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """An inbox that never returns, then a new gateway: the answer arrives there."""
    setup.server.delivery.ack_seconds = 0.3
    hanging = RecordingInbox(delay=3_600)
    await setup.channel.start(hanging)
    (event,) = await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
    await setup.server.until(lambda: event.attempts == 1)

    successor = channel_for(setup.server)
    await successor.start(inbox)
    (inbound,) = await inbox.take()
    await setup.server.until(lambda: event.acked)
    await successor.stop()
    await setup.channel.stop()

    assert inbound.command == DENY
    assert hanging.got == []


@pytest.mark.parametrize("kind", ["press", "slash"])
async def test_a_slow_commit_is_acknowledged_in_time_and_reported_after_it(
    setup: SlackWorkspace, inbox: RecordingInbox, kind: str
) -> None:
    """Slack gives three seconds; success is said when it is true."""
    inbox.delay = 2.0
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    if kind == "press":
        delivery = await setup.press(message, ApprovalReply.ALLOW_ONCE)
    else:
        delivery = await setup.server.people.slash(CHANNEL, ANA, "/approve 7K3F9Q deny")

    assert delivery.acked
    assert delivery.acked_after < 2
    assert inbox.got == []
    assert setup.notes() == []
    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.channel.stop()


@pytest.mark.parametrize("times", [1, 2])
async def test_a_failing_store_is_asked_again_and_the_member_knows(
    setup: SlackWorkspace, inbox: RecordingInbox, times: int
) -> None:
    """A press that could not be stored is kept, and counted when the store is back; said once."""
    inbox.failures = [BROKEN_STORE] * times
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.press(message, ApprovalReply.DENY)

    await setup.sees("cannot store this answer yet")
    await setup.sees("Allowed once: 7K3F9Q.")
    await setup.channel.stop()

    assert len(inbox.got) == 1
    assert len(setup.notes()) == 2


async def test_an_event_that_cannot_be_stored_stays_at_slack(setup: SlackWorkspace) -> None:
    """A store that stays away gets no acknowledgement, however often Slack asks."""
    setup.server.delivery.ack_seconds = 0.3
    setup.server.delivery.retry_delays = (0.05,)

    @dataclass
    class Away:
        async def receive(self, inbound: Inbound) -> Reply:
            raise SaysoError

    await setup.channel.start(Away())
    (event,) = await setup.server.people.say(CHANNEL, ANA, "approve 7K3F9Q deny")
    await setup.server.until(lambda: event.failed)
    await setup.channel.stop()

    assert event.attempts == 2
    assert not event.acked


async def test_a_fault_of_ours_is_told_and_never_blocks_the_next(
    setup: SlackWorkspace, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer that always breaks the inbox is given up; the next one counts at once."""
    inbox.failures = [KeyError("ours")] * 3
    await setup.channel.start(inbox)
    await setup.type("approve 7K3F9Q deny")
    await setup.sees("Internal error: this answer was not recorded and changed nothing")
    await setup.type("/pending")
    await inbox.take()
    await setup.channel.stop()

    assert "Cannot process an answer" in caplog.text
    assert len(inbox.got) == 1
