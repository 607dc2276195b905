"""Show what time does to a prompt: expiry, reminder, escalation, a late answer."""

from pathlib import Path

import pytest

from channels.base import Reminders
from channels.memory import MemoryChannel
from core.approvals.messages import clock_time
from core.model.approval import ApprovalReply
from core.model.decision import DenialReason
from core.model.result import Denied, Finished
from core.store.schema.states import OutboxKind
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.people_gateway import GatewayRules, people_gateway
from tests.contracts.people_prompts import until

_ONCE, _, _DENY = ApprovalReply


class TimeContract:
    """Prompts over time."""

    async def test_silence_ends_as_a_denial(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """After the time to answer each copy says that it expired; a late answer is told so."""
        async with people_gateway(
            tmp_path, setup, other, GatewayRules(timeout_ms=3_000)
        ) as gateway:
            asked = await gateway.ask()
            await gateway.shown(asked)
            result = await gateway.run(asked)
            await gateway.closes(asked, "Expired")
            await setup.slash(f"/approve {asked.code} allow-once")
            await setup.sees(f"{asked.code} expired at ")

        assert isinstance(result, Denied)
        assert DenialReason.APPROVAL_TIMEOUT is result.reason
        assert not (tmp_path / "made").exists()

    async def test_a_reminder_reaches_each_place(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """While no one answers, both places are reminded, and the answer still counts."""
        async with people_gateway(tmp_path, setup, other, GatewayRules(remind_ms=3_000)) as gateway:
            asked = await gateway.ask()
            message = await gateway.shown(asked)

            async def reminded() -> bool:
                return len(await gateway.copies(asked, OutboxKind.REMINDER)) == 2

            assert not await reminded()
            await until(reminded)
            reminders = await gateway.copies(asked, OutboxKind.REMINDER)
            words = f"Still waiting for an answer: {asked.code}"
            await setup.shows(reminders[gateway.here], words)
            shown = other.shown[reminders[other.name]]
            notice = shown.notice
            await setup.press(message, _DENY)
            await gateway.closes(asked, "Denied")
            outcome = f"{asked.code}: Denied"
            if isinstance(setup.channel, Reminders):
                await setup.shows(reminders[gateway.here], outcome)

            async def outcome_shown() -> bool:
                return shown.notice is not None and outcome in shown.notice.text.text

            await until(outcome_shown)

        assert notice is not None
        assert words in notice.text.text
        assert shown.about in other.shown

    @pytest.mark.parametrize("here_first", [True, False], ids=["from here", "to here"])
    async def test_the_next_step_of_the_ladder_is_asked_and_both_copies_end(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path, *, here_first: bool
    ) -> None:
        """If the first place is silent the second is asked, and its answer ends both copies."""
        names = (setup.channel.name, other.name)
        first = names[not here_first]
        async with people_gateway(
            tmp_path, setup, other, GatewayRules(first=first, step_ms=3_000)
        ) as gateway:
            asked = await gateway.ask()
            await gateway.shown(asked, first)
            assert {first} == set(await gateway.copies(asked))
            message = await gateway.shown(asked)
            if here_first:
                await gateway.press_there(asked, _ONCE, gateway.bob)
            else:
                await setup.press(message, _ONCE)
            result = await gateway.run(asked)
            end = await gateway.closes(asked, "Allowed once")

        assert isinstance(result, Finished)
        assert end.resolution is not None
        assert end.resolution.by is not None
        assert names[here_first] == end.resolution.by.channel

    async def test_a_late_press_is_told_who_decided_and_when(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Decided elsewhere while this copy still shows buttons: the press changes nothing."""
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            asked = await gateway.ask()
            message = await gateway.shown(asked)
            await gateway.hold_outbox()
            await gateway.press_there(asked, _DENY, gateway.bob)
            decided = (await gateway.approval(asked.id)).resolution
            assert decided is not None
            assert setup.can_press(message)
            await setup.press(message, _ONCE)
            at = clock_time(decided.at_ms)
            late = f"{asked.code} was denied by Bob ({other.name}) at {at}."
            await setup.sees(f"{late} Your answer changed nothing.")
            await gateway.send()
            end = await gateway.closes(asked, "Denied")
            result = await gateway.run(asked)

        assert decided == end.resolution
        assert isinstance(result, Denied)
        assert not (tmp_path / "made").exists()
