"""Keep the secrets of people's authenticator apps, one per person, and use up each code once.

A code counts by its step (30 seconds), which only grows: the update that spends it is guarded, so
of two answers with one code at most one counts. Tries are counted before a code is compared.
Secrets are sealed (``core.trust.sealing``) by the caller that brings them here, and opened by the
one that compares.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam, case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.errors import BadRequest
from core.model.identity import PersonId
from core.store.engine.clock import now_ms
from core.store.people import people
from core.store.schema.people_tables import totp_keys

MOST_TRIES: Final = 5
TRIES_MS: Final = 15 * 60_000
"""After ``MOST_TRIES`` codes within this time no code of the person is checked."""

SEALED: Final = "sealed:"
"""How a sealed secret begins."""
_PERSON = totp_keys.c.person == bindparam("p_person")
_KEY = select(totp_keys.c.person, totp_keys.c.secret, totp_keys.c.last_step).where(_PERSON)
_ENROL = insert(totp_keys)
_IN_CLEAR = (
    select(totp_keys.c.person, totp_keys.c.secret)
    .where(func.substr(totp_keys.c.secret, 1, len(SEALED)) != SEALED)
    .order_by(totp_keys.c.person)
)
_SEAL = update(totp_keys).where(_PERSON).values(secret=bindparam("p_secret"))
_REPLACE = _ENROL.on_conflict_do_update(
    index_elements=[totp_keys.c.person],
    set_={
        name: _ENROL.excluded[name]
        for name in ("secret", "created_by", "created_ms", "last_step", "tries", "since_ms")
    },
)
_REMOVE = delete(totp_keys).where(_PERSON).returning(totp_keys.c.person)
_now = bindparam("p_now", type_=totp_keys.c.since_ms.type)
_is_old = totp_keys.c.since_ms <= _now - TRIES_MS
_TRY = (
    update(totp_keys)
    .where(_PERSON, _is_old | (totp_keys.c.tries < MOST_TRIES))
    .values(
        tries=case((_is_old, 1), else_=totp_keys.c.tries + 1),
        since_ms=case((_is_old, _now), else_=totp_keys.c.since_ms),
    )
    .returning(totp_keys.c.person)
)
_SPEND = (
    update(totp_keys)
    .where(_PERSON, totp_keys.c.last_step < bindparam("p_step"))
    .values(last_step=bindparam("p_step"), tries=0)
    .returning(totp_keys.c.person)
)


@dataclass(frozen=True, slots=True)
class TotpKey:
    """The app of a person; ``secret`` is sealed, codes up to ``last_step`` are used."""

    person: PersonId
    secret: str = field(repr=False)
    last_step: int


def use_of(person: str) -> str:
    """Return what a secret is sealed for, so that one of another's row does not open."""
    return f"totp:{person}"


def enrol(conn: Connection, name: str, secret: str, by: str) -> None:
    """Give a person an app, by its sealed secret; an earlier one ends.

    Raises:
        BadRequest: there is no such person.
    """
    if not people.exists(conn, name):
        raise BadRequest(f"No person is named {name!r}. Add one: sayso people add NAME")
    now = now_ms(conn)
    row = {"person": name, "secret": secret, "created_by": by, "created_ms": now}
    conn.execute(_REPLACE, {**row, "last_step": 0, "tries": 0, "since_ms": now})


def remove(conn: Connection, name: str) -> bool:
    """Forget a person's app; ``False`` if there was none."""
    return conn.execute(_REMOVE, {"p_person": name}).first() is not None


def key_of(conn: Connection, person: str) -> TotpKey | None:
    """Return a person's app, or ``None``."""
    row = conn.execute(_KEY, {"p_person": person}).first()
    return None if row is None else TotpKey(PersonId(row.person), row.secret, row.last_step)


def seal_all(conn: Connection, seal: Callable[[str, str], str]) -> int:
    """Seal the secrets that an earlier Sayso left in the clear; return how many there were."""
    rows = conn.execute(_IN_CLEAR).all()
    for row in rows:
        sealed = seal(row.secret, use_of(row.person))
        conn.execute(_SEAL, {"p_person": row.person, "p_secret": sealed})
    return len(rows)


def take_try(conn: Connection, person: str) -> int | None:
    """Count one try; return the database's epoch ms, or ``None`` where there were too many."""
    now = now_ms(conn)
    taken = conn.execute(_TRY, {"p_person": person, "p_now": now}).first()
    return None if taken is None else now


def spend(conn: Connection, person: str, step: int) -> bool:
    """Use up a code; ``False`` if it, or a later one, was used before."""
    return conn.execute(_SPEND, {"p_person": person, "p_step": step}).first() is not None
