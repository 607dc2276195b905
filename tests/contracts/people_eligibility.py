"""Decide who may answer by people, not by accounts, on every channel alike."""

from pathlib import Path

import pytest

from channels.memory import MemoryChannel
from core.model.approval import Approval, ApprovalReply
from core.model.result import Finished
from core.store import approvals
from core.store.people import people
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.people_gateway import GatewayRules, people_gateway
from tests.contracts.people_prompts import PeopleGateway, until

_ONCE, _, _DENY = ApprovalReply
_REQUESTER = "This request is your own, so you can neither allow nor deny it, from any account."


class StandingContract:
    """Quorum, links, strangers, requesters, revoked people."""

    @pytest.mark.parametrize("here_first", [True, False], ids=["from here", "to here"])
    async def test_a_quorum_takes_two_people_on_two_platforms(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path, *, here_first: bool
    ) -> None:
        """The first allow is counted and reported, the second one decides."""
        async with people_gateway(tmp_path, setup, other, GatewayRules(quorum=2)) as gateway:
            asked = await gateway.ask()
            counted = f"Counted: 1 of 2 people have allowed {asked.code}; one more is needed."
            decided = f"Allowed once: {asked.code}."
            message = await gateway.shown(asked)
            if here_first:
                await setup.press(message, _ONCE)
                await setup.sees(counted)
                await _waits(gateway, asked, votes=1)
                told = await gateway.press_there(asked, _ONCE, gateway.bob)
                assert decided == told
            else:
                told = await gateway.press_there(asked, _ONCE, gateway.bob)
                assert counted == told
                await _waits(gateway, asked, votes=1)
                await setup.press(message, _ONCE)
                await setup.sees(decided)
            result = await gateway.run(asked)
            end = await gateway.closes(asked, "Allowed once")

        assert isinstance(result, Finished)
        voters = [f"{gateway.here}:{setup.account}", gateway.bob.ref]
        assert (voters if here_first else voters[::-1]) == [vote.by.ref for vote in end.votes]

    async def test_two_accounts_of_one_person_count_once(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Ana allows on both platforms: one of two people; Bob is the second."""
        async with people_gateway(tmp_path, setup, other, GatewayRules(quorum=2)) as gateway:
            await gateway.pair("ana", there=False)
            await gateway.pair("ana", there=True)
            asked = await gateway.ask()
            counted = f"Counted: 1 of 2 people have allowed {asked.code}; one more is needed."
            await setup.press(await gateway.shown(asked), _ONCE)
            await setup.sees(counted)
            again = await gateway.press_there(asked, _ONCE, gateway.ana)
            await _waits(gateway, asked, votes=1)
            told = await gateway.press_there(asked, _ONCE, gateway.bob)
            end = await gateway.closes(asked, "Allowed once")

        assert counted == again
        assert f"Allowed once: {asked.code}." == told
        assert ["ana", gateway.bob.ref] == [vote.person for vote in end.votes]

    async def test_a_stranger_is_told_and_changes_nothing(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """A press by an unlisted person names the list, and the prompt keeps waiting."""
        rules = GatewayRules(here=frozenset({"U0NOBODY1"}))
        async with people_gateway(tmp_path, setup, other, rules) as gateway:
            asked = await gateway.ask()
            message = await gateway.shown(asked)
            await setup.press(message, _ONCE)
            where = f"id {setup.account} is not in channels.{gateway.here}.approvers"
            await setup.sees(f"You may not answer this: {where}. Nothing was changed.")
            await _waits(gateway, asked)
            assert setup.can_press(message)
            assert not (tmp_path / "made").exists()
            await gateway.press_there(asked, _DENY, gateway.bob)
            await gateway.closes(asked, "Denied")

    async def test_a_requester_answers_on_none_of_its_accounts(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """The sender of /run is not asked, and refused on each account; another person decides."""
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            await gateway.pair("ana", there=False)
            await gateway.pair("ana", there=True)
            await setup.slash(f"/run touch {tmp_path}/made")
            asked = await _only(gateway)
            await gateway.shown(asked, gateway.other.name)
            await setup.type(f"/approve {asked.code} allow-once")
            await setup.sees(_REQUESTER)
            linked = await gateway.press_there(asked, _ONCE, gateway.ana)
            await _waits(gateway, asked)
            await gateway.press_there(asked, _ONCE, gateway.bob)
            result = await gateway.run(asked)
            end = await gateway.ended(asked)
            copies = await gateway.copies(asked)

        assert set(copies) == {gateway.other.name}
        assert linked.startswith(_REQUESTER)
        assert isinstance(result, Finished)
        assert end.resolution is not None
        assert gateway.bob == end.resolution.by

    async def test_a_revoked_person_is_refused_at_once(
        self, setup: PeopleSetup, other: MemoryChannel, tmp_path: Path
    ) -> None:
        """Revoked between the prompt and the press: nothing changes until restored."""
        async with people_gateway(tmp_path, setup, other, GatewayRules()) as gateway:
            await gateway.pair("ana", there=False)
            asked = await gateway.ask()
            message = await gateway.shown(asked)
            await gateway.gate.store.write(people.revoke, "ana")
            await setup.press(message, _ONCE)
            await setup.sees("You may not answer this: this account is revoked.")
            await _waits(gateway, asked)
            await gateway.gate.store.write(people.restore, "ana")
            await setup.press(message, _ONCE)
            await setup.sees(f"Allowed once: {asked.code}.")
            await gateway.closes(asked, "Allowed once")


async def _waits(gateway: PeopleGateway, asked: Approval, votes: int = 0) -> None:
    """Check that a question is undecided, with this many votes."""
    now = await gateway.approval(asked.id)
    assert now.resolution is None
    assert votes == len(now.votes)


async def _only(gateway: PeopleGateway) -> Approval:
    """Wait for the one question that is pending."""

    async def there() -> bool:
        return len(await gateway.gate.store.read(approvals.pending, 2)) == 1

    await until(there)
    (asked,) = await gateway.gate.store.read(approvals.pending, 2)
    return asked
