"""Keep one-time links into the control page: by their hash, for ten minutes, for one browser.

The first browser that opens a link is the only one that can use it, and only once. What merely
fetches links, as chats do for previews, is shown the page and binds nothing. What a browser gets is
a session, a token of the person that no API takes (``Token.browser``). So whatever holds for a
person's tokens holds for sessions, above all revoking.
"""

import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, func, insert, select, update

from core.errors import BadRequest
from core.model.access import Scope
from core.model.identity import PersonId
from core.store.engine.clock import now_ms
from core.store.people import page_sessions, passkeys, people, tokens
from core.store.people.token_text import digest
from core.store.people.tokens import NewToken, Token, TokenDraft
from core.store.schema.people_tables import page_links

LIFE_MS: Final = 10 * 60_000
SESSION_LIFE_MS: Final = 12 * 3_600_000
"""How long somebody stays signed in; a session is never prolonged."""
_BYTES: Final = 32
_NAME_BYTES: Final = 4

_BY_HASH = select(page_links).where(page_links.c.hash == bindparam("p_hash"))
_BIND = (
    update(page_links)
    .where(
        page_links.c.hash == bindparam("p_hash"),
        page_links.c.browser_hash.is_(None),
        page_links.c.used_ms.is_(None),
        page_links.c.expires_ms > bindparam("p_now"),
    )
    .values(browser_hash=bindparam("p_browser"))
)
_USE = (
    update(page_links)
    .where(
        page_links.c.hash == bindparam("p_hash"),
        func.coalesce(page_links.c.browser_hash, bindparam("p_browser")) == bindparam("p_browser"),
        page_links.c.used_ms.is_(None),
        page_links.c.expires_ms > bindparam("p_now"),
    )
    .values(used_ms=bindparam("p_now"), browser_hash=bindparam("p_browser"))
    .returning(*page_links.c)
)


class LinkState(StrEnum):
    """What a link is to a browser that presents it."""

    OPEN = "open"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    USED = "used"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Link:
    """What a browser learns about a link; ``person`` only where it is open to this browser."""

    state: LinkState
    person: PersonId | None = None
    expires_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link with its secret part, which cannot be shown again; it expires at an epoch ms."""

    person: PersonId
    expires_ms: int
    secret: str = field(repr=False)


def create(conn: Connection, person: str | None, scopes: frozenset[Scope], by: str) -> NewLink:
    """Make a link for a person; ``None`` means the only one that there is.

    Raises:
        BadRequest: there is no such person, the person is revoked, or several could be meant.
    """
    name = _only(conn) if person is None else person
    if not people.exists(conn, name):
        raise BadRequest(f"No person is named {name!r}. Add one: sayso people add NAME")
    _refuse_revoked(conn, name)
    now, secret = now_ms(conn), secrets.token_urlsafe(_BYTES)
    row = {
        "hash": digest(secret),
        "person": name,
        "scopes": " ".join(sorted(scopes)),
        "created_by": by,
        "created_ms": now,
        "expires_ms": now + LIFE_MS,
    }
    conn.execute(insert(page_links), row)
    return NewLink(PersonId(name), now + LIFE_MS, secret)


def create_anew(conn: Connection, person: str, scopes: frozenset[Scope], by: str) -> NewLink:
    """Make a link, and withdraw those that ``by`` made before and nobody used.

    Raises:
        BadRequest: as ``create``.
    """
    page_sessions.withdraw_links(conn, by)
    return create(conn, person, scopes, by)


def open_in(conn: Connection, secret: str, browser: str) -> Link:
    """Bind a link to the browser that opens it first, and return what it is to this one."""
    now, hashed = now_ms(conn), digest(secret)
    conn.execute(_BIND, {"p_hash": hashed, "p_browser": digest(browser), "p_now": now})
    return _seen(conn, hashed, browser)


def seen_by(conn: Connection, secret: str, browser: str) -> Link:
    """Return what a link is to a browser, and bind nothing."""
    return _seen(conn, digest(secret), browser)


def use(conn: Connection, secret: str, browser: str, label: str) -> NewToken | Link:
    """Make the session of a link, once; ``label`` says in words which browser it is in.

    A link that no browser is bound to yet is used by this one.

    Returns the link where it is not open to this browser: nothing was made then.

    Raises:
        BadRequest: the person is revoked.
    """
    values = {"p_hash": digest(secret), "p_browser": digest(browser), "p_now": now_ms(conn)}
    row = conn.execute(_USE, values).mappings().first()
    if row is None:
        return _seen(conn, digest(secret), browser)
    scopes = frozenset(Scope(word) for word in row["scopes"].split())
    return _session(conn, row["person"], scopes, row["created_by"], label)


def enter_by_passkey(
    conn: Connection, person: str, key_id: str, count: int, label: str
) -> NewToken | None:
    """Make a session of a person who signed in by a passkey, whose new count it is.

    The session approves and reads. ``None`` where the count is not above the last one, or the
    passkey is forgotten by now.

    Raises:
        BadRequest: there is no such person any more, or the person is revoked.
    """
    if not passkeys.count(conn, person, key_id, count):
        return None
    scopes = frozenset({Scope.APPROVE, Scope.READ})
    return _session(conn, person, scopes, passkeys.maker(key_id), label)


def register(
    conn: Connection, session: Token, key_id: str, public_key: str, count: int, name: str
) -> bool:
    """Give the person of a session a passkey; ``False`` if this one is known already.

    Raises:
        BadRequest: the session has ended meanwhile: a key of whoever had it would outlast that.
    """
    if session.person is None or not tokens.is_held_live(conn, session.id):
        raise BadRequest("The session has ended, so no passkey was registered.")
    return passkeys.add(conn, session.person, key_id, public_key, count, name, session.by)


def _session(
    conn: Connection, person: str, scopes: frozenset[Scope], by: str, label: str
) -> NewToken:
    _refuse_revoked(conn, person)
    draft = TokenDraft(
        name=f"page-{secrets.token_hex(_NAME_BYTES)}",
        scopes=scopes,
        agent=None,
        person=person,
        by=by,
        life_ms=SESSION_LIFE_MS,
        browser=label,
    )
    return tokens.create(conn, draft)


def _refuse_revoked(conn: Connection, person: str) -> None:
    if people.is_revoked(conn, person):
        raise BadRequest(f"{person} is revoked. Restore first: sayso people restore {person}")


def _seen(conn: Connection, hashed: str, browser: str) -> Link:
    row = conn.execute(_BY_HASH, {"p_hash": hashed}).mappings().first()
    if row is None:
        return Link(LinkState.UNKNOWN)
    state = _state(row, digest(browser), now_ms(conn))
    if state is not LinkState.OPEN:
        return Link(state)
    return Link(state, PersonId(row["person"]), row["expires_ms"])


def _state(row: RowMapping, browser_hash: str, now: int) -> LinkState:
    if row["used_ms"] is not None:
        return LinkState.USED
    if row["expires_ms"] <= now:
        return LinkState.EXPIRED
    bound = row["browser_hash"] in (None, browser_hash)
    return LinkState.OPEN if bound else LinkState.ELSEWHERE


def _only(conn: Connection) -> str:
    named = [one.id for one in people.listed(conn) if not one.revoked and ":" not in one.id]
    if len(named) == 1:
        return named[0]
    if not named:
        raise BadRequest(
            "Nobody is in the people directory yet. Run `sayso people add NAME`; to answer on the "
            "page as well, list `person:NAME` in approvals.exec.approvers."
        )
    raise BadRequest(f"Which person? Use --person with one of {', '.join(named)}.")
