"""What time does to a prompt is shown: expiry, reminder, escalation, an answer that comes late."""

from pathlib import Path

import pytest

from channels.memory import MemoryChannel
from core.approvals.messages import clock_time
from core.model.approval import ApprovalReply
from core.model.decision import DenialReason
from core.model.result import Denied, Finished
from core.store.schema.states import OutboxKind
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.people_gateway import PeopleGateway, people_line
from tests.contracts.people_prompts import until

_ONCE, _, _DENY = ApprovalReply


class TimeContract:
    """Prompts over time."""

    async def test_silence_ends_as_a_denial(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """After the time to answer each copy says that it expired, and so does a late answer."""
        async with people_line(tmp_path, world, other, PeopleGateway(timeout_ms=1_000)) as line:
            asked = await line.ask()
            await line.shown(asked)
            result = await line.run(asked)
            await line.closes(asked, "Expired")
            await world.slash(f"/approve {asked.code} allow-once")
            await world.told(f"{asked.code} expired at ")

        assert isinstance(result, Denied)
        assert DenialReason.APPROVAL_TIMEOUT is result.reason
        assert not (tmp_path / "made").exists()

    async def test_a_reminder_reaches_each_place(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """While nobody answers, both places are reminded, and the answer still counts."""
        async with people_line(tmp_path, world, other, PeopleGateway(remind_ms=1_000)) as line:
            asked = await line.ask()
            message = await line.shown(asked)

            async def reminded() -> bool:
                return len(await line.copies(asked, OutboxKind.REMINDER)) == 2

            assert not await reminded()
            await until(reminded)
            reminders = await line.copies(asked, OutboxKind.REMINDER)
            words = f"Still waiting for an answer: {asked.code}"
            await world.shows(reminders[line.here], words)
            notice = other.shown[reminders[other.name]].notice
            await world.press(message, _DENY)
            await line.closes(asked, "Denied")

        assert notice is not None
        assert words in notice.text.text

    @pytest.mark.parametrize("here_first", [True, False], ids=["from here", "to here"])
    async def test_the_next_step_of_the_ladder_is_asked_and_both_copies_end(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path, *, here_first: bool
    ) -> None:
        """Where the first place is silent the second is asked, and its answer ends both copies."""
        names = (world.channel.name, other.name)
        first = names[not here_first]
        async with people_line(
            tmp_path, world, other, PeopleGateway(first=first, step_ms=800)
        ) as line:
            asked = await line.ask()
            await line.shown(asked, first)
            assert {first} == set(await line.copies(asked))
            message = await line.shown(asked)
            if here_first:
                await line.press_there(asked, _ONCE, line.bob)
            else:
                await world.press(message, _ONCE)
            result = await line.run(asked)
            end = await line.closes(asked, "Allowed once")

        assert isinstance(result, Finished)
        assert end.resolution is not None
        assert end.resolution.by is not None
        assert names[here_first] == end.resolution.by.channel

    async def test_a_late_press_is_told_who_decided_and_when(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Decided elsewhere while this copy still shows buttons: the press changes nothing."""
        async with people_line(tmp_path, world, other, PeopleGateway()) as line:
            asked = await line.ask()
            message = await line.shown(asked)
            await line.hold_outbox()
            await line.press_there(asked, _DENY, line.bob)
            decided = (await line.approval(asked.id)).resolution
            assert decided is not None
            assert world.can_press(message)
            await world.press(message, _ONCE)
            at = clock_time(decided.at_ms)
            late = f"{asked.code} was denied by Bob ({other.name}) at {at}."
            await world.told(f"{late} Your answer changed nothing.")
            await line.send()
            end = await line.closes(asked, "Denied")
            result = await line.run(asked)

        assert decided == end.resolution
        assert isinstance(result, Denied)
        assert not (tmp_path / "made").exists()
