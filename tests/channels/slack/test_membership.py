"""Count user groups as they are at the click, and never from memory."""

import asyncio
import time

import pytest

from channels.cards.build import build_prompt
from channels.commands import Approve
from core.model.approval import ApprovalReply
from tests.channels.slack.workspace import ANA, BOB, CHANNEL, SlackWorkspace, channel_for, ts_of
from tests.contracts.channel_examples import ID, approval
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind
from tests.emulators.slack import SlackServer

LEADS, OPS = "group:S0LEADS01", "group:S0OPS0001"
LOOKUP = "usergroups.users.list"


@pytest.fixture
def named(server: SlackServer) -> SlackWorkspace:
    """Return a setup whose settings name two groups; Bob is in one of them."""
    server.state.user_groups["S0OPS0001"] = {ANA}
    return SlackWorkspace(server, channel_for(server, approvers=[ANA, LEADS], senders=[LEADS, OPS]))


async def test_each_way_to_answer_names_the_groups(
    named: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Press, slash command and message: the named groups that the person is in."""
    people = named.server.people
    await named.channel.start(inbox)
    message = await named.channel.post(named.target, build_prompt(approval()))
    await people.press(CHANNEL, ts_of(message), BOB, "Deny")
    await people.slash(CHANNEL, ANA, "/run ls")
    await people.say(CHANNEL, BOB, "approve 7K3F9Q deny")
    await inbox.take(3)
    await named.channel.stop()

    assert [(one.actor.account, set(one.actor.groups)) for one in inbox.got] == [
        (BOB, {LEADS}),
        (ANA, {OPS}),
        (BOB, {LEADS}),
    ]


async def test_who_leaves_a_group_is_out_at_once(
    named: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """The second press of the same person is looked up again."""
    await named.channel.start(inbox)
    message = await named.channel.post(named.target, build_prompt(approval()))
    await named.server.people.press(CHANNEL, ts_of(message), BOB, "Deny")
    named.server.state.user_groups["S0LEADS01"].discard(BOB)
    await named.server.people.press(CHANNEL, ts_of(message), BOB, "Deny")
    await named.channel.stop()

    assert [one.actor.groups for one in inbox.got] == [{LEADS}, set()]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(FaultKind.STATUS, LOOKUP, 500), "internal_error"),
        (Fault(FaultKind.STATUS, LOOKUP, 429, retry_after=60), "rate limiting"),
        (Fault(FaultKind.DROP, LOOKUP), "did not confirm"),
    ],
    ids=["500", "429", "drop"],
)
async def test_a_lookup_that_fails_makes_nobody_a_member(
    named: SlackWorkspace,
    inbox: RecordingInbox,
    caplog: pytest.LogCaptureFixture,
    fault: Fault,
    words: str,
) -> None:
    """The answer continues without the group, and the log says which and why."""
    named.server.faults.add(fault, 4)
    await named.channel.start(inbox)
    message = await named.channel.post(named.target, build_prompt(approval()))
    await named.server.people.press(CHANNEL, ts_of(message), BOB, "Deny")
    await named.channel.stop()

    (inbound,) = inbox.got
    assert inbound.command == Approve(ID, ApprovalReply.DENY)
    assert inbound.actor.groups == set()
    assert f"{LEADS} could not be looked up" in caplog.text
    assert words in caplog.text


async def test_an_unknown_group_or_a_missing_scope_is_nobodys(
    named: SlackWorkspace, inbox: RecordingInbox, caplog: pytest.LogCaptureFixture
) -> None:
    """A group that was deleted, then a scope that was removed."""
    del named.server.state.user_groups["S0OPS0001"]
    await named.channel.start(inbox)
    await named.server.people.slash(CHANNEL, ANA, "/pending")
    named.server.state.scopes.discard("usergroups:read")
    await named.server.people.slash(CHANNEL, BOB, "/pending")
    await named.channel.stop()

    assert [one.actor.groups for one in inbox.got] == [set(), set()]
    assert "no_such_subteam" in caplog.text
    assert "needed: usergroups:read" in caplog.text


async def test_without_named_groups_nothing_is_asked(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """No call, so no wait; nor for a request that needs no right."""
    await setup.channel.start(inbox)
    await setup.type("/pending")
    await setup.channel.stop()
    assert setup.server.count(LOOKUP) == 0


async def test_a_cry_for_help_needs_no_lookup(named: SlackWorkspace, inbox: RecordingInbox) -> None:
    """Slack allows twenty lookups a minute; none is spent on what changes nothing."""
    await named.channel.start(inbox)
    await named.type("/help")
    await named.type("/approve nonsense")
    await named.channel.stop()

    assert len(inbox.got) == 2
    assert named.server.count(LOOKUP) == 0


async def test_a_slow_lookup_delays_no_acknowledgement(
    named: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Slack waits three seconds for it; the answer counts when the lookup is done."""
    named.server.faults.add(Fault(FaultKind.DELAY, LOOKUP, seconds=2.0), 2)
    await named.channel.start(inbox)
    message = await named.channel.post(named.target, build_prompt(approval()))
    started = time.monotonic()
    press = asyncio.create_task(named.server.people.press(CHANNEL, ts_of(message), BOB, "Deny"))
    delivery = await press
    acked_after = time.monotonic() - started
    assert inbox.got == []
    (inbound,) = await inbox.take()
    await named.channel.stop()

    assert delivery.acked
    assert acked_after < 2
    assert inbound.actor.groups == {LEADS}
