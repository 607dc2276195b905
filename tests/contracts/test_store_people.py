"""State what every engine must do with people: link accounts, revoke, restore."""

import asyncio

import pytest

from core.errors import BadRequest
from core.model.identity import Actor, Intake, PersonId, Requester
from core.store import approvals
from core.store.people import pairing, people
from core.store.people.pairing import CODE_LIFE_MS, MOST_TRIES, PairOutcome
from core.store.people.people import Account, KnownAs, Person
from tests.contracts.people_records import ANA_SLACK, pair
from tests.support.store_records import ALICE, ASKER, BOB
from tests.support.stores import OpenStore


async def known(bench: OpenStore, actor: Actor) -> KnownAs:
    """Return the owner of the account."""
    return await bench.store.read(people.known_as, actor)


async def test_two_accounts_become_one_person(bench: OpenStore) -> None:
    """Linked accounts share their person; an account without a link is its own person."""
    await pair(bench, "ana", ALICE)
    await pair(bench, "ana", ANA_SLACK)

    assert KnownAs(PersonId("ana"), False) == await known(bench, ALICE)
    assert KnownAs(PersonId("ana"), False) == await known(bench, ANA_SLACK)
    assert KnownAs(PersonId("telegram:43"), False) == await known(bench, BOB)
    assert await bench.store.read(people.listed) == (
        Person(
            PersonId("ana"),
            False,
            (Account("slack", "U1", "Ana", False), Account("telegram", "42", "Alice", False)),
        ),
    )


async def test_a_code_works_once_as_people_type_it(bench: OpenStore) -> None:
    """Case, dashes and look-alikes do not matter; a second use and a newer code end it."""
    await bench.store.write(people.add, "ana")
    first = await bench.store.write(pairing.begin, "ana")
    second = await bench.store.write(pairing.begin, "ana")
    assert first is not None
    assert second is not None
    typed = f"{second.code[:4]}-{second.code[4:]}".lower().replace("1", "l").replace("0", "o")

    old = await bench.store.write(pairing.pair, first.code, ALICE)
    linked = await bench.store.write(pairing.pair, typed, ALICE)
    again = await bench.store.write(pairing.pair, second.code, BOB)

    assert [PairOutcome.WRONG, PairOutcome.LINKED, PairOutcome.WRONG] == [
        done.outcome for done in (old, linked, again)
    ]


async def test_a_code_ends_after_ten_minutes(bench: OpenStore) -> None:
    """The last ms is too late."""
    await bench.store.write(people.add, "ana")
    drawn = await bench.store.write(pairing.begin, "ana")
    assert drawn is not None
    await bench.advance(CODE_LIFE_MS)

    late = await bench.store.write(pairing.pair, drawn.code, ALICE)

    assert PairOutcome.WRONG is late.outcome


async def test_an_account_belongs_to_one_person(bench: OpenStore) -> None:
    """One person's account cannot be taken by another's code, and that code remains valid."""
    await pair(bench, "ana", ALICE)
    await bench.store.write(people.add, "bob")
    drawn = await bench.store.write(pairing.begin, "bob")
    assert drawn is not None

    taken = await bench.store.write(pairing.pair, drawn.code, ALICE)
    linked = await bench.store.write(pairing.pair, drawn.code, BOB)

    assert (PairOutcome.ALREADY, "ana") == (taken.outcome, taken.person)
    assert (PairOutcome.LINKED, "bob") == (linked.outcome, linked.person)


async def test_tries_are_bounded_for_an_account(bench: OpenStore) -> None:
    """After five wrong codes even the right one is refused, for ten minutes, on that account."""
    await bench.store.write(people.add, "ana")
    drawn = await bench.store.write(pairing.begin, "ana")
    assert drawn is not None
    for _ in range(MOST_TRIES):
        wrong = await bench.store.write(pairing.pair, "00000000", ALICE)
        assert PairOutcome.WRONG is wrong.outcome

    blocked = await bench.store.write(pairing.pair, drawn.code, ALICE)
    other = await bench.store.write(pairing.pair, drawn.code, BOB)
    await bench.advance(CODE_LIFE_MS)
    fresh = await bench.store.write(pairing.begin, "ana")
    assert fresh is not None
    later = await bench.store.write(pairing.pair, fresh.code, ALICE)

    assert PairOutcome.BLOCKED is blocked.outcome
    assert PairOutcome.LINKED is other.outcome is later.outcome


async def test_one_code_sent_by_two_links_one(bench: OpenStore) -> None:
    """Of two accounts that send a code at once, one is linked."""
    for number in range(20):
        name = f"p{number}"
        await bench.store.write(people.add, name)
        drawn = await bench.store.write(pairing.begin, name)
        assert drawn is not None
        actors = [Actor("telegram", f"{number}-{side}") for side in range(2)]
        done = await asyncio.gather(
            *(bench.store.write(pairing.pair, drawn.code, actor) for actor in actors)
        )
        assert {PairOutcome.LINKED, PairOutcome.WRONG} == {one.outcome for one in done}


async def test_unlinking_makes_an_account_its_own_person(bench: OpenStore) -> None:
    """The person is named once; an account that is no one's has nothing to unlink."""
    await pair(bench, "ana", ALICE)

    assert "ana" == await bench.store.write(people.unlink, "telegram", "42")
    assert await bench.store.write(people.unlink, "telegram", "42") is None
    assert "telegram:42" == (await known(bench, ALICE)).person


async def test_revoking_a_person_revokes_every_account(bench: OpenStore) -> None:
    """Until restored; an open code of the person ends with it."""
    await pair(bench, "ana", ALICE)
    await pair(bench, "ana", ANA_SLACK)
    drawn = await bench.store.write(pairing.begin, "ana")
    assert drawn is not None

    assert await bench.store.write(people.revoke, "ana")
    revoked = [(await known(bench, actor)).revoked for actor in (ALICE, ANA_SLACK, BOB)]
    linked = await bench.store.write(pairing.pair, drawn.code, BOB)
    assert await bench.store.write(people.restore, "ana")

    assert [True, True, False] == revoked
    assert PairOutcome.WRONG is linked.outcome
    assert not (await known(bench, ALICE)).revoked
    assert not await bench.store.write(people.restore, "ana")
    assert not await bench.store.write(people.revoke, "nobody")


async def test_revoking_one_account_leaves_the_person(bench: OpenStore) -> None:
    """A lost phone's account is revoked alone, linked or not."""
    await pair(bench, "ana", ALICE)
    await pair(bench, "ana", ANA_SLACK)

    assert await bench.store.write(people.revoke, "slack:U1")
    assert await bench.store.write(people.revoke, "telegram:43")
    assert [True, False, True] == [
        (await known(bench, actor)).revoked for actor in (ANA_SLACK, ALICE, BOB)
    ]
    found = await bench.store.read(people.listed)
    assert [("ana", False), ("telegram:43", True)] == [(one.id, one.revoked) for one in found]
    assert [True, False] == [account.revoked for account in found[0].accounts]


@pytest.mark.parametrize("name", ["telegram:42", "", "a b", "-ana", "a" * 65, "an\u0430"])
async def test_a_name_is_never_taken_for_an_account(bench: OpenStore, name: str) -> None:
    """A person's name has no colon, blank or look-alike letter."""
    with pytest.raises(BadRequest):
        await bench.store.write(people.add, name)


async def test_who_asked_is_known_by_its_kernel_session(bench: OpenStore) -> None:
    """Only the very session that had a question counts as having asked."""
    await bench.ask()

    assert await bench.store.read(people.has_asked, ASKER)
    other = Requester(Intake.SOCKET, ASKER.account, (78, 123456))
    assert not await bench.store.read(people.has_asked, other)


async def test_a_requester_is_known_by_account_person_and_linked_accounts(
    bench: OpenStore,
) -> None:
    """Lists of approvers may name any of them; a socket requester has only an account."""
    chat = Requester(Intake.CHAT, "telegram:42")
    assert {"telegram:42"} < await bench.store.read(approvals.references, chat)
    local = Requester(Intake.SOCKET, "uid:1000")
    assert {"uid:1000"} == await bench.store.read(approvals.references, local)

    await pair(bench, "ana", ALICE)
    await pair(bench, "ana", ANA_SLACK)

    named = await bench.store.read(approvals.references, chat)
    assert {"telegram:42", "person:ana", "slack:U1"} == named
