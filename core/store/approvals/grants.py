"""Keep allow-always with a limit: until a time, for a number of uses, in one session or task.

The row is written in the transaction of the decision. What it lets run is what the prompt promised
to store. A grant ends by its limits, by ``revoke``, and while its giver is revoked; one that was
not used for ``idle_ms`` does not count either. One of a task ends with ``end_task``, and without a
time limit after ``TASK_IDLE_MS`` without use, because nobody may ever end the task.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import (
    BigInteger,
    Connection,
    RowMapping,
    Text,
    and_,
    bindparam,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.errors import StoreError
from core.model.approval import GrantTerms
from core.model.decision import Evaluation, Promise
from core.model.identity import (
    CODE_LENGTH,
    Actor,
    AgentId,
    ApprovalId,
    SessionKey,
    TaskId,
    code_of,
)
from core.store.people import people
from core.store.schema.json_columns import dump, load, plain
from core.store.schema.people_tables import grants
from core.store.schema.tables import approvals, questions

_ASKED = (
    select(approvals.c.agent, approvals.c.session, approvals.c.task, questions.c.evaluation)
    .join(questions, questions.c.id == approvals.c.id)
    .where(approvals.c.id == bindparam("p_id"))
)
TASK_IDLE_MS = 86_400_000
"""How long a grant of a task may go unused where nobody gave it a time limit: 24 hours."""
_GIVE = insert(grants).on_conflict_do_nothing()
_last_use = func.coalesce(grants.c.used_ms, grants.c.created_ms)
_is_live = and_(
    grants.c.revoked_ms.is_(None),
    or_(grants.c.expires_ms.is_(None), grants.c.expires_ms > func.sayso_now()),
    or_(grants.c.uses_left.is_(None), grants.c.uses_left > 0),
    _last_use + bindparam("p_idle", type_=BigInteger) > func.sayso_now(),
    or_(
        grants.c.task.is_(None),
        grants.c.expires_ms.is_not(None),
        _last_use + TASK_IDLE_MS > func.sayso_now(),
    ),
)
_NEVER = 1 << 60
"""An idle time in ms that no clock reaches."""
_LIVE = select(grants).where(_is_live).order_by(grants.c.created_ms, grants.c.id)
_ACTIVE = _LIVE.where(
    grants.c.agent == bindparam("p_agent"),
    or_(grants.c.session.is_(None), grants.c.session == bindparam("p_session")),
    or_(grants.c.task.is_(None), grants.c.task == bindparam("p_task")),
)
_USE = (
    update(grants)
    .where(grants.c.id.in_(bindparam("p_ids", type_=Text, expanding=True)), _is_live)
    .values(uses_left=grants.c.uses_left - 1, used_ms=func.sayso_now())
    .returning(grants.c.id)
)
_REVOKE = (
    update(grants)
    .where(grants.c.id.startswith(bindparam("p_ref")), grants.c.revoked_ms.is_(None))
    .values(revoked_ms=func.sayso_now())
    .returning(*grants.c)
)
_END_TASK = (
    update(grants)
    .where(grants.c.task == bindparam("p_task"), _is_live)
    .values(revoked_ms=func.sayso_now())
    .returning(*grants.c)
)


class GrantSpent(Exception):
    """A grant ended between looking and using. Nothing was used; ask a person."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A limited allow-always; ``id`` is that of the approval that gave it. Times are epoch ms."""

    id: ApprovalId
    agent: AgentId
    session: SessionKey | None
    promise: tuple[Promise, ...]
    by: Actor
    created_ms: int
    expires_ms: int | None
    uses_left: int | None
    used_ms: int | None = None
    task: TaskId | None = None

    @property
    def code(self) -> str:
        """Return the short code that people type."""
        return code_of(self.id)


def give(
    conn: Connection, approval_id: ApprovalId, terms: GrantTerms, by: Actor, at_ms: int
) -> None:
    """Write the grant of a decision that this transaction takes.

    Raises:
        StoreError: it is for a task, and none was named: it would hold for every one.
    """
    asked = conn.execute(_ASKED, {"p_id": approval_id}).one()
    if terms.task_only and asked.task is None:
        raise StoreError(f"{approval_id} names no task, so no grant of a task was given.")
    promise = load(Evaluation, asked.evaluation).promise
    row = {
        "id": approval_id,
        "approval_id": approval_id,
        "agent": asked.agent,
        "session": asked.session if terms.session_only else None,
        "task": asked.task if terms.task_only else None,
        "promise": dump(promise),
        "channel": by.channel,
        "account": by.account,
        "name": plain(by.name),
        "created_ms": at_ms,
        "expires_ms": None if terms.for_ms is None else at_ms + terms.for_ms,
        "uses_left": terms.uses,
    }
    conn.execute(_GIVE, row)


def active(
    conn: Connection,
    agent: AgentId,
    session: SessionKey,
    idle_ms: int | None = None,
    task: TaskId | None = None,
) -> tuple[Grant, ...]:
    """Return what may lift a question of this agent in this session and task now.

    Those without a count come first, so that counted uses are kept for what needs them.
    """
    params = {
        "p_agent": agent,
        "p_session": session,
        "p_task": task,
        "p_idle": idle_ms or _NEVER,
    }
    rows = conn.execute(_ACTIVE, params).mappings().all()
    found = [_grant(row) for row in rows]
    held = [grant for grant in found if not people.known_as(conn, grant.by).revoked]
    return tuple(sorted(held, key=lambda grant: grant.uses_left is not None))


def use(conn: Connection, ids: Sequence[ApprovalId], idle_ms: int | None = None) -> None:
    """Use each of these grants once, all or none.

    Raises:
        GrantSpent: one of them is over, revoked, idle or used up by now; nothing was used.
    """
    params = {"p_ids": list(ids), "p_idle": idle_ms or _NEVER}
    used = conn.execute(_USE, params).scalars().all()
    if len(used) != len(set(ids)):
        raise GrantSpent


def listed(conn: Connection, idle_ms: int | None = None) -> tuple[Grant, ...]:
    """Return every grant that has not ended, the oldest first."""
    rows = conn.execute(_LIVE, {"p_idle": idle_ms or _NEVER}).mappings()
    return tuple(_grant(row) for row in rows)


def revoke(conn: Connection, ref: str) -> tuple[Grant, ...]:
    """End the grant with this id or code; return what was ended, nothing if there is none."""
    ref = ref.strip().lower()
    if len(ref) < CODE_LENGTH or not ref.isalnum():
        return ()
    return tuple(_grant(row) for row in conn.execute(_REVOKE, {"p_ref": ref}).mappings())


def end_task(conn: Connection, task: TaskId, agent: AgentId | None = None) -> tuple[Grant, ...]:
    """End every grant of a task, of one agent or of all; return what was ended."""
    ended = _END_TASK if agent is None else _END_TASK.where(grants.c.agent == agent)
    rows = conn.execute(ended, {"p_task": task, "p_idle": _NEVER}).mappings().all()
    return tuple(_grant(row) for row in rows)


def _unbound(promise: tuple[Promise, ...]) -> Iterator[Promise]:
    """Yield what a grant covers: a limit is for scripts that change, so none is held to content."""
    return (replace(one, content=None) for one in promise)


def _grant(row: RowMapping) -> Grant:
    return Grant(
        id=ApprovalId(row["id"]),
        agent=AgentId(row["agent"]),
        session=SessionKey(row["session"]) if row["session"] is not None else None,
        promise=tuple(_unbound(load(tuple[Promise, ...], row["promise"]))),
        by=Actor(row["channel"], row["account"], row["name"]),
        created_ms=row["created_ms"],
        expires_ms=row["expires_ms"],
        uses_left=row["uses_left"],
        used_ms=row["used_ms"],
        task=TaskId(row["task"]) if row["task"] is not None else None,
    )
