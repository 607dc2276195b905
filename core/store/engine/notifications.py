"""Queue wake-ups inside a transaction; they go out after its commit and may be lost."""

from sqlalchemy import Connection

from core.store.engine.context import context_of

RESYNC = "resync"
"""The note that says: wake-ups were lost, look at everything once."""
DEADLINE = "deadline"
OUTBOX = "outbox"
TOKENS = "tokens"


def note(conn: Connection, words: str) -> None:
    """Queue one wake-up: ``approval:<id>``, ``run:<id>``, ``session:<key>``, ``outbox``.

    Also ``deadline``: the set of deadlines changed; ``tokens``: some may let nobody in any more.

    Listeners hear it in the event loop once the transaction is on disk, never before.
    """
    context_of(conn).notes[words] = None  # a dict: each wake-up once, in order


def note_approval(conn: Connection, approval_id: str) -> None:
    """Wake who waits for this approval."""
    note(conn, f"approval:{approval_id}")


def note_run(conn: Connection, run_id: str) -> None:
    """Wake who waits for this run."""
    note(conn, f"run:{run_id}")


def note_session(conn: Connection, session: str) -> None:
    """Wake who drains this session's events."""
    note(conn, f"session:{session}")


def take_notes(conn: Connection) -> tuple[str, ...]:
    """Remove and return what the operation queued (runner only)."""
    context = context_of(conn)
    notes, context.notes = tuple(context.notes), {}
    return notes
