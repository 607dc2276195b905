"""Store people: their accounts, and whose answers no longer count.

An account belongs to one person at most; an account without a link is its own person
``channel:account``. Revoking writes a row of ``people`` under the person's name, or under
``channel:account`` for a single account, so both are found by one statement inside the
transaction that takes an answer.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.errors import BadRequest
from core.model.identity import API_CHANNEL, PERSON_NAME, Actor, PersonId, Requester
from core.store.engine.clock import now_ms
from core.store.engine.notifications import TOKENS, note
from core.store.people import page_sessions
from core.store.schema.json_columns import dump
from core.store.schema.people_tables import accounts, pairings, people
from core.store.schema.tables import questions

_linked = (
    select(accounts.c.person)
    .where(
        accounts.c.channel == bindparam("p_channel"), accounts.c.account == bindparam("p_account")
    )
    .scalar_subquery()
)
_revoked = (
    select(func.count())
    .select_from(people)
    .where(
        people.c.revoked_ms.is_not(None),
        (people.c.id == bindparam("p_ref")) | (people.c.id == _linked),
    )
    .scalar_subquery()
)
_PERSON_OF = select(_linked.label("person"), _revoked.label("revoked"))
_ADD = (
    insert(people)
    .values(id=bindparam("p_id"), created_ms=bindparam("p_now"))
    .on_conflict_do_nothing()
    .returning(people.c.id)
)
_KNOWN = select(people.c.id).where(people.c.id == bindparam("p_id"))
_REVOKED_MS = select(people.c.revoked_ms).where(people.c.id == bindparam("p_id"))
_UNLINK = (
    delete(accounts)
    .where(
        accounts.c.channel == bindparam("p_channel"), accounts.c.account == bindparam("p_account")
    )
    .returning(accounts.c.person)
)
_REVOKE_PERSON = (
    update(people)
    .where(people.c.id == bindparam("p_id"))
    .values(revoked_ms=func.coalesce(people.c.revoked_ms, bindparam("p_now")))
    .returning(people.c.id)
)
_REVOKE_ACCOUNT = (
    insert(people)
    .values(id=bindparam("p_id"), created_ms=bindparam("p_now"), revoked_ms=bindparam("p_now"))
    .on_conflict_do_update(
        index_elements=[people.c.id],
        set_={"revoked_ms": func.coalesce(people.c.revoked_ms, bindparam("p_now"))},
    )
    .returning(people.c.id)
)
_RESTORE = (
    update(people)
    .where(people.c.id == bindparam("p_id"), people.c.revoked_ms.is_not(None))
    .values(revoked_ms=None)
    .returning(people.c.id)
)
_CLOSE_PAIRINGS = delete(pairings).where(pairings.c.person == bindparam("p_id"))
_PEOPLE = select(people.c.id, people.c.revoked_ms).order_by(people.c.id)
_ACCOUNTS = select(accounts.c.channel, accounts.c.account, accounts.c.person, accounts.c.name)
_ACCOUNTS_OF = select(accounts.c.channel, accounts.c.account).where(
    accounts.c.person == bindparam("p_person")
)
_HAS_ASKED = (
    select(questions.c.id).where(questions.c.requester == bindparam("p_requester")).limit(1)
)


@dataclass(frozen=True, slots=True)
class KnownAs:
    """Whose account it is, and whether the person or the account itself is revoked."""

    person: PersonId
    revoked: bool


@dataclass(frozen=True, slots=True)
class Account:
    """One account of a person; the name is what the platform showed when it was linked."""

    channel: str
    account: str
    name: str
    revoked: bool


@dataclass(frozen=True, slots=True)
class Person:
    """A named person with the linked accounts, or a single revoked account without a person."""

    id: PersonId
    revoked: bool
    accounts: tuple[Account, ...]


def add(conn: Connection, name: str) -> bool:
    """Add a person; ``False`` if one has this name already.

    Raises:
        BadRequest: the name is not 1 to 32 lowercase letters, digits, dashes or underscores.
    """
    if PERSON_NAME.fullmatch(name) is None:
        raise BadRequest(
            f"{name!r} is not a valid name for a person: use 1 to 32 lowercase letters, digits, "
            "dashes or underscores. Accounts such as telegram:42 are linked by `sayso people "
            "pair`."
        )
    return conn.execute(_ADD, {"p_id": name, "p_now": now_ms(conn)}).first() is not None


def exists(conn: Connection, name: str) -> bool:
    """Return whether a person has this name."""
    return conn.execute(_KNOWN, {"p_id": name}).first() is not None


def is_revoked(conn: Connection, name: str) -> bool:
    """Return whether the person with this name is revoked, or does not exist."""
    row = conn.execute(_REVOKED_MS, {"p_id": name}).first()
    return row is None or row.revoked_ms is not None


def person_of(conn: Connection, channel: str, account: str) -> KnownAs:
    """Return whose account this is; without a link it is its own person ``channel:account``."""
    ref = f"{channel}:{account}"
    keys = {"p_channel": channel, "p_account": account, "p_ref": ref}
    row = conn.execute(_PERSON_OF, keys).one()
    return KnownAs(PersonId(row.person or ref), bool(row.revoked))


def accounts_of(conn: Connection, person: PersonId) -> tuple[str, ...]:
    """Return the linked accounts of a person, each with its channel."""
    rows = conn.execute(_ACCOUNTS_OF, {"p_person": person})
    return tuple(f"{row.channel}:{row.account}" for row in rows)


def known_as(conn: Connection, actor: Actor) -> KnownAs:
    """Return whose account an actor uses."""
    return person_of(conn, actor.channel, actor.account)


def unlink(conn: Connection, channel: str, account: str) -> PersonId | None:
    """Unlink an account from its person; return whose it was, ``None`` if it was nobody's.

    Where the account signed the person in to the control page, that ends.
    """
    page_sessions.sign_out(conn, f"{channel}:{account}")
    found = conn.execute(_UNLINK, {"p_channel": channel, "p_account": account}).scalar()
    return None if found is None else PersonId(found)


def revoke(conn: Connection, who: str) -> bool:
    """Let the answers of a person, or of one account ``telegram:42``, no longer count.

    An account may be one that nobody has linked. What an account began on the control page ends
    with it, and no longer counts. ``False`` if no person has this name.
    """
    if ":" in who:
        for session in page_sessions.revoke(conn, who):
            conn.execute(
                _REVOKE_ACCOUNT, {"p_id": f"{API_CHANNEL}:{session}", "p_now": now_ms(conn)}
            )
    known = {"p_id": who, "p_now": now_ms(conn)}
    conn.execute(_CLOSE_PAIRINGS, {"p_id": who})
    note(conn, TOKENS)
    return (
        conn.execute(_REVOKE_ACCOUNT if ":" in who else _REVOKE_PERSON, known).first() is not None
    )


def restore(conn: Connection, who: str) -> bool:
    """Let the answers of a person or of one account count again; ``False`` if they did."""
    return conn.execute(_RESTORE, {"p_id": who}).first() is not None


def listed(conn: Connection) -> tuple[Person, ...]:
    """Return every person with the linked accounts, and every account that alone is revoked."""
    revoked = {row.id: row.revoked_ms is not None for row in conn.execute(_PEOPLE)}
    linked: dict[str, list[Account]] = {}
    refs: set[str] = set()
    for row in conn.execute(_ACCOUNTS.order_by(accounts.c.channel, accounts.c.account)):
        ref = f"{row.channel}:{row.account}"
        refs.add(ref)
        account = Account(row.channel, row.account, row.name, revoked.get(ref, False))
        linked.setdefault(row.person, []).append(account)
    return tuple(
        Person(PersonId(name), gone, tuple(linked.get(name, ())))
        for name, gone in revoked.items()
        if ":" not in name or (gone and name not in refs)
    )


def has_asked(conn: Connection, requester: Requester) -> bool:
    """Return whether this very requester, kernel session included, has ever had a question."""
    return conn.execute(_HAS_ASKED, {"p_requester": dump(requester)}).first() is not None
