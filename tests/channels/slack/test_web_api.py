"""Turn what Slack refuses and delays into an error that says what to do."""

import asyncio
import time

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard
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
    setup: SlackWorkspace, inbox: RecordingInbox, to: str, words: str
) -> None:
    """Such targets are not retried, and the words say what to do."""
    archive = type(setup.server.state.places[CHANNEL])("C0ARCHIVE", set(), archived=True)
    setup.server.state.places["C0ARCHIVE"] = archive
    await setup.channel.start(inbox)
    with pytest.raises(ChannelError, match=words) as raised:
        await setup.channel.post(Target("slack", to), build_prompt(fresh()))
    await setup.channel.stop()

    assert raised.value.permanent


async def test_a_missing_scope_is_named(setup: SlackWorkspace, inbox: RecordingInbox) -> None:
    """The refusal names the scope to add."""
    setup.server.state.scopes.discard("chat:write")
    await setup.channel.start(inbox)
    with pytest.raises(ChannelError, match=r"needed: chat:write.* Add the scope") as raised:
        await setup.channel.post(setup.target, build_prompt(fresh()))
    await setup.channel.stop()

    assert raised.value.permanent


async def test_a_long_wait_is_the_outboxs_to_schedule(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """429 with a long wait is raised at once; other places are not delayed."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.STATUS, "chat.postMessage", 429, retry_after=30))
    started = time.monotonic()
    with pytest.raises(ChannelError) as raised:
        await setup.channel.post(setup.target, build_prompt(approval()))
    with pytest.raises(ChannelError) as again:
        await setup.channel.post(setup.target, build_prompt(approval()))
    await setup.channel.post(Target("slack", ANA), build_prompt(approval(id=OTHER_ID)))
    await setup.channel.stop()

    assert raised.value.retry_after_ms == 30_000
    assert not raised.value.permanent
    assert 25_000 < (again.value.retry_after_ms or 0) <= 30_000
    assert time.monotonic() - started < 2
    assert setup.server.count("chat.postMessage") == 1


@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
async def test_a_short_wait_is_slept_through(
    setup: SlackWorkspace, inbox: RecordingInbox, method: str
) -> None:
    """429 with one second is repeated by the channel itself."""
    await setup.channel.start(inbox)
    setup.server.faults.add(Fault(FaultKind.STATUS, method, 429, retry_after=1))
    started = time.monotonic()
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    final = build_outcome(approval(resolution=resolved()))
    await setup.channel.update(setup.target, message, final)
    await setup.channel.stop()

    assert 1 <= time.monotonic() - started < 3
    assert not setup.can_press(message)


async def test_a_burst_never_breaks_slacks_rate(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """Five notices to one channel: three at once, then one a second, and no refusal."""
    await setup.channel.start(inbox)
    notice = NoticeCard(redact("Half time passed"))
    started = time.monotonic()
    await asyncio.gather(*(setup.channel.notify(setup.target, notice) for _ in range(5)))
    took = time.monotonic() - started
    await setup.channel.stop()

    assert 1.9 < took < 4
    assert [one.error for one in setup.server.calls if one.error] == []


async def test_an_edit_never_waits_behind_prompts(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """While a channel's messages queue for seconds, a decision is shown at once."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    notice = NoticeCard(redact("Half time passed"))
    queue = [asyncio.create_task(setup.channel.notify(setup.target, notice)) for _ in range(5)]
    await asyncio.sleep(0)
    final, began = build_outcome(approval(resolution=resolved())), time.monotonic()
    await setup.channel.update(setup.target, message, final)
    turns = 2 + int(time.monotonic() - began)
    ahead = sum(task.done() for task in queue)
    await asyncio.gather(*queue)
    await setup.channel.stop()

    # Two need not wait, and the others a second each: counted in turns, as the machine may be busy.
    assert ahead <= turns + 1


async def test_edits_keep_to_slacks_rate(setup: SlackWorkspace, inbox: RecordingInbox) -> None:
    """Ten at once, then 40 a minute: distant ones are left to the outbox, and none is refused."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    final = build_outcome(approval(resolution=resolved()))
    edits = (setup.channel.update(setup.target, message, final) for _ in range(15))
    ended = await asyncio.gather(*edits, return_exceptions=True)
    await setup.channel.stop()

    late = [one for one in ended if isinstance(one, ChannelError)]
    assert (setup.server.count("chat.update"), len(late)) == (13, 2)
    assert all((one.retry_after_ms or 0) > 5_000 for one in late)
    assert [one.error for one in setup.server.calls if one.error] == []


@pytest.mark.parametrize("kind", [FaultKind.DROP, FaultKind.LOSE])
async def test_an_edit_that_was_not_confirmed_is_for_later(
    setup: SlackWorkspace, inbox: RecordingInbox, kind: FaultKind
) -> None:
    """The edit raises, and repeated it reaches the final state."""
    await setup.channel.start(inbox)
    message = await setup.channel.post(setup.target, build_prompt(approval()))
    final = build_outcome(approval(resolution=resolved()))
    setup.server.faults.add(Fault(kind, "chat.update"))
    with pytest.raises(ChannelError) as raised:
        await setup.channel.update(setup.target, message, final)
    await setup.channel.update(setup.target, message, final)
    await setup.channel.stop()

    assert not raised.value.permanent
    assert not setup.can_press(message)


async def test_a_message_of_somebody_else_cannot_be_edited(
    setup: SlackWorkspace, inbox: RecordingInbox
) -> None:
    """A message id that is not ours is refused for good."""
    theirs = setup.server.state.typed(CHANNEL, ANA, "mine")["ts"]
    await setup.channel.start(inbox)
    final = build_outcome(approval(resolution=resolved()))
    with pytest.raises(ChannelError, match="cant_update_message") as raised:
        await setup.channel.update(setup.target, f"{CHANNEL}:{theirs}", final)
    await setup.channel.stop()

    assert raised.value.permanent
