"""Read the commands of the past with what is needed to re-evaluate them."""

from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError
from sqlalchemy import (
    Connection,
    RowMapping,
    Select,
    Table,
    Text,
    TextClause,
    bindparam,
    func,
    select,
)

from core.model.approval import ApprovalReply
from core.model.command import ExecPlan
from core.model.decision import Evaluation
from core.model.identity import AgentId, ApprovalId, SessionKey, TaskId
from core.policy.judge.preview import Earlier
from core.store.schema.json_columns import load
from core.store.schema.tables import IS_UNASKED_RUN, approvals, decisions, questions, runs

_ASKED = (
    select(
        approvals.c.id,
        approvals.c.created_ms,
        approvals.c.agent,
        approvals.c.session,
        approvals.c.place,
        approvals.c.text,
        questions.c.plan,
        questions.c.evaluation,
        decisions.c.reply,
        decisions.c.at_ms,
        func.coalesce(approvals.c.delivered_ms, approvals.c.created_ms).label("shown_ms"),
        approvals.c.behind,
    )
    .select_from(
        approvals.outerjoin(questions, questions.c.id == approvals.c.id).outerjoin(
            decisions, decisions.c.approval_id == approvals.c.id
        )
    )
    .where(approvals.c.created_ms >= bindparam("p_since"))
    .order_by(approvals.c.created_ms.desc(), approvals.c.id)
    .limit(bindparam("p_limit"))
)
_UNASKED = (
    select(
        runs.c.id,
        runs.c.created_ms,
        runs.c.agent,
        runs.c.session,
        runs.c.place,
        runs.c.text,
    )
    .where(runs.c.asked == 0, runs.c.created_ms >= bindparam("p_since"))
    .order_by(runs.c.created_ms.desc(), runs.c.id)
    .limit(bindparam("p_limit"))
)


def _of_agent(table: Table, *where: TextClause) -> Select[Any]:
    """Read an agent's last rows from the index by agent and time; no reading grows with time."""
    return (
        select(table.c.id, table.c.created_ms, table.c.session, table.c.task, table.c.text)
        .where(*where, table.c.agent == bindparam("p_agent"), table.c.id != bindparam("p_but"))
        .order_by(table.c.created_ms.desc(), table.c.id)
        .limit(bindparam("p_limit"))
    )


_LAST_ASKED = _of_agent(approvals)
_LAST_UNASKED = _of_agent(runs, IS_UNASKED_RUN)
_PLANS = (
    select(questions.c.id, questions.c.plan, decisions.c.reply)
    .select_from(questions.outerjoin(decisions, decisions.c.approval_id == questions.c.id))
    .where(questions.c.id.in_(bindparam("p_ids", type_=Text, expanding=True)))
)


@dataclass(frozen=True, slots=True)
class PastCommand:
    """One command of the past.

    ``plan`` and ``evaluation`` are those of the question; ``None`` for what no person was asked
    about, of which the store keeps the text only, and for what an older Sayso wrote in another
    shape. ``answer_ms`` is the time from the first copy of the prompt to a person's reply.
    ``joined``: it waited behind an identical question. ``place`` is a host's word or a node's name.
    """

    id: ApprovalId
    at_ms: int
    agent: AgentId
    session: SessionKey
    place: str
    text: str
    asked: bool
    plan: ExecPlan | None = None
    evaluation: Evaluation | None = None
    reply: ApprovalReply | None = None
    answer_ms: int | None = None
    joined: bool = False


def past(conn: Connection, since_ms: int, limit: int) -> tuple[PastCommand, ...]:
    """Return at most ``limit`` commands asked for since an epoch ms, the newest first."""
    params = {"p_since": since_ms, "p_limit": limit}
    found = [_asked(row) for row in conn.execute(_ASKED, params).mappings()]
    found += [_unasked(row) for row in conn.execute(_UNASKED, params).mappings()]
    found.sort(key=lambda one: (-one.at_ms, one.id))
    return tuple(found[:limit])


def recent(
    conn: Connection, agent: AgentId, limit: int, but: ApprovalId | None = None
) -> tuple[Earlier, ...]:
    """Return an agent's last commands for a preview, the newest first; ``but`` is left out."""
    params = {"p_agent": agent, "p_limit": limit, "p_but": but or ""}
    found = [*conn.execute(_LAST_ASKED, params).mappings()]
    found += conn.execute(_LAST_UNASKED, params).mappings()
    found.sort(key=lambda row: (-row["created_ms"], row["id"]))
    last = found[:limit]
    ids = {"p_ids": [row["id"] for row in last]}
    asked = {row["id"]: row for row in conn.execute(_PLANS, ids).mappings()}
    return tuple(_earlier(row, asked.get(row["id"])) for row in last)


def _earlier(row: RowMapping, question: RowMapping | None) -> Earlier:
    text, session = row["text"], SessionKey(row["session"])
    task = None if row["task"] is None else TaskId(row["task"])
    if question is None:
        return Earlier(text, session, task=task)
    try:
        plan = load(ExecPlan, question["plan"])
    except ValidationError:
        plan = None
    denied = question["reply"] == ApprovalReply.DENY.value
    return Earlier(text, session, plan, denied, task)


def _asked(row: RowMapping) -> PastCommand:
    reply = ApprovalReply(row["reply"]) if row["reply"] else None
    plan, evaluation = _question(row)
    return replace(
        _unasked(row),
        asked=True,
        plan=plan,
        evaluation=evaluation,
        reply=reply,
        answer_ms=None if reply is None else max(row["at_ms"] - row["shown_ms"], 0),
        joined=row["behind"] is not None,
    )


def _question(row: RowMapping) -> tuple[ExecPlan | None, Evaluation | None]:
    if row["plan"] is None:
        return None, None
    try:
        return load(ExecPlan, row["plan"]), load(Evaluation, row["evaluation"])
    except ValidationError:
        return None, None


def _unasked(row: RowMapping) -> PastCommand:
    return PastCommand(
        id=ApprovalId(row["id"]),
        at_ms=row["created_ms"],
        agent=AgentId(row["agent"]),
        session=SessionKey(row["session"]),
        place=row["place"],
        text=row["text"],
        asked=False,
    )
