"""Keep the passkeys of people, and the challenges that they are to sign, each good once.

A passkey's count only grows: the update that takes a new one is guarded, so of two answers with one
count, an authenticator's and its copy's, at most one counts. A passkey that does not count says 0
for ever; its challenge is still good only once.
"""

import secrets
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert  # compiles for SQLite as well

from core.model.identity import PersonId
from core.store.engine.clock import now_ms
from core.store.people import page_sessions
from core.store.people.token_text import digest
from core.store.schema.people_tables import passkey_challenges, passkeys

CHALLENGE_MS: Final = 5 * 60_000
"""How long a challenge may wait for its signature."""
_NONCE_BYTES: Final = 16
_NAMED: Final = 8
"""Characters of its id by which the sessions of a passkey name it."""

_ID = bindparam("p_id", type_=passkeys.c.id.type)
_NOW = bindparam("p_now", type_=passkeys.c.used_ms.type)
_ONE = select(passkeys).where(passkeys.c.id == _ID)
_OF = select(passkeys).where(passkeys.c.person == bindparam("p_person")).order_by(passkeys.c.id)
_ALL = select(passkeys).order_by(passkeys.c.person, passkeys.c.id)
_FORGET = delete(passkeys).where(passkeys.c.id == _ID).returning(passkeys.c.person)
_SPEND = (
    update(passkeys)
    .where(
        passkeys.c.id == _ID,
        passkeys.c.person == bindparam("p_person"),
        (passkeys.c.sign_count < bindparam("p_count", type_=passkeys.c.sign_count.type))
        | ((passkeys.c.sign_count == 0) & (bindparam("p_count") == 0)),
    )
    .values(sign_count=bindparam("p_count"), used_ms=_NOW)
    .returning(passkeys.c.id)
)
_PRUNE = delete(passkey_challenges).where(passkey_challenges.c.expires_ms <= _NOW)
_IS_OPEN = (
    passkey_challenges.c.hash == bindparam("p_hash"),
    passkey_challenges.c.about == bindparam("p_about"),
    passkey_challenges.c.expires_ms > _NOW,
)
_LOOK = select(passkey_challenges.c.hash).where(*_IS_OPEN)
_USE = delete(passkey_challenges).where(*_IS_OPEN).returning(passkey_challenges.c.hash)


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey of a person; id and public key in URL-safe base64, times in epoch ms."""

    id: str
    person: PersonId
    public_key: str
    sign_count: int
    name: str
    created_by: str
    created_ms: int
    used_ms: int | None


@dataclass(frozen=True, slots=True)
class PasskeySpend:
    """What a decision uses up: the challenge of ``nonce``, and the passkey's count before this one.

    ``about`` is what the challenge was drawn for, ``proof`` the JSON that is kept.
    """

    id: str
    count: int
    nonce: str
    about: str
    proof: str = field(repr=False)


def about_answer(approval: str, person: str, reply: str, limit: str) -> str:
    """Return what a challenge that is to allow something is drawn for."""
    return f"allow:{approval}:{person}:{reply}:{limit}"


def add(
    conn: Connection, person: str, key_id: str, public_key: str, count: int, name: str, by: str
) -> bool:
    """Give a person a passkey; ``False`` if this one is known already."""
    row = {
        "id": key_id,
        "person": person,
        "public_key": public_key,
        "sign_count": count,
        "name": name,
        "created_by": by,
        "created_ms": now_ms(conn),
    }
    made = upsert(passkeys).on_conflict_do_nothing().returning(passkeys.c.id)
    return conn.execute(made, row).first() is not None


def get(conn: Connection, key_id: str) -> Passkey | None:
    """Return a passkey."""
    row = conn.execute(_ONE, {"p_id": key_id}).mappings().first()
    return None if row is None else _passkey(row)


def of_person(conn: Connection, person: str) -> tuple[Passkey, ...]:
    """Return a person's passkeys."""
    return tuple(_passkey(row) for row in conn.execute(_OF, {"p_person": person}).mappings())


def listed(conn: Connection) -> tuple[Passkey, ...]:
    """Return everybody's passkeys."""
    return tuple(_passkey(row) for row in conn.execute(_ALL).mappings())


def forget(conn: Connection, key_id: str) -> PersonId | None:
    """Remove a passkey and end the sessions that it began; return whose it was."""
    found = conn.execute(_FORGET, {"p_id": key_id}).scalar()
    if found is None:
        return None
    page_sessions.sign_out(conn, maker(key_id))
    return PersonId(found)


def maker(key_id: str) -> str:
    """Return how a passkey is named as the maker of a session."""
    return f"passkey:{key_id[:_NAMED]}"


def draw(conn: Connection, about: str) -> str:
    """Draw the nonce of a challenge for one thing; it is good once, for five minutes."""
    nonce, now = secrets.token_hex(_NONCE_BYTES), now_ms(conn)
    conn.execute(_PRUNE, {"p_now": now})
    row = {"hash": digest(nonce), "about": about, "expires_ms": now + CHALLENGE_MS}
    conn.execute(insert(passkey_challenges), row)
    return nonce


def is_open(conn: Connection, nonce: str, about: str) -> bool:
    """Return whether a challenge that was drawn for this can still be used."""
    values = {"p_hash": digest(nonce), "p_about": about, "p_now": now_ms(conn)}
    return conn.execute(_LOOK, values).first() is not None


def use(conn: Connection, nonce: str, about: str) -> bool:
    """Use up a challenge; ``False`` if it was, is too old, or was drawn for something else."""
    values = {"p_hash": digest(nonce), "p_about": about, "p_now": now_ms(conn)}
    return conn.execute(_USE, values).first() is not None


def spend(conn: Connection, person: str, spent: PasskeySpend) -> bool:
    """Use up a challenge and take the passkey's new count; ``False`` if either cannot be had."""
    if not use(conn, spent.nonce, spent.about):
        return False
    return count(conn, person, spent.id, spent.count)


def count(conn: Connection, person: str, key_id: str, new: int) -> bool:
    """Take a passkey's new count; ``False`` if it is not above the last one."""
    values = {"p_id": key_id, "p_person": person, "p_count": new, "p_now": now_ms(conn)}
    return conn.execute(_SPEND, values).first() is not None


def _passkey(row: RowMapping) -> Passkey:
    return Passkey(**{name: row[name] for name in Passkey.__slots__})
