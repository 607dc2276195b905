"""What Slack refuses and delays becomes an error that says what to do."""

import asyncio
import time

import pytest

from channels.cards import NoticeCard, build_outcome, build_prompt
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import redact
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, fresh
from tests.contracts.channel_examples import OTHER_ID, approval, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.faults import Fault, FaultKind


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("C0NOWHERE", "channel_not_found. Check the target's `to`"),
        ("C0OTHER01", "not_in_channel. Check the target's `to`, and invite the bot"),
        ("C0ARCHIVE", "is_archived"),
        ("U0NOBODY1", "user_not_found"),
    ],
)
async def test_a_place_that_cannot_be_written_is_permanent(
    world: SlackWorkspace, inbox: RecordingInbox, to: str, words: str
) -> None:
    """Such targets are not tried again, and the words say what to do."""
    archive = type(world.server.state.places[CHANNEL])("C0ARCHIVE", set(), archived=True)
    world.server.state.places["C0ARCHIVE"] = archive
    await world.channel.start(inbox)
    with pytest.raises(ChannelError, match=words) as raised:
        await world.channel.post(Target("slack", to), build_prompt(fresh()))
    await world.channel.stop()

    assert raised.value.permanent


async def test_a_missing_scope_is_named(world: SlackWorkspace, inbox: RecordingInbox) -> None:
    """The refusal names the scope to add."""
    world.server.state.scopes.discard("chat:write")
    await world.channel.start(inbox)
    with pytest.raises(ChannelError, match=r"needed: chat:write.* Add the scope") as raised:
        await world.channel.post(world.target, build_prompt(fresh()))
    await world.channel.stop()

    assert raised.value.permanent


async def test_a_long_wait_is_the_outboxs_to_schedule(
    world: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """429 with a long wait is raised at once; other places are not held up."""
    await world.channel.start(inbox)
    world.server.faults.add(Fault(FaultKind.STATUS, "chat.postMessage", 429, retry_after=30))
    started = time.monotonic()
    with pytest.raises(ChannelError) as raised:
        await world.channel.post(world.target, build_prompt(approval()))
    with pytest.raises(ChannelError) as again:
        await world.channel.post(world.target, build_prompt(approval()))
    await world.channel.post(Target("slack", ANA), build_prompt(approval(id=OTHER_ID)))
    await world.channel.stop()

    assert raised.value.retry_after_ms == 30_000
    assert not raised.value.permanent
    assert 25_000 < (again.value.retry_after_ms or 0) <= 30_000
    assert time.monotonic() - started < 2
    assert world.server.count("chat.postMessage") == 1


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_a_short_wait_is_slept_through(
    world: SlackWorkspace, inbox: RecordingInbox, method: str
) -> None:
    """429 with one second is repeated by the channel itself."""
    await world.channel.start(inbox)
    world.server.faults.add(Fault(FaultKind.STATUS, method, 429, retry_after=1))
    started = time.monotonic()
    message = await world.channel.post(world.target, build_prompt(approval()))
    final = build_outcome(approval(resolution=resolved()))
    await world.channel.update(world.target, message, final)
    await world.channel.stop()

    assert 1 <= time.monotonic() - started < 3
    assert not world.can_press(message)


async def test_a_burst_never_breaks_slacks_rate(
    world: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Five notices to one channel: three at once, then one a second, and no refusal."""
    await world.channel.start(inbox)
    notice = NoticeCard(redact("Half time passed"))
    started = time.monotonic()
    await asyncio.gather(*(world.channel.notify(world.target, notice) for _ in range(5)))
    took = time.monotonic() - started
    await world.channel.stop()

    assert 1.9 < took < 4
    assert [one.error for one in world.server.calls if one.error] == []


async def test_an_edit_never_waits_behind_prompts(
    world: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """While a channel's messages queue for seconds, a decision is shown at once."""
    await world.channel.start(inbox)
    message = await world.channel.post(world.target, build_prompt(approval()))
    notice = NoticeCard(redact("Half time passed"))
    queue = [asyncio.create_task(world.channel.notify(world.target, notice)) for _ in range(5)]
    await asyncio.sleep(0)
    final = build_outcome(approval(resolution=resolved()))
    await world.channel.update(world.target, message, final)
    ahead = sum(task.done() for task in queue)
    await asyncio.gather(*queue)
    await world.channel.stop()

    # Two need not wait, and the others a second each: told by turns, for the machine may be busy.
    assert ahead <= 3


async def test_edits_keep_to_slacks_rate(world: SlackWorkspace, inbox: RecordingInbox) -> None:
    """Ten at once, then 40 a minute: what is far away is the outbox's, and none is refused."""
    await world.channel.start(inbox)
    message = await world.channel.post(world.target, build_prompt(approval()))
    final = build_outcome(approval(resolution=resolved()))
    edits = (world.channel.update(world.target, message, final) for _ in range(15))
    ended = await asyncio.gather(*edits, return_exceptions=True)
    await world.channel.stop()

    late = [one for one in ended if isinstance(one, ChannelError)]
    assert (world.server.count("chat.update"), len(late)) == (13, 2)
    assert all((one.retry_after_ms or 0) > 5_000 for one in late)
    assert [one.error for one in world.server.calls if one.error] == []


@pytest.mark.parametrize("kind", [FaultKind.DROP, FaultKind.LOSE])
async def test_an_edit_that_was_not_confirmed_is_for_later(
    world: SlackWorkspace, inbox: RecordingInbox, kind: FaultKind
) -> None:
    """The edit raises, and repeated it reaches the final state."""
    await world.channel.start(inbox)
    message = await world.channel.post(world.target, build_prompt(approval()))
    final = build_outcome(approval(resolution=resolved()))
    world.server.faults.add(Fault(kind, "chat.update"))
    with pytest.raises(ChannelError) as raised:
        await world.channel.update(world.target, message, final)
    await world.channel.update(world.target, message, final)
    await world.channel.stop()

    assert not raised.value.permanent
    assert not world.can_press(message)


async def test_a_message_of_somebody_else_cannot_be_edited(
    world: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """A message id that is not ours is refused for good."""
    theirs = world.server.state.typed(CHANNEL, ANA, "mine")["ts"]
    await world.channel.start(inbox)
    final = build_outcome(approval(resolution=resolved()))
    with pytest.raises(ChannelError, match="cant_update_message") as raised:
        await world.channel.update(world.target, f"{CHANNEL}:{theirs}", final)
    await world.channel.stop()

    assert raised.value.permanent
