"""Return how a request ended, from what the store holds."""

from dataclasses import replace
from typing import assert_never

from sqlalchemy import Connection, RowMapping, bindparam, select

from core.model.approval import ApprovalState
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.result import Denied, ExecResult, Finished, Output, Unknown
from core.store.schema.json_columns import load, plain
from core.store.schema.states import RowState
from core.store.schema.tables import decisions, runs
from core.text.cuts import CUT

_TAIL = 20_000
"""Characters of an event's tail, with its mark (S0 "Output caps")."""
_RUN = select(runs.c.state, runs.c.result, runs.c.reason, runs.c.why).where(
    runs.c.id == bindparam("p_id")
)
_HOLD = select(runs.c.id).where(runs.c.id == bindparam("p_id")).with_for_update()
_DECISION = select(decisions).where(decisions.c.approval_id == bindparam("p_id"))


def outcome(conn: Connection, run_id: ApprovalId) -> ExecResult | None:
    """Return how a request ended; ``None`` while it is asked, queued or running, or not known."""
    run = conn.execute(_RUN, {"p_id": run_id}).mappings().first()
    if run is not None:
        return _of_run(run_id, run)
    decision = conn.execute(_DECISION, {"p_id": run_id}).mappings().first()
    if decision is None or decision["state"] == ApprovalState.ALLOWED.value:
        return None
    return Denied(run_id, DenialReason(decision["reason"]), _why(decision))


def settled(conn: Connection, run_id: ApprovalId) -> ExecResult | None:
    """Return how a request ended, once no end of it is being committed.

    That is how to learn what became of a COMMIT whose answer was lost.
    """
    conn.execute(_HOLD, {"p_id": run_id})
    return outcome(conn, run_id)


def _of_run(run_id: ApprovalId, run: RowMapping) -> ExecResult | None:
    state = RowState(run["state"])
    match state:
        case RowState.QUEUED | RowState.STARTED:
            return None
        case RowState.DONE:
            return load(Finished, run["result"])
        case RowState.UNKNOWN:
            return Unknown(run_id)
        case RowState.FAILED | RowState.DENIED:
            return Denied(run_id, DenialReason(run["reason"]), run["why"])
        case _:
            assert_never(state)


def code_words(result: Finished) -> str:
    """Return what an event shows: an exit code or ``signal N``, and what else ended the run."""
    code = "unknown" if result.exit_code is None else str(result.exit_code)
    code = code if result.signal is None else f"signal {result.signal}"
    if result.timed_out:
        return f"{code}, stopped at its time limit"
    if result.cancelled:
        return f"{code}, cancelled"
    return f"{code}, {DenialReason.PLAN_DRIFT}" if result.drift else code


def event_tail(output: Output) -> str:
    """Return the end of what was printed, marked where its beginning is missing (S0)."""
    tail = output.tail[-_TAIL:]
    if not tail or (not output.truncated and len(tail) == len(output.text)):
        return tail
    return f"{CUT}\n{tail[-(_TAIL - len(CUT) - 1) :]}"


def storable(result: Finished) -> Finished:
    """Return the result as it is kept: without separate streams, and its words as JSON holds them.

    A program may print anything, and be called anything.
    """
    output = result.output
    text, tail, drift = plain(output.text), plain(output.tail), plain(result.drift)
    if (text, tail, drift, None) == (output.text, output.tail, result.drift, result.streams):
        return result
    kept = replace(output, text=text, tail=tail)
    return replace(result, output=kept, drift=drift, streams=None)


def _why(decision: RowMapping) -> str:
    reason, who = DenialReason(decision["reason"]), decision["name"] or decision["account"]
    if reason is DenialReason.APPROVER_DENIED:
        return f"{who} denied it" + (f": {decision['note']}" if decision["note"] else ".")
    if reason is DenialReason.APPROVAL_TIMEOUT:
        return "Nobody answered before the deadline."
    if reason is DenialReason.UNDELIVERED:
        return "The prompt could not be delivered to anybody, so nobody was asked."
    return decision["note"] or "It was cancelled before anybody answered."
