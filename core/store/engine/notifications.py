"""Queue wake-ups inside a transaction; they go out after its commit and may be lost."""

from sqlalchemy import Connection

from core.store.engine.context import context_of

RESYNC = "resync"
"""The note that says: wake-ups were lost, check everything once."""
DEADLINE = "deadline"
OUTBOX = "outbox"
TOKENS = "tokens"


def note(conn: Connection, words: str) -> None:
    """Queue one wake-up: ``approval:<id>``, ``run:<id>``, ``session:<key>``, ``outbox``.

    Also ``deadline``: the set of deadlines changed; ``tokens``: some may no longer let anybody in.

    Listeners get it in the event loop once the transaction is on disk, never before.
    """
    context_of(conn).notes[words] = None  # a dict: each wake-up once, in order


def note_approval(conn: Connection, approval_id: str) -> None:
    """Wake whoever waits for this approval."""
    note(conn, f"approval:{approval_id}")


def note_run(conn: Connection, run_id: str) -> None:
    """Wake whoever waits for this run."""
    note(conn, f"run:{run_id}")


def note_session(conn: Connection, session: str) -> None:
    """Wake whoever drains this session's events."""
    note(conn, f"session:{session}")


def take_notes(conn: Connection) -> tuple[str, ...]:
    """Remove and return what the operation queued (runner only)."""
    context = context_of(conn)
    notes, context.notes = tuple(context.notes), {}
    return notes
