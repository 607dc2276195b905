"""Record requests that are refused before anybody is asked: a plan that fails, too many waiting."""

import shlex

from core.approvals.ids import new_id
from core.gate.journal import journal_records
from core.model.command import ExecRequest
from core.model.decision import DenialReason
from core.model.pending_limits import Crowded
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Denied
from core.planning.planner import Refusal
from core.ports import Journal
from core.store import Store
from core.store.runs.refusals import RefusedRequest, record_refused


async def refuse(
    store: Store,
    journal: Journal,
    request: ExecRequest,
    refused: Refusal | Crowded,
    policy: ExecPolicy | None = None,
) -> Denied:
    """Write a refusal to the journal, notify the session, and return it.

    Without a ``policy`` the place is reported as the call named it.

    Raises:
        SaysoError: it could not be recorded; nothing runs either way.
    """
    run_id, refusal = new_id(), _refusal(refused)
    record = journal_records.refused(run_id, request, refusal.reason, refusal.why)
    await journal.append("refuse", record)
    overrides = request.overrides
    node, host = (overrides.node, overrides.host) if policy is None else (policy.node, policy.host)
    place = node or host or ExecHost.GATEWAY
    row = RefusedRequest(
        id=run_id,
        agent=request.agent,
        session=request.session,
        place=place,
        text=request.line if request.line is not None else shlex.join(request.argv or ()),
        reason=refusal.reason,
        why=refusal.why,
    )
    await store.write(record_refused, row)
    return Denied(run_id, refusal.reason, refusal.why)


def _refusal(refused: Refusal | Crowded) -> Refusal:
    if isinstance(refused, Crowded):
        return Refusal(DenialReason.TOO_MANY_PENDING, refused.sentence)
    return refused
