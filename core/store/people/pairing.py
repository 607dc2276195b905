"""Link an account to a person by a code that is shown once and used once.

Only the code's SHA-256 is stored. A code has 40 random bits, lives ten minutes, and each person has
at most one; five wrong codes from one account close its tries for ten minutes.
"""

import hashlib
import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, bindparam, case, delete, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import Actor, PersonId
from core.store.engine.clock import now_ms
from core.store.people import people
from core.store.schema.json_columns import plain
from core.store.schema.people_tables import accounts, pair_tries, pairings

CODE_LENGTH: Final = 8
CODE_LIFE_MS: Final = 10 * 60_000
MOST_TRIES: Final = 5
_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LOOK_ALIKES: Final = str.maketrans("ILO", "110", "- ")

_CLOSE = delete(pairings).where(
    (pairings.c.person == bindparam("p_person")) | (pairings.c.expires_ms <= bindparam("p_now"))
)
_OPEN = insert(pairings)
_TAKE = (
    delete(pairings)
    .where(pairings.c.code_hash == bindparam("p_hash"), pairings.c.expires_ms > bindparam("p_now"))
    .returning(pairings.c.person)
)
_LINK = insert(accounts).on_conflict_do_nothing().returning(accounts.c.person)
_LINKED = select(accounts.c.person).where(
    accounts.c.channel == bindparam("p_channel"), accounts.c.account == bindparam("p_account")
)
_now = bindparam("p_now", type_=pair_tries.c.since_ms.type)
_is_old = pair_tries.c.since_ms <= _now - CODE_LIFE_MS
_COUNT_TRY = (
    insert(pair_tries)
    .values(channel=bindparam("p_channel"), account=bindparam("p_account"), tries=1, since_ms=_now)
    .on_conflict_do_update(
        index_elements=[pair_tries.c.channel, pair_tries.c.account],
        set_={
            "tries": case((_is_old, 1), else_=pair_tries.c.tries + 1),
            "since_ms": case((_is_old, _now), else_=pair_tries.c.since_ms),
        },
    )
    .returning(pair_tries.c.tries)
)
_FORGET_TRIES = delete(pair_tries).where(
    (
        (pair_tries.c.channel == bindparam("p_channel"))
        & (pair_tries.c.account == bindparam("p_account"))
    )
    | _is_old
)


class PairOutcome(StrEnum):
    """What became of a pairing code."""

    LINKED = "linked"
    ALREADY = "already"
    TAKEN = "taken"
    WRONG = "wrong"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class PairingCode:
    """A code to type on the account to link, and when it ends (epoch ms)."""

    code: str
    expires_ms: int


@dataclass(frozen=True, slots=True)
class Paired:
    """What became of a code; ``person`` is whose account it is now, if anybody's."""

    outcome: PairOutcome
    person: PersonId | None = None


def draw_code() -> str:
    """Return a new code: 40 random bits as eight letters and digits that cannot be confused."""
    return "".join(secrets.choice(_CROCKFORD) for _ in range(CODE_LENGTH))


def begin(conn: Connection, name: str) -> PairingCode | None:
    """Draw a code for a person; an earlier one ends. ``None`` if there is no such person."""
    if not people.exists(conn, name):
        return None
    now = now_ms(conn)
    conn.execute(_CLOSE, {"p_person": name, "p_now": now})
    conn.execute(_FORGET_TRIES, {"p_channel": "", "p_account": "", "p_now": now})  # the old ones
    code = draw_code()
    expires = now + CODE_LIFE_MS
    conn.execute(_OPEN, {"code_hash": _hash(code), "person": name, "expires_ms": expires})
    return PairingCode(code, expires)


def pair(conn: Connection, code: str, actor: Actor) -> Paired:
    """Link the actor's account to the person whose code this is; the code is used up.

    An account that somebody has already stays where it is, and the code is not used up.
    """
    now, keys = now_ms(conn), {"p_channel": actor.channel, "p_account": actor.account}
    if conn.execute(_COUNT_TRY, keys | {"p_now": now}).scalar_one() > MOST_TRIES:
        return Paired(PairOutcome.BLOCKED)
    owner = conn.execute(_LINKED, keys).scalar()
    if owner is not None:
        return Paired(PairOutcome.ALREADY, PersonId(owner))
    person = conn.execute(_TAKE, {"p_hash": _hash(code), "p_now": now}).scalar()
    if person is None:
        return Paired(PairOutcome.WRONG)
    row = {
        "channel": actor.channel,
        "account": actor.account,
        "person": person,
        "name": plain(actor.name),
        "linked_ms": now,
    }
    if conn.execute(_LINK, row).first() is None:
        return Paired(PairOutcome.TAKEN)
    conn.execute(_FORGET_TRIES, keys | {"p_now": now})
    return Paired(PairOutcome.LINKED, PersonId(person))


def _hash(code: str) -> str:
    """Return the SHA-256 of what a person may type: any case, I and L for 1, O for 0."""
    return hashlib.sha256(code.upper().translate(_LOOK_ALIKES).encode()).hexdigest()
