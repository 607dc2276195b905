"""State what every engine must do with links into the page: one browser, one use, ten minutes."""

import asyncio

import pytest
from sqlalchemy import Connection, select

from core.errors import BadRequest
from core.model.access import Scope
from core.model.identity import Actor
from core.store import retention
from core.store.people import page_links, pairing, passkeys, people, token_text, tokens
from core.store.people.page_links import SESSION_LIFE_MS, Link, LinkState, NewLink
from core.store.people.tokens import CHANGED, NewToken, TokenDraft, TokenState
from core.store.schema.people_tables import ALL_TABLES
from tests.support.stores import OpenStore

SCOPES = frozenset({Scope.APPROVE, Scope.READ})
HERE, THERE = "here" * 10, "there" * 8
MINUTE, DAY = 60_000, 86_400_000


async def _link(bench: OpenStore, person: str = "ana") -> NewLink:
    await bench.store.write(people.add, person)
    return await bench.store.write(page_links.create, person, SCOPES, "uid:0")


async def _open(bench: OpenStore, link: NewLink, browser: str = HERE) -> LinkState:
    return (await bench.store.write(page_links.open_in, link.secret, browser)).state


async def _use(bench: OpenStore, link: NewLink, browser: str = HERE) -> NewToken | Link:
    return await bench.store.write(page_links.use, link.secret, browser, "Firefox on Linux")


async def _by_key(bench: OpenStore) -> NewToken | None:
    return await bench.store.write(page_links.enter_by_passkey, "ana", "key", 1, "Firefox")


async def _session(bench: OpenStore) -> NewToken:
    link = await _link(bench)
    await _open(bench, link)
    made = await _use(bench, link)
    assert isinstance(made, NewToken)
    return made


async def _state(bench: OpenStore, made: NewToken) -> TokenState:
    return next(one.state for one in await bench.store.read(tokens.listed) if one == made.token)


def _everything(conn: Connection) -> str:
    return repr([conn.execute(select(table)).all() for table in ALL_TABLES.sorted_tables])


async def test_a_link_opened_here_makes_a_session_of_its_person(bench: OpenStore) -> None:
    """The session has the link's scopes, says which browser it is in, and ends after 12 hours."""
    made = await _session(bench)

    token = made.token
    assert (token.person, token.scopes, token.browser) == ("ana", SCOPES, "Firefox on Linux")
    assert token.expires_ms == token.created_ms + SESSION_LIFE_MS
    holder = await bench.store.read(tokens.holder, token_text.digest(made.text))
    assert holder is not None
    assert holder.browser == "Firefox on Linux"
    await bench.advance(SESSION_LIFE_MS)
    assert await bench.store.read(tokens.holder, token_text.digest(made.text)) is None


async def test_the_store_holds_hashes_only(bench: OpenStore) -> None:
    """Neither the link, nor the browser's cookie, nor the session can be read from the tables."""
    link = await _link(bench)
    await _open(bench, link)
    made = await _use(bench, link)
    assert isinstance(made, NewToken)

    kept = await bench.store.read(_everything)
    assert "Firefox on Linux" in kept  # the control: this is where it would be found
    for secret in (link.secret, HERE, made.text):
        assert secret not in kept


async def test_the_first_browser_keeps_the_link(bench: OpenStore) -> None:
    """Another one neither opens nor uses it, whichever order it tries; the first still can."""
    link = await _link(bench)
    assert await _open(bench, link) is LinkState.OPEN
    assert await _open(bench, link, THERE) is LinkState.ELSEWHERE
    assert await _use(bench, link, THERE) == Link(LinkState.ELSEWHERE)

    assert await _open(bench, link) is LinkState.OPEN
    assert isinstance(await _use(bench, link), NewToken)


async def test_what_only_looks_binds_nothing(bench: OpenStore) -> None:
    """Fetching the page leaves the link to the browser that uses it, which keeps it."""
    link = await _link(bench)
    looked = await bench.store.read(page_links.seen_by, link.secret, THERE)
    assert (looked.state, looked.person) == (LinkState.OPEN, "ana")
    assert isinstance(await _use(bench, link), NewToken)
    assert await _use(bench, link, THERE) == Link(LinkState.USED)


async def test_a_new_link_withdraws_those_of_the_same_account(bench: OpenStore) -> None:
    """Those that another one made stay, and so do those that were used."""
    other, first = (
        await _link(bench),
        await bench.store.write(page_links.create_anew, "ana", SCOPES, "telegram:42"),
    )
    second = await bench.store.write(page_links.create_anew, "ana", SCOPES, "telegram:42")
    assert await _open(bench, first) is LinkState.EXPIRED
    assert isinstance(await _use(bench, second), NewToken)
    await bench.store.write(page_links.create_anew, "ana", SCOPES, "telegram:42")
    assert await _open(bench, second) is LinkState.USED
    assert await _open(bench, other) is LinkState.OPEN


async def test_a_link_works_once(bench: OpenStore) -> None:
    """Of ten uses at the same moment one makes a session; later ones are told that it was used."""
    link = await _link(bench)
    await _open(bench, link)
    done = await asyncio.gather(*(_use(bench, link) for _ in range(10)))

    assert sum(isinstance(one, NewToken) for one in done) == 1
    assert [one for one in done if isinstance(one, Link)] == [Link(LinkState.USED)] * 9
    assert await _open(bench, link) is LinkState.USED


async def test_a_link_lasts_ten_minutes(bench: OpenStore) -> None:
    """It opens and works until then, and not from then on."""
    link = await _link(bench)
    await bench.advance(9 * MINUTE)
    assert await _open(bench, link) is LinkState.OPEN
    await bench.advance(MINUTE)
    assert await _open(bench, link) is LinkState.EXPIRED
    assert await _use(bench, link) == Link(LinkState.EXPIRED)


async def test_an_unknown_link_is_none(bench: OpenStore) -> None:
    """Nothing is bound or made."""
    assert await bench.store.write(page_links.open_in, "x" * 43, HERE) == Link(LinkState.UNKNOWN)
    made = await bench.store.write(page_links.use, "x" * 43, HERE, "Firefox")
    assert made == Link(LinkState.UNKNOWN)


async def test_without_a_name_the_only_person_is_meant(bench: OpenStore) -> None:
    """No one, or several, is reported; a revoked person gets no link."""
    with pytest.raises(BadRequest, match=r"directory yet\. Run `sayso people add NAME`;"):
        await bench.store.write(page_links.create, None, SCOPES, "uid:0")
    await bench.store.write(people.add, "ana")
    assert (await bench.store.write(page_links.create, None, SCOPES, "uid:0")).person == "ana"
    await bench.store.write(people.add, "bo")
    with pytest.raises(BadRequest, match="ana, bo"):
        await bench.store.write(page_links.create, None, SCOPES, "uid:0")
    with pytest.raises(BadRequest, match="No person is named 'cy'"):
        await bench.store.write(page_links.create, "cy", SCOPES, "uid:0")
    await bench.store.write(people.revoke, "bo")
    assert (await bench.store.write(page_links.create, None, SCOPES, "uid:0")).person == "ana"
    with pytest.raises(BadRequest, match="is revoked"):
        await bench.store.write(page_links.create, "bo", SCOPES, "uid:0")


async def test_revoking_the_person_ends_the_session_at_once(bench: OpenStore) -> None:
    """Like every token of that person."""
    made = await _session(bench)
    await bench.store.write(people.revoke, "ana")
    assert await bench.store.read(tokens.holder, token_text.digest(made.text)) is None


async def test_signing_out_ends_the_session_and_not_what_it_answered(bench: OpenStore) -> None:
    """The account that answered is not revoked; a second time there is nothing to end."""
    made = await _session(bench)
    bench.notes.clear()
    assert await bench.store.write(tokens.sign_out, made.token.id)

    assert CHANGED in bench.notes
    assert await bench.store.read(tokens.holder, token_text.digest(made.text)) is None
    known = await bench.store.read(people.person_of, "api", made.token.id)
    assert (known.person, known.revoked) == ("ana", False)
    assert not await bench.store.write(tokens.sign_out, made.token.id)


async def test_only_a_session_is_signed_out(bench: OpenStore) -> None:
    """A token of the API ends by being revoked, and is not touched."""
    await bench.store.write(people.add, "ana")
    draft = TokenDraft("laptop", SCOPES, None, "ana", "uid:0")
    made = await bench.store.write(tokens.create, draft)
    assert not await bench.store.write(tokens.sign_out, made.token.id)
    assert await _state(bench, made) is TokenState.LIVE


async def test_links_are_forgotten_with_what_is_old(bench: OpenStore) -> None:
    """A link that expired long ago is deleted, one of today stays."""
    old = await _link(bench)
    await bench.advance(2 * DAY)
    young = await _link(bench)
    now = young.expires_ms - 10 * MINUTE
    await bench.store.write(retention.prune, now - DAY)

    assert await _open(bench, old) is LinkState.UNKNOWN
    assert await _open(bench, young) is LinkState.OPEN


async def _begun(bench: OpenStore, by: str) -> NewToken:
    await bench.store.write(people.add, "ana")
    link = await bench.store.write(page_links.create, "ana", SCOPES, by)
    made = await _use(bench, link)
    assert isinstance(made, NewToken)
    return made


async def _is_in(bench: OpenStore, made: NewToken) -> bool:
    digest = token_text.digest(made.text)
    return await bench.store.read(tokens.holder, digest) is not None


@pytest.mark.parametrize("restored", [False, True])
async def test_who_revokes_an_account_ends_what_its_links_began(
    bench: OpenStore, *, restored: bool
) -> None:
    """Sessions, also once it is restored, and links that wait; others' continue."""
    stolen, other = await _begun(bench, "telegram:42"), await _begun(bench, "telegram:43")
    waits = await bench.store.write(page_links.create, "ana", SCOPES, "telegram:42")
    assert await _is_in(bench, stolen)

    await bench.store.write(people.revoke, "telegram:42")
    if restored:
        await bench.store.write(people.restore, "telegram:42")

    assert not await _is_in(bench, stolen)
    assert await _is_in(bench, other)
    known = await bench.store.read(tokens.by_id, stolen.token.id)
    assert known is not None
    assert known.state is TokenState.REVOKED
    account = await bench.store.read(people.person_of, "api", stolen.token.id)
    assert account.revoked, "its votes count no more"
    assert await _open(bench, waits) is LinkState.EXPIRED


async def test_who_unlinks_an_account_ends_what_its_links_began(bench: OpenStore) -> None:
    """It is no longer the person's, so it signs in as no one."""
    stolen, other = await _begun(bench, "telegram:42"), await _begun(bench, "telegram:43")
    waits = await bench.store.write(page_links.create, "ana", SCOPES, "telegram:42")
    code = await bench.store.write(pairing.begin, "ana")
    assert code is not None
    await bench.store.write(pairing.pair, code.code, Actor("telegram", "42", "Ana"))

    await bench.store.write(people.unlink, "telegram", "42")

    assert not await _is_in(bench, stolen)
    assert await _is_in(bench, other)
    assert await _open(bench, waits) is LinkState.EXPIRED


async def test_who_is_revoked_does_not_sign_in(bench: OpenStore) -> None:
    """Neither by a link from before nor by a passkey; both are as they were once restored."""
    link = await _link(bench)
    await bench.store.write(passkeys.add, "ana", "key", "public", 0, "a browser", "uid:0")
    await bench.store.write(people.revoke, "ana")
    for attempt in (_use(bench, link), _by_key(bench)):
        with pytest.raises(BadRequest, match="is revoked"):
            await attempt
    assert await bench.store.read(tokens.listed) == ()

    await bench.store.write(people.restore, "ana")
    assert isinstance(await _use(bench, link), NewToken)
    assert isinstance(await _by_key(bench), NewToken)


@pytest.mark.parametrize("how", ["signed out", "revoked", "the person is", "none"])
async def test_a_session_that_has_ended_registers_no_passkey(bench: OpenStore, how: str) -> None:
    """A thief would come back by the key; the page looked at the session a while ago.

    The control is a session that continues.
    """
    session = (await _session(bench)).token
    if how == "signed out":
        assert await bench.store.write(tokens.sign_out, session.id)
    elif how == "revoked":
        assert await bench.store.write(tokens.revoke, session.id)
    elif how == "the person is":
        assert await bench.store.write(people.revoke, "ana")
    key = ("key", "public", 0, "a browser")
    if how == "none":
        assert await bench.store.write(page_links.register, session, *key)
        assert not await bench.store.write(page_links.register, session, *key)
        return
    with pytest.raises(BadRequest, match="has ended"):
        await bench.store.write(page_links.register, session, *key)
    assert await bench.store.read(passkeys.listed) == ()


async def test_a_passkey_that_is_forgotten_ends_the_sessions_it_began(bench: OpenStore) -> None:
    """The finder of the device is out; a session of another passkey continues."""
    await bench.store.write(people.add, "ana")
    for key in ("lostlost-key", "kept-kept-key"):
        await bench.store.write(passkeys.add, "ana", key, "public", 0, "a browser", "uid:0")
    entered = page_links.enter_by_passkey
    lost = await bench.store.write(entered, "ana", "lostlost-key", 1, "a browser")
    kept = await bench.store.write(entered, "ana", "kept-kept-key", 1, "a browser")
    assert lost is not None
    assert kept is not None
    assert await _is_in(bench, lost)

    await bench.store.write(passkeys.forget, "lostlost-key")

    assert not await _is_in(bench, lost)
    assert await _is_in(bench, kept)
    assert await bench.store.write(entered, "ana", "lostlost-key", 2, "a browser") is None
    assert await bench.store.write(entered, "ana", "kept-kept-key", 1, "a browser") is None
