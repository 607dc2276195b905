"""Refuse a request that was never judged: no plan can be made of it, or all is locked down."""

import shlex

from core.approvals.ids import new_id
from core.gate import announce
from core.model.command import ExecRequest
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Denied
from core.ports import Journal
from core.runner.plan import Refusal
from core.store import Store
from core.store.refusals import RefusedRequest, record_refused


async def refuse(
    store: Store,
    journal: Journal,
    request: ExecRequest,
    refusal: Refusal,
    policy: ExecPolicy | None = None,
) -> Denied:
    """Write a refusal to the journal, tell the session, and return it.

    Without a ``policy`` the place is told as the call named it.

    Raises:
        SaysoError: it could not be recorded; nothing runs all the same.
    """
    run_id = new_id()
    record = announce.refused(run_id, request, refusal.reason, refusal.why)
    await journal.append("refuse", record)
    wish = request.overrides
    node, host = (wish.node, wish.host) if policy is None else (policy.node, policy.host)
    place = node or host or ExecHost.GATEWAY
    refused = RefusedRequest(
        id=run_id,
        agent=request.agent,
        session=request.session,
        place=place,
        text=request.line if request.line is not None else shlex.join(request.argv or ()),
        reason=refusal.reason,
        why=refusal.why,
    )
    await store.write(record_refused, refused)
    return Denied(run_id, refusal.reason, refusal.why)
