"""End what an account or a passkey began on the control page: its sessions, and unused links.

Whoever takes an account or a passkey away from somebody means what it let in as well.
"""

from sqlalchemy import Connection, bindparam, update

from core.store.engine.clock import now_ms
from core.store.engine.notifications import TOKENS, note
from core.store.schema.people_tables import page_links, tokens

_SESSIONS = (
    tokens.c.created_by == bindparam("p_by"),
    tokens.c.browser.is_not(None),
    tokens.c.revoked_ms.is_(None),
    tokens.c.expires_ms > bindparam("p_now"),
)
_SIGN_OUT = update(tokens).where(*_SESSIONS).values(expires_ms=bindparam("p_now"))
_REVOKE = (
    update(tokens).where(*_SESSIONS).values(revoked_ms=bindparam("p_now")).returning(tokens.c.id)
)
_WITHDRAW = (
    update(page_links)
    .where(
        page_links.c.created_by == bindparam("p_by"),
        page_links.c.used_ms.is_(None),
        page_links.c.expires_ms > bindparam("p_now"),
    )
    .values(expires_ms=bindparam("p_now"))
)


def withdraw_links(conn: Connection, by: str) -> None:
    """End the links that ``by`` made and nobody used."""
    conn.execute(_WITHDRAW, {"p_by": by, "p_now": now_ms(conn)})


def sign_out(conn: Connection, by: str) -> None:
    """End what ``by`` began; what was answered there still counts."""
    withdraw_links(conn, by)
    conn.execute(_SIGN_OUT, {"p_by": by, "p_now": now_ms(conn)})
    note(conn, TOKENS)


def revoke(conn: Connection, by: str) -> tuple[str, ...]:
    """End what ``by`` began, for good; return the ids of the sessions, whose votes are to go."""
    withdraw_links(conn, by)
    note(conn, TOKENS)
    return tuple(conn.execute(_REVOKE, {"p_by": by, "p_now": now_ms(conn)}).scalars())
