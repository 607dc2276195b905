"""Store who may call over the network: tokens by their hash, never by their text.

A person's token is an account ``api:ID`` of that person, linked here and nowhere else. So the lists
of approvers, quorum, and revoking a person hold for it as for any account, inside the transaction
that takes an answer.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.errors import BadRequest
from core.model.access import Scope, misfit
from core.model.identity import API_CHANNEL, AgentId, PersonId
from core.store.engine.clock import now_ms
from core.store.engine.notifications import TOKENS, note
from core.store.people import people, token_text
from core.store.schema.json_columns import plain
from core.store.schema.people_tables import accounts, push_subscriptions, tokens

CHANGED: Final = TOKENS
"""The wake-up that says: some token was revoked, or its person."""
USE_IS_NOTED_AFTER_MS: Final = 60_000
_CROCKFORD: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH: Final = 12

_INSERT = insert(tokens).on_conflict_do_nothing().returning(tokens.c.id)
_LINK = insert(accounts)
_FREE_NAME = (
    update(tokens)
    .where(
        tokens.c.name == bindparam("p_name"),
        tokens.c.revoked_ms.is_(None),
        tokens.c.expires_ms <= bindparam("p_now"),
    )
    .values(revoked_ms=tokens.c.expires_ms)
)
_BY_HASH = select(tokens).where(tokens.c.hash == bindparam("p_hash"))
_USED = (
    update(tokens)
    .where(
        tokens.c.id == bindparam("p_id"),
        tokens.c.used_ms.is_(None) | (tokens.c.used_ms < bindparam("p_before")),
    )
    .values(used_ms=bindparam("p_now"))
)
_LISTED = select(tokens).order_by(tokens.c.created_ms, tokens.c.id)
_MEANT = (
    select(tokens)
    .where((tokens.c.id == bindparam("p_ref")) | (tokens.c.name == bindparam("p_ref")))
    .order_by(
        tokens.c.id != bindparam("p_ref"),
        tokens.c.revoked_ms.is_not(None),
        tokens.c.created_ms.desc(),
    )
)
_END = (
    update(tokens)
    .where(
        tokens.c.id == bindparam("p_id"),
        tokens.c.browser.is_not(None),
        tokens.c.revoked_ms.is_(None),
        tokens.c.expires_ms > bindparam("p_now"),
    )
    .values(expires_ms=bindparam("p_now"))
)
_BY_ID = select(tokens).where(tokens.c.id == bindparam("p_id"))
_HOLD = select(tokens.c.id).where(tokens.c.id == bindparam("p_id")).with_for_update()
_REVOKE = (
    update(tokens)
    .where(tokens.c.id == bindparam("p_id"), tokens.c.revoked_ms.is_(None))
    .values(revoked_ms=bindparam("p_now"))
)
_PERSON = select(tokens.c.person).where(tokens.c.id == bindparam("p_id")).scalar_subquery()
_PUSH_NO_MORE = delete(push_subscriptions).where(
    push_subscriptions.c.person == _PERSON, push_subscriptions.c.session == bindparam("p_id")
)


class TokenState(StrEnum):
    """Whether a token lets anybody in."""

    LIVE = "live"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class TokenDraft:
    """A token to make: whose, for what, for how long (ms; ``None``: until it is revoked).

    ``browser`` is set for a session of the control page: the browser that it is in, in words.
    """

    name: str
    scopes: frozenset[Scope]
    agent: str | None
    person: str | None
    by: str
    life_ms: int | None = None
    browser: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """What is known about a token; times are epoch ms. ``used_ms`` is exact to a minute.

    ``browser`` is set where it is a session of the control page, which no API takes.
    """

    id: str
    name: str
    scopes: frozenset[Scope]
    agent: AgentId | None
    person: PersonId | None
    by: str
    state: TokenState
    created_ms: int
    expires_ms: int | None
    used_ms: int | None
    browser: str | None

    @property
    def ref(self) -> str:
        """Return the account that answers with it: ``api:4k7w…``."""
        return f"{API_CHANNEL}:{self.id}"


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token with its text, which cannot be shown again."""

    token: Token
    text: str = field(repr=False)


def create(conn: Connection, draft: TokenDraft) -> NewToken:
    """Make a token; its text is in the result and nowhere else.

    Raises:
        BadRequest: nobody may hold these scopes together, there is no such person, or a live token
            has the name.
    """
    why = misfit(draft.scopes, draft.agent, draft.person) or _unfit(conn, draft)
    if why:
        raise BadRequest(why)
    now, text = now_ms(conn), token_text.draw()
    conn.execute(_FREE_NAME, {"p_name": draft.name, "p_now": now})
    row = _row(draft, text, now)
    if conn.execute(_INSERT, row).first() is None:
        raise BadRequest(
            f"A token named {draft.name!r} already exists. Revoke it first, or use another name."
        )
    if draft.person is not None:
        link = {"channel": API_CHANNEL, "account": row["id"], "person": draft.person}
        conn.execute(_LINK, link | {"name": plain(draft.name), "linked_ms": now})
    made = conn.execute(_BY_HASH, {"p_hash": row["hash"]}).mappings().one()
    return NewToken(_token(made, now), text)


def _unfit(conn: Connection, draft: TokenDraft) -> str:
    if draft.agent is not None and ":" in draft.agent:
        return (
            "The agent of a token cannot contain a colon: its sessions are named agent:AGENT:NAME."
        )
    if draft.person is not None and not people.exists(conn, draft.person):
        return f"No person is named {draft.person!r}. Add one: sayso people add NAME"
    return ""


def _row(draft: TokenDraft, text: str, now: int) -> dict[str, object]:
    return {
        "id": "".join(secrets.choice(_CROCKFORD) for _ in range(_ID_LENGTH)),
        "hash": token_text.digest(text),
        "name": draft.name,
        "scopes": " ".join(sorted(draft.scopes)),
        "agent": draft.agent,
        "person": draft.person,
        "created_by": draft.by,
        "created_ms": now,
        "expires_ms": None if draft.life_ms is None else now + draft.life_ms,
        "browser": None if draft.browser is None else plain(draft.browser),
    }


def holder(conn: Connection, digest: str) -> Token | None:
    """Return the live token of this hash, ``None`` if it lets nobody in.

    A token of somebody who is revoked, or whose account ``api:ID`` is, is none.
    """
    row = conn.execute(_BY_HASH, {"p_hash": digest}).mappings().first()
    if row is None or not hmac.compare_digest(row["hash"], digest):
        return None
    token = _token(row, now_ms(conn))
    if token.state is not TokenState.LIVE or holder_is_revoked(conn, token.id, token.person):
        return None
    return token


def is_shut_out(conn: Connection, account: str) -> bool:
    """Return whether an account, ``api:ID``, is of a token that no longer lets anybody in."""
    channel, _, token_id = account.partition(":")
    if channel != API_CHANNEL:
        return False
    token = by_id(conn, token_id)
    if token is None or token.state is not TokenState.LIVE:
        return True
    return holder_is_revoked(conn, token.id, token.person)


def holder_is_revoked(conn: Connection, token_id: str, person: str | None) -> bool:
    """Return whether a token's account ``api:ID`` is revoked, or the person it was made for."""
    if people.person_of(conn, API_CHANNEL, token_id).revoked:
        return True
    # The link may have been removed; the person it was made for still counts.
    return person is not None and people.is_revoked(conn, person)


def is_held_live(conn: Connection, token_id: str) -> bool:
    """Return whether a token is live, and see that it stays so until the transaction ends."""
    conn.execute(_HOLD, {"p_id": token_id})
    token = by_id(conn, token_id)
    if token is None or token.state is not TokenState.LIVE:
        return False
    return not holder_is_revoked(conn, token_id, token.person)


def used(conn: Connection, token_id: str) -> None:
    """Note that a token is in use; not more than once a minute."""
    now = now_ms(conn)
    before = now - USE_IS_NOTED_AFTER_MS
    conn.execute(_USED, {"p_id": token_id, "p_now": now, "p_before": before})


def listed(conn: Connection) -> tuple[Token, ...]:
    """Return every token that is known, the oldest first."""
    now = now_ms(conn)
    return tuple(_token(row, now) for row in conn.execute(_LISTED).mappings())


def by_id(conn: Connection, token_id: str) -> Token | None:
    """Return a token, live or not."""
    row = conn.execute(_BY_ID, {"p_id": token_id}).mappings().first()
    return None if row is None else _token(row, now_ms(conn))


def meant(conn: Connection, ref: str) -> Token | None:
    """Return the token with this id or, a live one first, this name; ``None`` if there is none."""
    row = conn.execute(_MEANT, {"p_ref": ref}).mappings().first()
    return None if row is None else _token(row, now_ms(conn))


def revoke(conn: Connection, token_id: str) -> Token | None:
    """End a token for good; ``None`` if there is none.

    A person's votes and answers by it no longer count, like those of a revoked account.
    """
    token = by_id(conn, token_id)
    if token is None:
        return None
    conn.execute(_REVOKE, {"p_id": token_id, "p_now": now_ms(conn)})
    conn.execute(_PUSH_NO_MORE, {"p_id": token_id})
    if token.person is not None:
        people.revoke(conn, token.ref)
    note(conn, CHANGED)
    return by_id(conn, token_id)


def sign_out(conn: Connection, token_id: str) -> bool:
    """End a session of the control page now; what was answered in it still counts.

    Nothing is pushed to its browser any more. ``False`` where there is no such session, or it has
    ended.
    """
    ended = conn.execute(_END, {"p_id": token_id, "p_now": now_ms(conn)}).rowcount
    if ended:
        conn.execute(_PUSH_NO_MORE, {"p_id": token_id})
        note(conn, CHANGED)
    return bool(ended)


def _token(row: RowMapping, now: int) -> Token:
    return Token(
        id=row["id"],
        name=row["name"],
        scopes=frozenset(Scope(word) for word in row["scopes"].split()),
        agent=None if row["agent"] is None else AgentId(row["agent"]),
        person=None if row["person"] is None else PersonId(row["person"]),
        by=row["created_by"],
        state=_state(row, now),
        created_ms=row["created_ms"],
        expires_ms=row["expires_ms"],
        used_ms=row["used_ms"],
        browser=row["browser"],
    )


def _state(row: RowMapping, now: int) -> TokenState:
    if row["revoked_ms"] is not None:
        return TokenState.REVOKED
    ended = row["expires_ms"] is not None and row["expires_ms"] <= now
    return TokenState.EXPIRED if ended else TokenState.LIVE
