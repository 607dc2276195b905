"""Format the journal's records; every text in them is redacted."""

from collections.abc import Mapping, Sequence

from core.approvals.messages import limits
from core.model.approval import Approval, Vote
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision, DenialReason, Evaluation
from core.model.evidence import Showing, basis_of, seen_since
from core.model.identity import ApprovalId, Requester
from core.model.result import Finished, Output
from core.policy.judge.evaluate import denial_reason
from core.text.render import redact

_LOST = "sayso: the output was lost when the gateway died; the journal has how the command ended\n"


def decided(
    run_id: ApprovalId, requester: Requester, plan: ExecPlan, evaluation: Evaluation
) -> dict[str, object]:
    """Record what policy decided about a plan, before anything runs; ``digest`` binds its input."""
    read = len(plan.stdio.stdin or b"")
    is_denied = evaluation.decision is Decision.DENY
    return {
        **({"stdin_bytes": read} if read else {}),
        **({} if plan.task is None else {"task": redact(plan.task).text}),
        **({"run_as": plan.run_as} if plan.run_as else {}),
        **({"denial": denial_reason(evaluation)} if is_denied else {}),
        "run": run_id,
        "requester": f"{requester.intake}:{requester.account}",
        "agent": plan.agent,
        "session": plan.session,
        "host": plan.host,
        "cwd": redact(plan.cwd.path).text,
        "command": redact(plan.text).text,
        "digest": plan.digest,
        "decision": evaluation.decision.word,
        "reason": evaluation.reason,
        "rules": [redact(segment.rule).text for segment in evaluation.segments],
    }


def resolved(
    approval: Approval, shown: Sequence[Showing] | None = (), proven: str | None = ""
) -> dict[str, object]:
    """Record how people, silence or the fallback ended an approval.

    ``shown`` is what people were shown of it: its sum makes it a part of the chain. ``seen_ms`` is
    since when the person who decided could read it, null where nothing on record says so. ``None``
    where what was shown cannot be read. ``proven`` is the sum of what a step-up was proven with,
    likewise.
    """
    end = approval.resolution
    by = end.by if end is not None else None
    return {
        "run": approval.id,
        "digest": approval.plan.digest,
        "state": end.state if end is not None else "pending",
        "reply": end.reply if end is not None else None,
        "terms": limits(end.terms) if end is not None and end.terms is not None else None,
        "votes": [vote.by.ref for vote in approval.votes],
        "by": by.ref if by is not None else None,
        "note": redact(end.note).text if end is not None else "",
        "decided_ms": end.at_ms if end is not None else None,
        "deadline_ms": approval.deadline_ms,
        "shown": None if shown is None else basis_of(shown),
        "seen_ms": seen_since(shown or (), by) if by is not None else None,
        "proven": proven,
        **({"denial": end.reason} if end is not None and end.reason is not None else {}),
    }


def voted(approval: Approval, vote: Vote) -> dict[str, object]:
    """Record one of several allows that an approval needs."""
    return {
        "run": approval.id,
        "digest": approval.plan.digest,
        "reply": vote.reply,
        "by": vote.by.ref,
        "votes": [vote.by.ref for vote in approval.votes],
        "quorum": approval.quorum,
    }


def stopped(run_id: ApprovalId, note: str) -> dict[str, object]:
    """Record that somebody ended a running command; ``note`` says who, in words."""
    return {"run": run_id, "note": redact(note).text}


def finished(result: Finished) -> dict[str, object]:
    """Record how a run ended."""
    drift = {"denial": DenialReason.PLAN_DRIFT, "why": redact(result.drift).text}
    return {
        **(drift if result.drift else {}),
        **({"findings": [redact(one).text for one in result.findings]} if result.findings else {}),
        "run": result.run_id,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "timed_out": result.timed_out,
        "cancelled": result.cancelled,
        "duration_ms": result.duration_ms,
        "output_bytes": result.output.total_bytes,
    }


def unseen(run_id: ApprovalId) -> dict[str, object]:
    """Record that a run's gateway died, so that its end is unknown."""
    return {"run": run_id, "exit_code": None, "state": "unknown"}


def result_of(record: Mapping[str, object]) -> Finished:
    """Return how a run ended from the record that ``finished`` made; what it printed is lost."""
    printed = _number(record.get("output_bytes")) or 0
    output = Output(_LOST, _LOST, printed, truncated=True) if printed else Output()
    return Finished(
        run_id=ApprovalId(str(record["run"])),
        exit_code=_number(record.get("exit_code")),
        signal=_number(record.get("signal")),
        output=output,
        duration_ms=_number(record.get("duration_ms")) or 0,
        timed_out=record.get("timed_out") is True,
        cancelled=record.get("cancelled") is True,
        drift=str(record.get("why", "")),
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def refused(
    run_id: ApprovalId, request: ExecRequest, reason: DenialReason, why: str
) -> dict[str, object]:
    """Record a request for which no plan could be made."""
    asked = request.line if request.line is not None else " ".join(request.argv or ())
    return {
        "run": run_id,
        "requester": f"{request.requester.intake}:{request.requester.account}",
        "agent": request.agent,
        "session": request.session,
        "command": redact(asked).text,
        "reason": reason,
        "why": redact(why).text,
    }
