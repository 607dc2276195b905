"""Find approvals: by id, by the code that people type, pending ones, and past ones."""

from collections.abc import Collection
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    bindparam,
    func,
    or_,
    select,
    text,
    true,
    tuple_,
)

from core.errors import StoreError
from core.model.access import VisibleAgents
from core.model.approval import (
    Approval,
    ApprovalReply,
    ApprovalState,
    GrantTerms,
    Resolution,
    Vote,
)
from core.model.command import ExecPlan
from core.model.decision import DenialReason, Evaluation
from core.model.identity import CODE_LENGTH, Actor, AgentId, ApprovalId, Requester, Target
from core.store.approvals import votes
from core.store.engine.context import context_of
from core.store.schema.json_columns import load
from core.store.schema.tables import IS_PENDING, approvals, decisions, questions

SHORTEST_PREFIX: Final = 4
_MOST_MATCHES: Final = 10
_LOOK_ALIKES: Final = str.maketrans("ilo", "110")  # Crockford base32: I and L read 1, O reads 0
_LAST: Final = "z" * CODE_LENGTH

_twin = approvals.alias("twin")
_ASKED = (
    select(func.count() + 1)
    .where(text("twin.state = 'pending'"), _twin.c.behind == approvals.c.id)
    .scalar_subquery()
)
_APPROVALS: Select[tuple[object, ...]] = select(
    approvals.c.id,
    approvals.c.state,
    questions.c.plan,
    questions.c.evaluation,
    questions.c.requester,
    questions.c.origin,
    questions.c.step_up,
    approvals.c.created_ms,
    approvals.c.deadline_ms,
    approvals.c.quorum,
    approvals.c.delivered_ms,
    approvals.c.behind,
    _ASKED.label("asked"),
    decisions.c.reply,
    decisions.c.terms,
    decisions.c.reason,
    decisions.c.channel,
    decisions.c.account,
    decisions.c.name,
    decisions.c.note,
    decisions.c.at_ms,
).select_from(
    approvals.join(questions, questions.c.id == approvals.c.id).outerjoin(
        decisions, decisions.c.approval_id == approvals.c.id
    )
)
_BY_ID = _APPROVALS.where(approvals.c.id == bindparam("p_id"))
_BY_CODE = _APPROVALS.where(approvals.c.code == bindparam("p_code"))
_BY_PREFIX = (
    _APPROVALS.where(approvals.c.code.between(bindparam("p_low"), bindparam("p_high")), IS_PENDING)
    .order_by(approvals.c.id)
    .limit(_MOST_MATCHES)
)
_after = approvals.alias("after")
_PENDING = (
    _APPROVALS.where(IS_PENDING)
    .order_by(approvals.c.deadline_ms, approvals.c.id)
    .limit(bindparam("p_limit"))
)
_PENDING_AFTER = _PENDING.where(
    tuple_(approvals.c.deadline_ms, approvals.c.id)
    > select(_after.c.deadline_ms, _after.c.id)
    .where(_after.c.id == bindparam("p_after"))
    .scalar_subquery()
)
_OWED = (
    _APPROVALS.where(decisions.c.owed == 1).order_by(decisions.c.at_ms).limit(bindparam("p_limit"))
)
_OF_AGENTS = (
    select(approvals.c.id, questions.c.plan)
    .join(questions, questions.c.id == approvals.c.id)
    # Inside a JSON string the quotes would be escaped.
    .where(IS_PENDING, questions.c.plan.contains('"part":{'))
)

_OF_JOURNAL = select(approvals.c.id).where(
    approvals.c.id.in_(bindparam("p_ids", expanding=True)),
    or_(approvals.c.journal == bindparam("p_journal"), approvals.c.journal.is_(None)),
)


def get(conn: Connection, approval_id: ApprovalId) -> Approval | None:
    """Return the approval with this id, with its resolution where it has ended."""
    row = conn.execute(_BY_ID, {"p_id": approval_id}).mappings().first()
    return None if row is None else _approval(conn, row)


def existing(conn: Connection, approval_id: ApprovalId) -> Approval:
    """Return an approval that this transaction has seen.

    Raises:
        StoreError: it is gone.
    """
    found = get(conn, approval_id)
    if found is None:
        raise StoreError(f"Approval {approval_id} vanished inside its own transaction.")
    return found


def plain_ref(ref: str) -> str:
    """Return an id or code as stored: lower-case, with the Crockford look-alikes resolved."""
    return ref.strip().lower().translate(_LOOK_ALIKES)


def find(conn: Connection, ref: str) -> tuple[Approval, ...]:
    """Return what a person may mean by ``ref``; more than one means that it is ambiguous.

    An exact id, else an exact code, else a prefix of at least four characters among the pending.
    Case and the Crockford look-alikes (I, L for 1; O for 0) do not matter. At most 10.
    """
    ref = plain_ref(ref)
    exact = get(conn, ApprovalId(ref))
    if exact is not None:
        return (exact,)
    if len(ref) == CODE_LENGTH:
        found = conn.execute(_BY_CODE, {"p_code": ref}).mappings().all()
    elif len(ref) >= SHORTEST_PREFIX:
        code = ref[:CODE_LENGTH]
        # A range over the code's index; all characters are digits and lower-case letters, which
        # every collation sorts alike.
        span = {"p_low": code, "p_high": (code + _LAST)[:CODE_LENGTH]}
        found = conn.execute(_BY_PREFIX, span).mappings().all()
    else:
        return ()
    return tuple(_approval(conn, row) for row in found if str(row["id"]).startswith(ref))


def is_visible(visible: VisibleAgents | None) -> ColumnElement[bool]:
    """Return the condition that an approval is of a visible agent; ``None``: of any."""
    if visible is None:
        return true()
    names = sorted(visible.names)
    return approvals.c.agent.not_in(names) if visible.others else approvals.c.agent.in_(names)


def pending(
    conn: Connection,
    limit: int,
    after: ApprovalId | None = None,
    agent: AgentId | None = None,
    visible: VisibleAgents | None = None,
) -> tuple[Approval, ...]:
    """Return the pending approvals, the soonest deadline first; ``after`` is the last one seen.

    ``agent`` narrows them to one agent's, ``visible`` to those of visible agents.
    """
    query, values = (_PENDING, {}) if after is None else (_PENDING_AFTER, {"p_after": after})
    if agent is not None:
        query = query.where(approvals.c.agent == agent)
    if visible is not None:
        query = query.where(is_visible(visible))
    found = conn.execute(query, {"p_limit": limit, **values})
    return tuple(_approval(conn, row) for row in found.mappings())


def tool_calls(conn: Connection) -> dict[ApprovalId, str]:
    """Return the pending questions of agents that wait, and what identifies each one's call."""
    plans = {row.id: load(ExecPlan, row.plan) for row in conn.execute(_OF_AGENTS)}
    parts = {name: plan.part for name, plan in plans.items()}
    return {ApprovalId(name): one.call for name, one in parts.items() if one and one.call}


def asked_here(conn: Connection, ids: Collection[ApprovalId]) -> frozenset[ApprovalId]:
    """Return those of these questions that this gateway asked, in this start or an earlier one."""
    context = context_of(conn)
    if context.alone or not ids:
        return frozenset(ids)
    named = {"p_ids": list(ids), "p_journal": context.journal}
    return frozenset(map(ApprovalId, conn.execute(_OF_JOURNAL, named).scalars()))


def unremembered(conn: Connection, limit: int) -> tuple[Approval, ...]:
    """Return the allow-always approvals whose patterns are not in the approvals file yet."""
    return tuple(_approval(conn, row) for row in conn.execute(_OWED, {"p_limit": limit}).mappings())


def actor_of(row: RowMapping) -> Actor | None:
    """Return who decided, from the columns of ``decisions``."""
    if row["account"] is None:
        return None
    return Actor(channel=row["channel"], account=row["account"], name=row["name"] or "")


def _approval(conn: Connection, row: RowMapping) -> Approval:
    requester = load(Requester, row["requester"])
    resolution = _resolution(row)
    return Approval(
        id=ApprovalId(row["id"]),
        plan=load(ExecPlan, row["plan"]),
        evaluation=load(Evaluation, row["evaluation"]),
        requester=requester,
        origin=load(Target, row["origin"]) if row["origin"] else None,
        created_ms=row["created_ms"],
        deadline_ms=row["deadline_ms"],
        resolution=resolution,
        quorum=row["quorum"],
        votes=_votes(conn, row, requester, resolution),
        delivered_ms=row["delivered_ms"],
        behind=ApprovalId(row["behind"]) if row["behind"] else None,
        asked=row["asked"],
        step_up=bool(row["step_up"]),
    )


def _votes(
    conn: Connection, row: RowMapping, requester: Requester, resolution: Resolution | None
) -> tuple[Vote, ...]:
    if row["quorum"] == 1:
        return ()
    if resolution is None:
        return votes.counting(conn, row["id"], requester)
    return votes.recorded(conn, row["id"])


def _resolution(row: RowMapping) -> Resolution | None:
    state = ApprovalState(row["state"])
    if state is ApprovalState.PENDING:
        return None
    return Resolution(
        state=state,
        reply=ApprovalReply(row["reply"]) if row["reply"] else None,
        by=actor_of(row),
        at_ms=row["at_ms"],
        note=row["note"],
        terms=load(GrantTerms, row["terms"]) if row["terms"] else None,
        reason=DenialReason(row["reason"]) if row["reason"] else None,
    )
