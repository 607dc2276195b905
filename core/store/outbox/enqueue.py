"""Enqueue work in the outbox, inside the transaction that causes it."""

from collections.abc import Sequence

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import ApprovalId, Target
from core.store.engine.clock import now_ms
from core.store.engine.notifications import OUTBOX, note
from core.store.schema.json_columns import dump
from core.store.schema.records import PromptDraft
from core.store.schema.states import OutboxKind, OutboxState
from core.store.schema.tables import outbox

_INSERT_PROMPTS = insert(outbox)
_INSERT = insert(outbox).on_conflict_do_nothing().returning(outbox.c.id)


def enqueue_prompts(
    conn: Connection, approval_id: ApprovalId, prompts: Sequence[PromptDraft], now: int
) -> None:
    """Enqueue the prompts of an approval whose clock this transaction starts at ``now``.

    Those of later steps are there from the beginning and become due in their time, so a restart
    changes nothing.
    """
    rows = [
        item_row(OutboxKind.PROMPT, approval_id, prompt, f"prompt:{approval_id}:{number}", now)
        for number, prompt in enumerate(prompts)
    ]
    if rows:
        conn.execute(_INSERT_PROMPTS, rows)
        note(conn, OUTBOX)


def enqueue_notice(
    conn: Connection, approval_id: ApprovalId | None, target: Target, payload: str, idem_key: str
) -> bool:
    """Enqueue words that ask for nothing; the same ``idem_key`` enqueues once, ever."""
    draft = PromptDraft(target, payload)
    row = item_row(OutboxKind.NOTICE, approval_id, draft, f"notice:{idem_key}", now_ms(conn))
    if conn.execute(_INSERT, row).first() is None:
        return False
    note(conn, OUTBOX)
    return True


def item_row(
    kind: OutboxKind, approval_id: str | None, draft: PromptDraft, key: str, now: int
) -> dict[str, object]:
    """Return the columns of a fresh item; ``key`` makes it unique for ever."""
    return {
        "approval_id": approval_id,
        "channel": draft.target.channel,
        "target": dump(draft.target),
        "step": draft.step,
        "kind": kind.value,
        "payload": draft.payload,
        "state": OutboxState.READY.value,
        "attempts": 0,
        "due_ms": now + draft.after_ms,
        "uncertain": 0,
        "idem_key": key,
        "created_ms": now,
    }
