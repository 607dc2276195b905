"""Who may answer is a matter of people, not of accounts, on every channel alike."""

from pathlib import Path

import pytest

from channels.memory import MemoryChannel
from core.model.approval import Approval, ApprovalReply
from core.model.result import Finished
from core.store import approvals
from core.store.people import people
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.people_gateway import PeopleGateway, people_line
from tests.contracts.people_prompts import PeopleLine, until

_ONCE, _, _DENY = ApprovalReply
_REQUESTER = "A requester cannot approve its own request from any account."


class StandingContract:
    """Quorum, links, strangers, requesters, the revoked."""

    @pytest.mark.parametrize("here_first", [True, False], ids=["from here", "to here"])
    async def test_a_quorum_takes_two_people_on_two_platforms(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path, *, here_first: bool
    ) -> None:
        """The first allow is counted and told, the second one decides."""
        async with people_line(tmp_path, world, other, PeopleGateway(quorum=2)) as line:
            asked = await line.ask()
            counted = f"Counted: 1 of 2 people have allowed {asked.code}; one more is needed."
            decided = f"Allowed once: {asked.code}."
            message = await line.shown(asked)
            if here_first:
                await world.press(message, _ONCE)
                await world.told(counted)
                await _waits(line, asked, votes=1)
                told = await line.press_there(asked, _ONCE, line.bob)
                assert decided == told
            else:
                told = await line.press_there(asked, _ONCE, line.bob)
                assert counted == told
                await _waits(line, asked, votes=1)
                await world.press(message, _ONCE)
                await world.told(decided)
            result = await line.run(asked)
            end = await line.closes(asked, "Allowed once")

        assert isinstance(result, Finished)
        voters = [f"{line.here}:{world.account}", line.bob.ref]
        assert (voters if here_first else voters[::-1]) == [vote.by.ref for vote in end.votes]

    async def test_two_accounts_of_one_person_count_once(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Ana allows on both platforms: one of two people; Bob is the second."""
        async with people_line(tmp_path, world, other, PeopleGateway(quorum=2)) as line:
            await line.pair("ana", there=False)
            await line.pair("ana", there=True)
            asked = await line.ask()
            counted = f"Counted: 1 of 2 people have allowed {asked.code}; one more is needed."
            await world.press(await line.shown(asked), _ONCE)
            await world.told(counted)
            again = await line.press_there(asked, _ONCE, line.ana)
            await _waits(line, asked, votes=1)
            told = await line.press_there(asked, _ONCE, line.bob)
            end = await line.closes(asked, "Allowed once")

        assert counted == again
        assert f"Allowed once: {asked.code}." == told
        assert ["ana", line.bob.ref] == [vote.person for vote in end.votes]

    async def test_a_stranger_is_told_and_changes_nothing(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """A press by somebody who is not listed names the list, and the prompt waits on."""
        house = PeopleGateway(here=frozenset({"U0NOBODY1"}))
        async with people_line(tmp_path, world, other, house) as line:
            asked = await line.ask()
            message = await line.shown(asked)
            await world.press(message, _ONCE)
            where = f"id {world.account} is not in channels.{line.here}.approvers"
            await world.told(f"You may not answer this: {where}. Nothing was changed.")
            await _waits(line, asked)
            assert world.can_press(message)
            assert not (tmp_path / "made").exists()
            await line.press_there(asked, _DENY, line.bob)
            await line.closes(asked, "Denied")

    async def test_a_requester_answers_on_none_of_its_accounts(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Who sent /run is refused here and on the linked account; another person decides."""
        async with people_line(tmp_path, world, other, PeopleGateway()) as line:
            await line.pair("ana", there=False)
            await line.pair("ana", there=True)
            await world.slash(f"/run touch {tmp_path}/made")
            asked = await _only(line)
            await world.press(await line.shown(asked), _ONCE)
            await world.told(_REQUESTER)
            linked = await line.press_there(asked, _ONCE, line.ana)
            await _waits(line, asked)
            await line.press_there(asked, _ONCE, line.bob)
            result = await line.run(asked)
            end = await line.closes(asked, "Allowed once")

        assert linked.startswith(_REQUESTER)
        assert isinstance(result, Finished)
        assert end.resolution is not None
        assert line.bob == end.resolution.by

    async def test_a_revoked_person_is_refused_at_once(
        self, world: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Revoked between the prompt and the press: nothing changes until restored."""
        async with people_line(tmp_path, world, other, PeopleGateway()) as line:
            await line.pair("ana", there=False)
            asked = await line.ask()
            message = await line.shown(asked)
            await line.gate.store.write(people.revoke, "ana")
            await world.press(message, _ONCE)
            await world.told("You may not answer this: this account is revoked.")
            await _waits(line, asked)
            await line.gate.store.write(people.restore, "ana")
            await world.press(message, _ONCE)
            await world.told(f"Allowed once: {asked.code}.")
            await line.closes(asked, "Allowed once")


async def _waits(line: PeopleLine, asked: Approval, votes: int = 0) -> None:
    """Look that a question is undecided, with so many votes."""
    now = await line.approval(asked.id)
    assert now.resolution is None
    assert votes == len(now.votes)


async def _only(line: PeopleLine) -> Approval:
    """Wait for the one question that is pending."""

    async def there() -> bool:
        return len(await line.gate.store.read(approvals.pending, 2)) == 1

    await until(there)
    (asked,) = await line.gate.store.read(approvals.pending, 2)
    return asked
