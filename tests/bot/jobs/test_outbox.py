"""Show what was committed in the outbox, and take what is said in the inbox."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from channels.base import Inbound, Reply, Tone
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.commands import Approve, BareReply, Help, Malformed, PendingList
from channels.memory import MemoryChannel
from core.errors import ChannelError
from core.model.approval import ApprovalReply, ApprovalState
from core.model.identity import Actor, Target
from core.store import approvals, outbox
from core.store.outbox.message_lookup import approval_of
from tests.support.chat import BOB, ask, said, sending, settled
from tests.support.gate import ANA, PLACE, gate_at
from tests.support.stores import ManualClock
from tests.support.waiting import until


@dataclass
class Flaky(MemoryChannel):
    """A memory channel whose platform refuses a set number of times, before or after accepting."""

    refusals: list[ChannelError] = field(default_factory=list)
    lost: int = 0

    async def post(self, target: Target, card: PromptCard) -> str:
        """Refuse, or show and lose the answer, or show."""
        if self.refusals:
            raise self.refusals.pop(0)
        message = await super().post(target, card)
        if self.lost:
            self.lost -= 1
            raise asyncio.CancelledError
        return message


async def test_prompt_is_shown_and_edited(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A committed question is posted; after the answer its message ends in the final state."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        await ask(gate, tmp_path)
        await until(lambda: channel.shown)
        (shown,) = channel.shown.values()
        reply = await channel.press(shown.id, ApprovalReply.DENY, ANA)
        await until(lambda: shown.outcome)
        await settled(gate)

    assert "Denied" in said(reply)
    assert shown.outcome is not None
    assert ApprovalState.DENIED is shown.outcome.state
    assert not caplog.records


async def test_words_of_people(tmp_path: Path) -> None:
    """Every command of a person gets its answer; a stranger's and a wrong one change nothing."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:

        async def say(command: object, actor: Actor = ANA, to: str = "", key: str = "") -> Reply:
            return await inbox.receive(
                Inbound(actor, PLACE, command, key or f"k{id(command)}", to)  # type: ignore[arg-type]
            )

        empty = await say(PendingList())
        asked = await ask(gate, tmp_path)
        await until(lambda: channel.shown)
        (shown,) = channel.shown.values()
        async with asyncio.timeout(10):
            # The channel shows the message a moment before the gateway has recorded whose it is.
            while await gate.store.read(approval_of, PLACE, shown.id) is None:
                await asyncio.sleep(0.01)
        listed = await say(PendingList())
        helped = await say(Help())
        malformed = await say(Malformed())
        stranger = await say(Approve(asked.code, ApprovalReply.ALLOW_ONCE), BOB)
        elsewhere = await say(BareReply(ApprovalReply.ALLOW_ONCE), to="9999")
        unknown = await say(Approve("zzzzzz", ApprovalReply.DENY))
        waiting = await gate.store.read(approvals.pending, 10)
        bare = await say(BareReply(ApprovalReply.DENY, "wrong branch"), to=shown.id)
        ended = await gate.store.read(approvals.get, asked.run_id)

    assert "Nothing is waiting" in said(empty)
    assert asked.code in said(listed)
    assert "/approve" in said(helped)
    assert Tone.REFUSED is malformed.tone is stranger.tone is unknown.tone
    assert "approvers" in said(stranger)
    assert "not a Sayso prompt" in said(elsewhere)
    assert 1 == len(waiting)
    assert Tone.OK is bare.tone
    assert ended is not None
    assert ended.resolution is not None
    assert "wrong branch" == ended.resolution.note


async def test_a_redelivered_press_is_the_same_press(tmp_path: Path) -> None:
    """The same event twice is answered the same, and counts once."""
    channel = MemoryChannel()
    async with gate_at(tmp_path) as gate, sending(gate, channel) as inbox:
        asked = await ask(gate, tmp_path)
        press = Inbound(ANA, PLACE, Approve(asked.run_id, ApprovalReply.ALLOW_ONCE), "m:1")
        first, again = await inbox.receive(press), await inbox.receive(press)
        other = await inbox.receive(
            Inbound(ANA, PLACE, Approve(asked.run_id, ApprovalReply.DENY), "m:2")
        )

    assert said(first) == said(again)
    assert Tone.REFUSED is other.tone
    assert "was allowed by Ana" in said(other)


async def test_a_busy_platform_is_waited_for(tmp_path: Path) -> None:
    """A refusal with a time to wait delays the prompt; it is shown once in the end."""
    busy = [ChannelError("busy", retry_after_ms=50), ChannelError("down")]
    channel = Flaky(refusals=busy)
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        await ask(gate, tmp_path)
        await until(lambda: channel.shown)
        await asyncio.sleep(0.3)

    assert 1 == len(channel.shown)


async def test_a_place_that_refuses_for_good_is_given_up(tmp_path: Path) -> None:
    """A permanent refusal is not retried, and the question waits for other routes or its end."""
    channel = Flaky(refusals=[ChannelError("chat not found", permanent=True)])
    async with gate_at(tmp_path) as gate, sending(gate, channel):
        await ask(gate, tmp_path)
        await until(lambda: not channel.refusals)
        async with asyncio.timeout(10):
            while await gate.store.read(outbox.next_due) is not None:
                await asyncio.sleep(0.01)

    assert not channel.shown


async def test_a_copy_whose_sending_was_lost_is_edited_when_pressed(tmp_path: Path) -> None:
    """A gateway that dies right after the platform's yes leaves a copy; a press finalises it."""
    channel = Flaky(lost=1)
    async with gate_at(tmp_path) as gate:
        async with sending(gate, channel):
            asked = await ask(gate, tmp_path)
            await until(lambda: channel.shown)
        (lost,) = channel.shown.values()
        await gate.cancel(asked.run_id, "the agent went away")
        async with sending(gate, channel):
            reply = await channel.press(lost.id, ApprovalReply.ALLOW_ONCE, ANA)
            await until(lambda: lost.outcome)

    assert "withdrawn" in said(reply)
    assert lost.outcome is not None
    assert ApprovalState.CANCELLED is lost.outcome.state


async def test_reminder_and_expiry_reach_the_people(tmp_path: Path) -> None:
    """At half time the place is reminded; at the end both messages say that it expired."""
    channel, clock = MemoryChannel(), ManualClock()
    opened = gate_at(tmp_path, timeout_ms=600, remind_ms=300, clock=clock)
    async with opened as gate, sending(gate, channel):
        await ask(gate, tmp_path)
        await until(lambda: channel.shown)
        assert 0 == await gate.store.write(approvals.remind_due, 100)
        clock.ms += 350
        assert 1 == await gate.store.write(approvals.remind_due, 100)
        await until(lambda: len(channel.shown) == 2)
        prompt, reminder = channel.shown.values()
        waiting = reminder.notice
        assert 0 == await gate.expire()
        clock.ms += 300
        assert 1 == await gate.expire()
        await until(lambda: prompt.outcome and reminder.notice is not waiting)
        await settled(gate)

    assert isinstance(waiting, NoticeCard)
    assert "Still waiting" in waiting.text.text
    assert prompt.id == reminder.about
    assert reminder.notice is not None
    assert "Expired" in reminder.notice.text.text
    assert isinstance(prompt.outcome, OutcomeCard)
    assert ApprovalState.EXPIRED is prompt.outcome.state
