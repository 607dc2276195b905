"""Find the prompt above a bare reply, also in direct messages."""

from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from channels.base import Groups
from channels.cards.build import build_prompt
from channels.commands import BareReply
from core.model.identity import Target
from core.store import approvals, outbox
from core.store.outbox.message_lookup import approval_of
from tests.channels.slack.workspace import ANA, CHANNEL, SlackWorkspace, ts_of
from tests.contracts.channel_setup import RecordingInbox
from tests.support.store_records import MINUTE, draft
from tests.support.stores import sqlite_bench


@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize("to", [CHANNEL, ANA], ids=["channel", "direct messages"])
async def test_a_reply_and_a_press_find_the_recorded_copy(
    setup: SlackWorkspace, inbox: RecordingInbox, tmp_path: Path, to: str, grouped: bool
) -> None:
    """The store knows a member's prompt by the member; Slack identifies it by the conversation."""
    target = Target("slack", to)
    async with asynccontextmanager(sqlite_bench)(tmp_path) as bench:
        asked = await bench.ask(draft(targets=(target,), timeout_ms=10 * MINUTE))
        (item,) = await bench.store.write(outbox.claim, 10, 5_000, ("slack",))
        await setup.channel.start(inbox)
        (found,) = await bench.store.read(approvals.find, asked)
        card = build_prompt(found)
        assert isinstance(setup.channel, Groups)
        sent = setup.channel.post_group(target, (card,)) if grouped else None
        message = await (sent or setup.channel.post(target, card))
        assert await bench.store.write(outbox.sent, item.id, message)
        place, label = message.partition(":")[0], f"{card.code} deny" if grouped else "Deny"
        await setup.server.people.press(place, ts_of(message), ANA, label)
        await setup.server.people.say(place, ANA, "deny because it is live", ts_of(message))
        pressed, replied = await inbox.take(2)
        await setup.channel.stop()

        assert isinstance(replied.command, BareReply)
        assert pressed.replied_to == replied.replied_to == message
        for inbound in (pressed, replied):
            assert await bench.store.read(approval_of, inbound.place, inbound.replied_to) == asked
        elsewhere = Target("slack", "U0BOB0001")
        assert await bench.store.read(approval_of, elsewhere, message) is None
