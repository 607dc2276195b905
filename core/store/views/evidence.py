"""Return what a decision rests on: what was shown of a question, and how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from core.model.approval import Approval, Resolution
from core.model.evidence import Showing
from core.model.identity import ApprovalId
from core.store.approvals import proofs, queries
from core.store.approvals.proofs import Proof
from core.store.outbox.showings import of_approval, texts_of


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was shown of a question, the texts by their hash, and how it ended."""

    shown: tuple[Showing, ...]
    texts: Mapping[str, str]
    resolution: Resolution | None


def evidence_of(conn: Connection, approval_id: ApprovalId) -> Evidence:
    """Return all that is on record of a question; nothing where it is not known."""
    approval = queries.get(conn, approval_id)
    end = None if approval is None else approval.resolution
    return Evidence(of_approval(conn, approval_id), texts_of(conn, approval_id), end)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An approval with all that was shown of it, the texts by their hash, and what proved it."""

    approval: Approval
    shown: tuple[Showing, ...]
    texts: Mapping[str, str]
    proofs: tuple[Proof, ...] = ()


def recorded(conn: Connection, ids: Sequence[str]) -> tuple[Recorded, ...]:
    """Return what is on record of these approvals; those that are forgotten are left out."""
    known = (queries.get(conn, ApprovalId(one)) for one in ids)
    return tuple(
        Recorded(
            one,
            of_approval(conn, one.id),
            texts_of(conn, one.id),
            proofs.of_approval(conn, one.id),
        )
        for one in known
        if one
    )
