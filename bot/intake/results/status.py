"""Return the status of a request, for a local program that waits also where it is answered."""

from collections.abc import Sequence

from bot.intake.callers.caller import Caller
from bot.intake.results.answer import safe
from bot.intake.results.outcomes import AnyStatus, submission
from core.errors import StoreError
from core.gate import Gate
from core.model.command import ExecRequest
from core.model.identity import API_CHANNEL, LOCAL_CHANNEL, NETWORK, ApprovalId
from core.model.result import Pending, Submission
from core.store import approvals


async def status_of(
    gate: Gate, answer: Submission, caller: Caller, ignored: Sequence[str] = ()
) -> AnyStatus:
    """Return the status of a request or how it ended; ``answers`` is for local programs only."""
    more: dict[str, list[str] | None] = {"ignored": [*ignored]} if ignored else {}
    if isinstance(answer, Pending) and caller.peer is not None:
        more["answers"] = await _answers(gate, answer.run_id)
    return submission(answer, caller, **more)


async def without_effect(gate: Gate, request: ExecRequest) -> Sequence[str]:
    """Return a sentence for each setting of a call that has no effect."""
    return [safe(one) for one in await gate.ignored(request)]


async def _answers(gate: Gate, run_id: ApprovalId) -> list[str] | None:
    """Return where it is answered besides the chats that are asked; ``None`` is not known."""
    try:
        question = await gate.store.read(approvals.get, run_id)
    except StoreError:
        return None
    if question is None:
        return None
    # What came in over the network is not answered here (see ``Approvers.eligibility``).
    away = question.requester.intake in NETWORK
    channels = (API_CHANNEL,) if away else (LOCAL_CHANNEL, API_CHANNEL)
    people, agent = gate.broker.asking.approvers, question.plan.agent
    return [channel for channel in channels if people.anybody(channel, agent)]
