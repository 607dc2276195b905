"""Keep what an allow of a step-up question was proven with: for which digest, by whom, how."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId, PersonId
from core.store.schema.people_tables import proofs

_REPLACED = ("digest", "reply", "step", "at_ms", "passkey", "public_key")
_RECORD = insert(proofs)
_REPLACE = _RECORD.on_conflict_do_update(
    index_elements=[proofs.c.approval_id, proofs.c.person],
    set_={name: _RECORD.excluded[name] for name in _REPLACED},
)
_OF = select(proofs).where(proofs.c.approval_id == bindparam("p_id")).order_by(proofs.c.at_ms)


@dataclass(frozen=True, slots=True)
class Proof:
    """What a person proved one reply to one plan with, at an epoch ms.

    The code of step ``step``, or what a passkey signed: ``passkey`` is its JSON, ``step`` then 0.
    ``public_key`` is that passkey's, as it was then: it may be forgotten later.
    """

    approval_id: ApprovalId
    person: PersonId
    digest: str
    reply: ApprovalReply
    step: int
    at_ms: int
    passkey: str | None = None
    public_key: str | None = None


def record(conn: Connection, proof: Proof) -> None:
    """Store a proof with its decision or vote; a person's later vote replaces the earlier one."""
    row = {
        "approval_id": proof.approval_id,
        "person": proof.person,
        "digest": proof.digest,
        "reply": proof.reply.value,
        "step": proof.step,
        "at_ms": proof.at_ms,
        "passkey": proof.passkey,
        "public_key": proof.public_key,
    }
    conn.execute(_REPLACE, row)


def of_approval(conn: Connection, approval_id: str) -> tuple[Proof, ...]:
    """Return the proofs that an approval was allowed with, the earliest first."""
    rows = conn.execute(_OF, {"p_id": approval_id}).mappings()
    return tuple(
        Proof(
            ApprovalId(row["approval_id"]),
            PersonId(row["person"]),
            row["digest"],
            ApprovalReply(row["reply"]),
            row["step"],
            row["at_ms"],
            row["passkey"],
            row["public_key"],
        )
        for row in rows
    )


def sum_of(kept: Sequence[Proof]) -> str:
    """Return the SHA-256 over all proofs of an approval, empty for none; the journal binds it.

    It is over a line of canonical JSON for each, ordered by time and person; ``verify.py`` computes
    it again.
    """
    if not kept:
        return ""
    rows = sorted(kept, key=lambda one: (one.at_ms, one.person))
    lines = (
        json.dumps(
            [one.person, one.digest, one.reply, one.step, one.at_ms, one.passkey, one.public_key],
            separators=(",", ":"),
        )
        for one in rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
