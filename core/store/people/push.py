"""Keep browsers that take web push, and what their notifications may answer with.

A subscription lives and dies with the session that it was made in: each read checks the session and
its person again, so whatever ends those ends the push. What a notification answers with is good
once, for one subscription, approval and plan, until the approval's deadline.
"""

import secrets
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, delete, func, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert  # compiles for SQLite as well

from core.model.identity import ApprovalId, PersonId
from core.store.engine.clock import now_ms
from core.store.people.token_text import digest
from core.store.people.tokens import holder_is_revoked
from core.store.schema.people_tables import push_answers, push_keys, push_subscriptions, tokens

MOST: Final = 10
"""Browsers of one person."""
_ANSWER_BYTES: Final = 32
_ID_BYTES: Final = 8
_KEY_ID: Final = "vapid"

_NOW = bindparam("p_now", type_=push_answers.c.expires_ms.type)
_IS_SIGNED_IN = (
    tokens.c.id == push_subscriptions.c.session,
    tokens.c.browser.is_not(None),
    tokens.c.revoked_ms.is_(None),
    tokens.c.expires_ms > _NOW,
)
_LIVE = select(push_subscriptions).join(tokens, _IS_SIGNED_IN[0]).where(*_IS_SIGNED_IN[1:])
_ALL = _LIVE.order_by(push_subscriptions.c.created_ms, push_subscriptions.c.id)
_OF = _ALL.where(push_subscriptions.c.person == bindparam("p_person"))
_ONE = _LIVE.where(push_subscriptions.c.id == bindparam("p_id"))
_KEY = select(push_keys.c.sealed).where(push_keys.c.id == _KEY_ID)
_KEEP_KEY = upsert(push_keys).on_conflict_do_nothing()
_SAME = delete(push_subscriptions).where(
    push_subscriptions.c.endpoint_hash == bindparam("p_endpoint")
)
_FORGET = delete(push_subscriptions).where(push_subscriptions.c.id == bindparam("p_id"))
_FORGET_OWN = _FORGET.where(push_subscriptions.c.person == bindparam("p_person"))
_ENDED = delete(push_subscriptions).where(
    push_subscriptions.c.session.not_in(
        select(tokens.c.id).where(tokens.c.revoked_ms.is_(None), tokens.c.expires_ms > _NOW)
    )
)
_COUNT = (
    select(func.count())
    .select_from(push_subscriptions)
    .where(push_subscriptions.c.person == bindparam("p_person"))
)
_PRUNE = delete(push_answers).where(push_answers.c.expires_ms <= _NOW)
_FOUND = (
    select(push_answers, push_subscriptions.c.session)
    .join(push_subscriptions, push_subscriptions.c.id == push_answers.c.subscription)
    .where(
        push_answers.c.hash == bindparam("p_hash"),
        push_answers.c.expires_ms > _NOW,
        push_subscriptions.c.session == bindparam("p_session"),
    )
)
_USE = (
    delete(push_answers)
    .where(push_answers.c.hash == bindparam("p_hash"))
    .returning(push_answers.c.hash)
)
_USE_OTHERS = delete(push_answers).where(
    push_answers.c.subscription == bindparam("p_subscription"),
    push_answers.c.approval_id == bindparam("p_approval"),
)


@dataclass(frozen=True, slots=True)
class Subscription:
    """A browser that takes push; ``sealed`` is where to send and for which keys."""

    id: str
    session: str
    person: PersonId
    sealed: str = field(repr=False)
    name: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A subscription to keep; ``id`` is from ``new_id``, as what is sealed is sealed for it."""

    id: str
    session: str
    person: str
    endpoint: str = field(repr=False)
    sealed: str = field(repr=False)
    name: str


@dataclass(frozen=True, slots=True)
class Answerable:
    """What a notification is about: the approval, and the plan that it showed."""

    subscription: str
    approval_id: ApprovalId
    digest: str


def new_id() -> str:
    """Draw the id of a subscription."""
    return secrets.token_hex(_ID_BYTES)


def use_of(subscription_id: str) -> str:
    """Return what the keys of a subscription are sealed for."""
    return f"push:{subscription_id}"


def key(conn: Connection) -> str | None:
    """Return the sealed key that signs what is pushed; ``None`` before the first use."""
    found: str | None = conn.execute(_KEY).scalar()
    return found


def keep_key(conn: Connection, sealed: str) -> str:
    """Keep the sealed key, unless there is one already; return the one that counts."""
    conn.execute(_KEEP_KEY, {"id": _KEY_ID, "sealed": sealed})
    return str(conn.execute(_KEY).scalar_one())


def subscribe(conn: Connection, draft: Draft) -> bool:
    """Keep a browser, in place of its earlier subscription; ``False`` if there are too many."""
    now, endpoint = now_ms(conn), digest(draft.endpoint)
    conn.execute(_ENDED, {"p_now": now})
    conn.execute(_SAME, {"p_endpoint": endpoint})
    if conn.execute(_COUNT, {"p_person": draft.person}).scalar_one() >= MOST:
        return False
    row = {
        "id": draft.id,
        "session": draft.session,
        "person": draft.person,
        "endpoint_hash": endpoint,
        "sealed": draft.sealed,
        "name": draft.name,
        "created_ms": now,
    }
    conn.execute(insert(push_subscriptions), row)
    return True


def live(conn: Connection) -> tuple[Subscription, ...]:
    """Return every browser whose session is signed in, and whose person is not revoked."""
    rows = conn.execute(_ALL, {"p_now": now_ms(conn)}).mappings()
    return tuple(_subscription(row) for row in rows if _counts(conn, row))


def of_person(conn: Connection, person: str) -> tuple[Subscription, ...]:
    """Return the browsers of a person, as ``live`` does."""
    rows = conn.execute(_OF, {"p_now": now_ms(conn), "p_person": person}).mappings()
    return tuple(_subscription(row) for row in rows if _counts(conn, row))


def get(conn: Connection, subscription_id: str) -> Subscription | None:
    """Return a browser, ``None`` where nothing may be pushed to it any more."""
    values = {"p_now": now_ms(conn), "p_id": subscription_id}
    row = conn.execute(_ONE, values).mappings().first()
    return _subscription(row) if row is not None and _counts(conn, row) else None


def remove(conn: Connection, subscription_id: str, person: str | None = None) -> bool:
    """Forget a browser; ``person``: only one of this person."""
    if person is None:
        return conn.execute(_FORGET, {"p_id": subscription_id}).rowcount == 1
    return conn.execute(_FORGET_OWN, {"p_id": subscription_id, "p_person": person}).rowcount == 1


def draw(conn: Connection, about: Answerable, expires_ms: int) -> str:
    """Draw what one notification may answer with, until an epoch ms."""
    text = secrets.token_urlsafe(_ANSWER_BYTES)
    conn.execute(_PRUNE, {"p_now": now_ms(conn)})
    row = {
        "hash": digest(text),
        "subscription": about.subscription,
        "approval_id": about.approval_id,
        "digest": about.digest,
        "expires_ms": expires_ms,
    }
    conn.execute(insert(push_answers), row)
    return text


def use(conn: Connection, text: str, session: str) -> Answerable | None:
    """Use up what a notification answers with; ``None`` if it is not this session's, or was used.

    Whatever else was drawn for this browser and approval is used up with it.
    """
    values = {"p_hash": digest(text), "p_session": session, "p_now": now_ms(conn)}
    row = conn.execute(_FOUND, values).mappings().first()
    if row is None or get(conn, row["subscription"]) is None:
        return None
    if conn.execute(_USE, {"p_hash": row["hash"]}).first() is None:
        return None
    others = {"p_subscription": row["subscription"], "p_approval": row["approval_id"]}
    conn.execute(_USE_OTHERS, others)
    return Answerable(row["subscription"], ApprovalId(row["approval_id"]), row["digest"])


def _counts(conn: Connection, row: RowMapping) -> bool:
    return not holder_is_revoked(conn, row["session"], row["person"])


def _subscription(row: RowMapping) -> Subscription:
    return Subscription(**{name: row[name] for name in Subscription.__slots__})
