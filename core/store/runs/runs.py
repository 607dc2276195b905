"""Operate on runs: claim once, identify, finish once (invariant 6). The id is the approval's.

``queued`` → ``started`` → ``done``; a run that never spawned ends ``failed`` or ``denied``; one
whose gateway died ends ``unknown``. No statement leads back to ``queued``.
"""

import logging
from collections.abc import Collection

from sqlalchemy import Connection, Text, and_, bindparam, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.model.events import EventKind, denied_text, finished_text, running_text, started_text
from core.model.identity import ApprovalId
from core.model.policy import ExecHost
from core.model.result import Finished
from core.store.approvals.idempotency import claim_key, free_key
from core.store.approvals.insert import place_of
from core.store.engine.clock import now_ms
from core.store.engine.context import context_of, require_space
from core.store.engine.notifications import note_run
from core.store.outbox import messages
from core.store.runs.outcomes import code_words, event_tail, storable
from core.store.schema.json_columns import dump, load, plain
from core.store.schema.records import RunDraft
from core.store.schema.states import RUNNING_NOTED, START_NOTED, RowState
from core.store.schema.tables import IS_OPEN_RUN, questions, runs
from core.store.sessions import events

_log = logging.getLogger(__name__)
_IS_STARTED = runs.c.state == RowState.STARTED.value
_OF_RUN = runs.c.id == bindparam("p_id")
_SESSION_AND_PLACE = (runs.c.session, runs.c.place)
_HERE = (ExecHost.GATEWAY.value, ExecHost.SANDBOX.value)
"""The places that are not nodes: what is claimed there starts at the same moment."""
_INSERT = insert(runs).on_conflict_do_nothing().returning(runs.c.id)
_START = (
    update(runs)
    .where(_OF_RUN, IS_OPEN_RUN, runs.c.state == RowState.QUEUED.value)
    .values(state=RowState.STARTED.value, owner=bindparam("p_owner"), started_ms=bindparam("p_now"))
    .returning(*_SESSION_AND_PLACE)
)
_IDENTIFY = (
    update(runs)
    .where(_OF_RUN, _IS_STARTED)
    .values(
        pid=bindparam("p_pid"),
        pgid=bindparam("p_pgid"),
        start_ticks=bindparam("p_ticks"),
        boot_id=bindparam("p_boot"),
    )
)
_NOTE_ONCE = (
    update(runs)
    .where(
        _OF_RUN,
        _IS_STARTED,
        or_(
            and_(runs.c.noted == 0, runs.c.place.in_(_HERE)),
            runs.c.noted == START_NOTED,
        ),
    )
    .values(noted=runs.c.noted + RUNNING_NOTED)
    .returning(*_SESSION_AND_PLACE)
)
_NOTE_START = (
    update(runs)
    .where(_OF_RUN, _IS_STARTED, runs.c.place.not_in(_HERE), runs.c.noted == 0)
    .values(noted=START_NOTED)
    .returning(*_SESSION_AND_PLACE)
)
_MOST_NAMED = 5
_HAS_OWNER = bindparam("p_owner", type_=Text).is_not(None)
_JOURNAL = bindparam("p_journal", type_=Text)
_FINISH = (
    update(runs)
    .where(
        _OF_RUN,
        # Another gateway calls a run unknown when this one was without the database for long.
        or_(_IS_STARTED, and_(runs.c.state == RowState.UNKNOWN.value, _HAS_OWNER)),
        runs.c.owner == func.coalesce(bindparam("p_owner", type_=Text), runs.c.owner),
    )
    .values(
        state=RowState.DONE.value,
        ended_ms=bindparam("p_now"),
        exit_code=bindparam("p_code"),
        result=bindparam("p_result"),
        journal=_JOURNAL,
    )
    .returning(*_SESSION_AND_PLACE, runs.c.noted)
)
_REFUSE = (
    update(runs)
    .where(
        _OF_RUN,
        IS_OPEN_RUN,
        runs.c.pid.is_(None),
        or_(
            ~_HAS_OWNER,
            runs.c.owner == bindparam("p_owner", type_=Text),
            and_(runs.c.owner.is_(None), bindparam("p_queued") == 1),
        ),
    )
    .values(
        state=RowState.FAILED.value,
        ended_ms=bindparam("p_now"),
        reason=bindparam("p_reason"),
        why=bindparam("p_why"),
        journal=_JOURNAL,
    )
    .returning(*_SESSION_AND_PLACE)
)
_FORGET = delete(runs).where(_OF_RUN)
_NEVER_BEGUN = {
    "asked": 0, "state": RowState.FAILED.value, "agent": "", "session": "", "place": "",
    "text": "", "noted": 0, "created_ms": 0,
}  # fmt: skip
_LINES = (
    select(
        runs.c.id,
        runs.c.created_ms,
        func.row_number()
        .over(partition_by=runs.c.agent, order_by=(runs.c.created_ms, runs.c.id))
        .label("place"),
    )
    .where(IS_OPEN_RUN, runs.c.state == RowState.QUEUED.value)
    .subquery("ranked")
)
"""What waits of each agent, in the order of the questions."""
_QUEUED = (
    select(_LINES.c.id)
    .where(_LINES.c.place <= bindparam("p_most"))
    .order_by(_LINES.c.created_ms, _LINES.c.id)
)
_PLANS = select(questions.c.id, questions.c.plan).where(
    questions.c.id.in_(bindparam("p_ids", expanding=True))
)


def begin(conn: Connection, draft: RunDraft) -> bool:
    """Record a run that policy allows, already claimed by its owner, and notify its session.

    ``False``: the id or the request key is known, and nothing may start.

    Raises:
        StoreFull: the disk is full; nothing may start.
    """
    require_space(conn)
    if not claim_key(conn, draft.request_key, draft.id, draft.request_digest):
        return False
    now = now_ms(conn)
    row = _row(draft, now) | {"owner": draft.owner, "started_ms": now}
    if conn.execute(_INSERT, row | {"state": RowState.STARTED.value}).first() is None:
        return False
    _notify_start(conn, draft.plan.session, place_of(draft.plan), draft.id, now)
    return True


def start(conn: Connection, run_id: ApprovalId, owner: str) -> bool:
    """Claim an approved run for its owner, once; ``False`` means that it must not start.

    Raises:
        StoreFull: the disk is full; nothing may start.
    """
    require_space(conn)
    now = now_ms(conn)
    row = conn.execute(_START, {"p_id": run_id, "p_owner": owner, "p_now": now}).first()
    if row is None:
        return False
    _notify_start(conn, row.session, row.place, run_id, now)
    return True


def reported(conn: Connection, run_id: ApprovalId) -> bool:
    """Notify the session, once, that a node started a run; ``False``: not now, or not again."""
    row = conn.execute(_NOTE_START, {"p_id": run_id}).first()
    if row is None:
        return False
    text = started_text(row.place, run_id)
    _notify(conn, row.session, EventKind.STARTED, text, run_id, now_ms(conn))
    return True


def identify(
    conn: Connection, run_id: ApprovalId, pid: int, pgid: int, start_ticks: int, boot_id: str
) -> None:
    """Note the process that leads a started run, so that recovery can find it."""
    ids = {"p_pid": pid, "p_pgid": pgid, "p_ticks": start_ticks, "p_boot": boot_id}
    conn.execute(_IDENTIFY, {"p_id": run_id} | ids)


def running(conn: Connection, run_id: ApprovalId, seconds: int) -> bool:
    """Notify the session, once, that a run passed the notice threshold; ``False``: not now.

    For a run on a node, its start must have been reported.
    """
    row = conn.execute(_NOTE_ONCE, {"p_id": run_id}).first()
    if row is None:
        return False
    text = running_text(row.place, run_id, seconds)
    _notify(conn, row.session, EventKind.RUNNING, text, run_id, now_ms(conn))
    return True


def finish(
    conn: Connection, run_id: ApprovalId, result: Finished, owner: str | None = None
) -> bool:
    """Record how a started run ended, once, and notify its session.

    With ``owner`` its result also takes the place of an ``unknown`` that recovery wrote.
    ``False``: it had ended otherwise, or ``owner`` did not start it.
    """
    now = now_ms(conn)
    values = {"p_id": run_id, "p_owner": owner, "p_now": now, "p_result": dump(storable(result))}
    ended = {"p_code": result.exit_code, "p_journal": context_of(conn).journal}
    row = conn.execute(_FINISH, values | ended).first()
    if row is None:
        return False
    if row.place not in _HERE and not row.noted & START_NOTED:
        # The report of its start was lost with the link; it did start, since it ended.
        _notify(conn, row.session, EventKind.STARTED, started_text(row.place, run_id), run_id, now)
    text = finished_text(row.place, run_id, code_words(result), event_tail(result.output))
    _notify(conn, row.session, EventKind.FINISHED, text, run_id, now)
    messages.update_shown(conn, [run_id], now)
    return True


def refuse(
    conn: Connection,
    run_id: ApprovalId,
    reason: DenialReason,
    why: str,
    owner: str | None = None,
) -> bool:
    """End a run that never spawned (drift, vanished program, failed spawn); notify its session.

    With ``owner`` only if nobody else has claimed it.
    """
    return _refuse(conn, run_id, reason, why, {"p_owner": owner, "p_queued": 1})


def withdraw(conn: Connection, run_id: ApprovalId, why: str) -> bool:
    """End an approved run that nobody has claimed as cancelled; ``False`` if somebody has."""
    unclaimed_only = {"p_owner": "", "p_queued": 1}
    return _refuse(conn, run_id, DenialReason.CANCELLED, why, unclaimed_only)


def abandon(
    conn: Connection, run_id: ApprovalId, reason: DenialReason, why: str, owner: str
) -> bool:
    """End a run whose claim by ``owner`` is in doubt; its request key may be used again.

    ``False``: it was not claimed, and cannot be by that claim any more. What is queued stays so.
    """
    # Inserting the same id waits for a claim whose COMMIT is still under way: without that it could
    # be found only after nobody searches for it any more.
    if conn.execute(_INSERT, {"id": run_id, **_NEVER_BEGUN}).first() is not None:
        conn.execute(_FORGET, {"p_id": run_id})
        return False
    if not _refuse(conn, run_id, reason, why, {"p_owner": owner, "p_queued": 0}):
        return False
    free_key(conn, run_id)
    return True


def _refuse(
    conn: Connection, run_id: ApprovalId, reason: DenialReason, why: str, whose: dict[str, object]
) -> bool:
    now = now_ms(conn)
    values = {"p_id": run_id, "p_now": now, "p_reason": reason.value, "p_why": plain(why)}
    journal = {"p_journal": context_of(conn).journal}
    row = conn.execute(_REFUSE, values | whose | journal).first()
    if row is None:
        return False
    text = denied_text(row.place, run_id, reason.value)
    _notify(conn, row.session, EventKind.DENIED, text, run_id, now)
    messages.update_shown(conn, [run_id], now)
    return True


def record_denied(conn: Connection, draft: RunDraft, reason: DenialReason, why: str) -> bool:
    """Record what policy refused, and notify its session; ``False``: the id or key is known."""
    if not claim_key(conn, draft.request_key, draft.id, draft.request_digest):
        return False
    now = now_ms(conn)
    end = {"state": RowState.DENIED.value, "ended_ms": now, "reason": reason.value}
    row = _row(draft, now) | end | {"why": plain(why)}
    if conn.execute(_INSERT, row).first() is None:
        return False
    text = denied_text(place_of(draft.plan), draft.id, reason.value)
    _notify(conn, draft.plan.session, EventKind.DENIED, text, draft.id, now)
    return True


def queued(
    conn: Connection, most: int, but: Collection[ApprovalId] = ()
) -> tuple[tuple[ApprovalId, ExecPlan], ...]:
    """Return at most so many approved runs that nobody has claimed, the oldest question first.

    ``but`` are not returned. Only the first ``most`` of each agent are considered, these included:
    an agent whose runs wait holds up no other agent's. What this version cannot read takes nobody's
    place.
    """
    unreadable: set[str] = set()
    while True:
        line = conn.execute(_QUEUED, {"p_most": most + len(unreadable)}).scalars()
        ids = [run_id for run_id in line if run_id not in but and run_id not in unreadable][:most]
        rows = conn.execute(_PLANS, {"p_ids": ids}) if ids else ()
        plans = {row.id: _readable(row.plan) for row in rows}
        found = {ApprovalId(one): plan for one in ids if (plan := plans.get(one)) is not None}
        if len(found) == len(ids):
            break
        unreadable |= set(ids) - found.keys()
    if unreadable:
        some = ", ".join(sorted(unreadable)[:_MOST_NAMED])
        _log.error(
            "%s runs are not started, as it seems that another version wrote their plans: %s",
            len(unreadable),
            some,
        )
    return tuple(found.items())


def _readable(plan: str) -> ExecPlan | None:
    """Return the plan, ``None`` if another version wrote it: the others start all the same."""
    try:
        return load(ExecPlan, plan)
    except ValueError:  # its text may hold a secret
        return None


def _notify_start(conn: Connection, session: str, place: str, run_id: str, now: int) -> None:
    """Notify the session of a start; for one on a node only once the node has reported it (S1)."""
    if place in _HERE:
        _notify(conn, session, EventKind.STARTED, started_text(place, run_id), run_id, now)
    else:
        note_run(conn, run_id)


def _notify(
    conn: Connection, session: str, kind: EventKind, text: str, run_id: str, now: int
) -> None:
    events.append(conn, [events.NewEvent(session, kind, text, run_id)], now)
    note_run(conn, run_id)


def _row(draft: RunDraft, now: int) -> dict[str, object]:
    plan = draft.plan
    return {
        "id": draft.id,
        "asked": 0,
        "agent": plan.agent,
        "session": plan.session,
        "place": place_of(plan),
        "text": plain(plan.text),
        "noted": 0,
        "created_ms": now,
        "task": plan.task,
    }
