"""Give an operation what its runner knows: the clock, the process, the room on disk."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from sqlalchemy import Connection

from core.errors import StoreError, StoreFull

_KEY: Final = "sayso"


class Asked(Protocol):
    """A clock that is asked over the connection."""

    def now(self, conn: Connection) -> int:
        """Return the time (epoch ms)."""


@dataclass(slots=True)
class Context:
    """What a runner attaches to a connection.

    ``boot`` names this open store. ``alone``: no other process can be using the database (the
    lock on a SQLite file proves it). ``clock``: epoch ms, or ``None`` to ask the database, by
    ``followed`` where its answer is checked.
    ``full``: only the reserve for denials is left on the disk. ``journal`` is the id of the journal
    that records what is written here, ``None`` where none does.
    """

    boot: str
    alone: bool
    clock: Callable[[], int] | None = None
    followed: Asked | None = None
    full: bool = False
    journal: str | None = None
    notes: dict[str, None] = field(default_factory=dict)


def attach(conn: Connection, context: Context) -> None:
    """Give operations on this connection their context (runner only)."""
    conn.info[_KEY] = context


def context_of(conn: Connection) -> Context:
    """Return what the runner attached.

    Raises:
        StoreError: the connection is not a store's; operations run through ``Store`` only.
    """
    context = conn.info.get(_KEY)
    if not isinstance(context, Context):
        raise StoreError("An operation was called outside Store.write and Store.read.")
    return context


def require_space(conn: Connection) -> None:
    """Refuse to begin anything while only the reserve for denials is left.

    Raises:
        StoreFull: the disk is full; questions, allows and starts wait until there is space.
    """
    if context_of(conn).full:
        raise StoreFull
