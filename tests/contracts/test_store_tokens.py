"""State what every engine must do with tokens: keep no text, end on request, answer as a person."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select, update

from core.errors import BadRequest
from core.model.access import Scope
from core.model.approval import ApprovalState
from core.model.events import EventKind
from core.model.identity import Actor, Intake, PersonId, Requester
from core.store import approvals, retention
from core.store.people import pairing, people, token_text, tokens
from core.store.people.tokens import CHANGED, NewToken, TokenDraft, TokenState
from core.store.runs import runs
from core.store.schema.people_tables import ALL_TABLES
from core.store.schema.records import AnswerRefusal
from core.store.sessions import events
from core.store.views import owners
from tests.support.store_records import ALICE, ONCE, draft, run_draft
from tests.support.stores import OpenStore

DAY = 86_400_000
ASK, LOOK, DECIDE, RULE = Scope.REQUEST, Scope.READ, Scope.APPROVE, Scope.ADMIN


async def made(
    bench: OpenStore,
    name: str = "ci",
    *scopes: Scope,
    agent: str | None = None,
    person: str | None = None,
    life_ms: int | None = None,
) -> NewToken:
    """Make a token; by default a read token."""
    wish = TokenDraft(name, frozenset(scopes or (LOOK,)), agent, person, "uid:1000", life_ms)
    return await bench.store.write(tokens.create, wish)


async def approver(bench: OpenStore, name: str = "laptop", person: str = "ana") -> NewToken:
    """Make a person's token, and the person if needed."""
    await bench.store.write(people.add, person)
    return await made(bench, name, DECIDE, person=person)


async def lets_in(bench: OpenStore, new: NewToken) -> bool:
    """Return whether a token's text admits anyone."""
    return await bench.store.read(tokens.holder, token_text.digest(new.text)) is not None


def as_actor(new: NewToken) -> Actor:
    """Return who answers with a token."""
    return Actor("api", new.token.id, new.token.name)


def everything(conn: Connection) -> str:
    """Return every value of every table as one text."""
    return "\n".join(
        repr(tuple(row))
        for table in ALL_TABLES.sorted_tables
        for row in conn.execute(select(table))
    )


async def test_only_the_hash_is_kept(bench: OpenStore) -> None:
    """No table contains a token's text or its random part; the hash is there, and finds it."""
    new = await approver(bench)
    kept = await bench.store.read(everything)
    found = await bench.store.read(tokens.holder, token_text.digest(new.text))

    assert token_text.digest(new.text) in kept
    assert new.text not in kept
    assert new.text.removeprefix("sayso_")[:20] not in kept
    assert new.token == found
    assert new.text not in repr(new)


async def test_a_hash_of_something_else_lets_nobody_in(bench: OpenStore) -> None:
    """An unknown token, a hash of a hash, the hash itself, and nothing at all."""
    new = await made(bench)
    digest = token_text.digest(new.text)
    tried = (token_text.digest(token_text.draw()), token_text.digest(digest), digest.upper(), "")

    assert [None] * 4 == [await bench.store.read(tokens.holder, one) for one in tried]


async def test_it_ends_when_it_is_revoked_or_its_time_is_over(bench: OpenStore) -> None:
    """The last ms is too late; listeners are notified of what is revoked."""
    short, named, other = [
        await made(bench, "short", life_ms=1_000),
        await made(bench, "named"),
        await made(bench, "other"),
    ]
    before = [await lets_in(bench, one) for one in (short, named, other)]
    await bench.store.write(tokens.revoke, named.token.id)
    gone = await bench.store.write(tokens.revoke, other.token.id)
    await bench.advance(1_000)
    after = [await lets_in(bench, one) for one in (short, named, other)]
    states = {one.name: one.state for one in await bench.store.read(tokens.listed)}

    assert [True] * 3 == before
    assert [False] * 3 == after
    assert gone is not None
    assert TokenState.REVOKED is gone.state
    assert {
        "short": TokenState.EXPIRED,
        "named": TokenState.REVOKED,
        "other": TokenState.REVOKED,
    } == states
    assert CHANGED in bench.notes
    assert await bench.store.write(tokens.revoke, "nobody") is None


async def test_who_is_shut_out(bench: OpenStore) -> None:
    """Those whose token was revoked or has expired, or who were; no account that is no token's."""
    await bench.store.write(people.add, "bob")
    live, revoked = await made(bench, "live"), await made(bench, "revoked")
    short, bobs = await made(bench, "short", life_ms=0), await approver(bench, "bobs", "bob")
    assert not await bench.store.read(tokens.is_shut_out, bobs.token.ref)
    await bench.store.write(tokens.revoke, revoked.token.id)
    await bench.store.write(people.revoke, "bob")

    for one, expected in ((live, False), (revoked, True), (short, True), (bobs, True)):
        assert await bench.store.read(tokens.is_shut_out, one.token.ref) is expected, one
    assert await bench.store.read(tokens.is_shut_out, "api:none")
    assert not await bench.store.read(tokens.is_shut_out, "uid:1000")


async def test_no_two_live_tokens_share_a_name(bench: OpenStore) -> None:
    """A revoked or expired one frees its name; two at once are one and a refusal."""
    await made(bench, "ci", life_ms=1_000)
    with pytest.raises(BadRequest, match="named 'ci'"):
        await made(bench, "ci")
    await bench.advance(1_000)
    latest = await made(bench, "ci")
    await bench.store.write(tokens.revoke, latest.token.id)
    both = await asyncio.gather(made(bench, "ci"), made(bench, "ci"), return_exceptions=True)

    assert sorted(("NewToken", "BadRequest")) == sorted(type(one).__name__ for one in both)


@pytest.mark.parametrize(
    ("scopes", "agent", "person"),
    [
        ((), None, None),
        ((ASK,), None, None),
        ((ASK,), None, "ana"),
        ((DECIDE,), None, None),
        ((DECIDE,), "coder", None),
        ((ASK, DECIDE), "coder", None),
        ((ASK, DECIDE), None, "ana"),
        ((ASK, RULE), "coder", None),
        ((ASK,), "coder", "ana"),
        ((LOOK,), "coder", "ana"),
        ((ASK,), "a:b", None),
        ((DECIDE,), None, "nobody"),
    ],
)
async def test_nobody_asks_and_decides(
    bench: OpenStore, scopes: tuple[Scope, ...], agent: str | None, person: str | None
) -> None:
    """An agent's token has no right of people, and none is made without an owner."""
    await bench.store.write(people.add, "ana")
    wish = TokenDraft("x", frozenset(scopes), agent, person, "uid:1000")
    with pytest.raises(BadRequest):
        await bench.store.write(tokens.create, wish)

    assert () == await bench.store.read(tokens.listed)


async def test_a_persons_token_is_that_persons_account(bench: OpenStore) -> None:
    """Two tokens and a chat account of one person are one vote of a quorum of two."""
    first, second = await approver(bench), await approver(bench, "phone")
    bob = await approver(bench, "bob-laptop", "bob")
    asked = await bench.ask(replace(draft(), quorum=2))

    counted = [
        await bench.store.write(
            approvals.answer, approvals.Ballot(asked, ONCE, as_actor(one), None)
        )
        for one in (first, second)
    ]
    won = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ONCE, as_actor(bob), None)
    )

    assert [(True, False)] * 2 == [(one.counted, one.won) for one in counted if one is not None]
    assert won is not None
    assert won.won
    assert won.approval.resolution is not None
    assert ApprovalState.ALLOWED is won.approval.resolution.state


@pytest.mark.parametrize("how", ["token", "person", "account"])
async def test_revoking_holds_inside_the_answer(bench: OpenStore, how: str) -> None:
    """A revoked token, person or account answers nothing; its earlier vote no longer counts."""
    first, bob = await approver(bench), await approver(bench, "bob-laptop", "bob")
    asked = await bench.ask(replace(draft(), quorum=2))
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, as_actor(first), None))
    if how == "token":
        await bench.store.write(tokens.revoke, first.token.id)
    else:
        who = "ana" if how == "person" else first.token.ref
        await bench.store.write(people.revoke, who)
    again = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ONCE, as_actor(first), None)
    )
    other = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ONCE, as_actor(bob), None)
    )

    assert again is not None
    assert AnswerRefusal.REVOKED is again.refused
    assert other is not None
    assert (True, False) == (other.counted, other.won)
    assert not await lets_in(bench, first)
    assert await lets_in(bench, bob)


async def test_a_token_is_its_persons_even_when_unlinked(bench: OpenStore) -> None:
    """Unlinking removes the vote's person, and revoking the person still ends the token."""
    new = await approver(bench)
    await bench.store.write(people.unlink, "api", new.token.id)
    unlinked = await bench.store.read(people.known_as, as_actor(new))
    await bench.store.write(people.revoke, "ana")

    assert PersonId(new.token.ref) == unlinked.person
    assert not await lets_in(bench, new)


@pytest.mark.parametrize("intake", [Intake.HTTP, Intake.WEBSOCKET])
async def test_the_token_that_asked_never_answers(bench: OpenStore, intake: Intake) -> None:
    """Even if it were a person's: the same token, and another account of its person."""
    first, second = await approver(bench), await approver(bench, "phone")
    bob = await approver(bench, "bob-laptop", "bob")
    asker = Requester(intake, first.token.ref)
    asked = await bench.ask(replace(draft(), requester=asker))

    refused = [
        await bench.store.write(
            approvals.answer, approvals.Ballot(asked, ONCE, as_actor(one), None)
        )
        for one in (first, second)
    ]
    allowed = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ONCE, as_actor(bob), None)
    )

    assert [AnswerRefusal.REQUESTER] * 2 == [one.refused for one in refused if one is not None]
    assert allowed is not None
    assert allowed.won


async def test_what_a_person_asked_in_chat_her_token_does_not_allow(bench: OpenStore) -> None:
    """A linked chat account and a token are one person; another person's token may."""
    ana, bob = await approver(bench), await approver(bench, "bob-laptop", "bob")
    drawn = await bench.store.write(pairing.begin, "ana")
    assert drawn is not None
    await bench.store.write(pairing.pair, drawn.code, ALICE)
    asked = await bench.ask(replace(draft(), requester=Requester(Intake.CHAT, ALICE.ref)))
    own = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ONCE, as_actor(ana), None)
    )
    other = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ONCE, as_actor(bob), None)
    )

    assert own is not None
    assert AnswerRefusal.REQUESTER is own.refused
    assert other is not None
    assert other.won


async def test_its_use_is_noted_once_a_minute(bench: OpenStore) -> None:
    """Two uses within a minute write one time; a later one writes again."""
    new = await made(bench)

    async def noted() -> int | None:
        await bench.store.write(tokens.used, new.token.id)
        (token,) = await bench.store.read(tokens.listed)
        return token.used_ms

    assert new.token.used_ms is None
    first = await noted()
    await bench.advance(tokens.USE_IS_NOTED_AFTER_MS - 10_000)
    soon = await noted()
    await bench.advance(10_001)
    later = await noted()

    assert first is not None
    assert first == soon
    assert later is not None
    assert later > first


async def test_what_ended_long_ago_is_forgotten(bench: OpenStore) -> None:
    """The token goes with its account and its revocation; a valid one stays forever."""
    gone, kept = await approver(bench), await approver(bench, "phone")
    expired = await made(bench, "short", life_ms=1_000)
    await bench.store.write(tokens.revoke, gone.token.id)
    await bench.advance(DAY)
    (row,) = [one for one in await bench.store.read(tokens.listed) if one.name == "phone"]
    await bench.store.write(retention.prune, row.created_ms + DAY // 2)
    left = await bench.store.read(tokens.listed)
    known = await bench.store.read(people.listed)

    assert ["phone"] == [one.name for one in left]
    assert [kept.token.id] == [account.account for account in known[0].accounts]
    assert gone.token.ref not in {person.id for person in known}
    assert not await lets_in(bench, expired)


async def test_a_row_that_says_too_much_is_told_as_it_is(bench: OpenStore) -> None:
    """The store does not repair a row that was written behind its back: its reader must."""
    new = await made(bench, "ci", ASK, agent="coder")
    table = ALL_TABLES.tables["tokens"]
    await bench.store.write(
        lambda conn: conn.execute(update(table).values(scopes="approve request"))
    )
    token = await bench.store.read(tokens.holder, token_text.digest(new.text))

    assert token is not None
    assert {ASK, DECIDE} == token.scopes
    assert "coder" == token.agent


async def test_whose_a_run_is(bench: OpenStore) -> None:
    """An approval's and an unasked run's agent are found; of an unknown id nothing is."""
    asked = await bench.ask()
    unasked = run_draft()
    await bench.store.write(runs.begin, unasked)

    assert "main" == await bench.store.read(owners.agent_of, asked)
    assert "main" == await bench.store.read(owners.agent_of, unasked.id)
    assert await bench.store.read(owners.agent_of, "zzzz") is None  # type: ignore[arg-type]


async def test_sessions_of_one_agent(bench: OpenStore) -> None:
    """Names are compared exactly: case, wildcards and a longer agent's name are different."""
    keys = ("agent:a:1", "agent:a:2", "AGENT:A:3", "agent:ab:4", "agent:_:5", "main", "agent:%:6")
    new = [events.NewEvent(key, EventKind.STARTED, "x", "r") for key in keys]
    await bench.store.write(events.append, new, 7)
    found = {
        head: [row.session for row in await bench.store.read(owners.sessions_of, 10, head)]
        for head in ("agent:a:", "agent:_:", "agent:%:", "")
    }
    first = await bench.store.read(owners.sessions_of, 3)
    rest = await bench.store.read(owners.sessions_of, 10, "", first[-1].session)

    assert ["agent:a:1", "agent:a:2"] == found["agent:a:"]
    assert (["agent:_:5"], ["agent:%:6"]) == (found["agent:_:"], found["agent:%:"])
    assert sorted(keys) == sorted(found[""])
    assert sorted(keys) == sorted(row.session for row in (*first, *rest))
    assert {(1, 0, 7)} == {(row.last_seq, row.acked_seq, row.at_ms) for row in first}


async def test_a_token_that_is_named_like_an_id_is_not_taken_for_it(bench: OpenStore) -> None:
    """Whoever names or ends the older one by its id does not end the newer one instead."""
    old = await made(bench, "laptop")
    await bench.advance(1)
    new = await made(bench, old.token.id)
    meant = await bench.store.read(tokens.meant, old.token.id)
    gone = await bench.store.write(tokens.revoke, old.token.id)

    assert (meant and meant.name, gone and gone.name) == ("laptop", "laptop")
    assert [False, True] == [await lets_in(bench, one) for one in (old, new)]
