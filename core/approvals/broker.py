"""Run the approval state machine: open, answer, wait, expire.

``pending`` becomes ``allowed``, ``denied``, ``expired`` or ``cancelled``, once and for good. Each
arrow is one guarded statement in ``core.store.approvals`` on the database's clock, and expiry is
part of the statement that resolves (DESIGN §1 rules 5 to 8). Nothing here is an authority: a lost
wake-up only makes somebody look again.
"""

import json
from contextlib import suppress
from dataclasses import dataclass

from core.approvals.answer import Answer, Answered, Answering
from core.approvals.ask import Asking, Fallback
from core.errors import StoreAway
from core.model.approval import Approval
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import DenialReason, Evaluation
from core.model.identity import ApprovalId
from core.model.pending_limits import Crowded
from core.store import Store, approvals, outbox
from core.store.engine.wakeups import wakeups

_LOOK_AGAIN_S = 5.0
_LOOK_SOON_S = 0.5


@dataclass(frozen=True, slots=True)
class Broker:
    """The one place that asks people and takes their answers."""

    store: Store
    asking: Asking
    answering: Answering

    async def open(
        self, request: ExecRequest, plan: ExecPlan, evaluation: Evaluation, fallback: Fallback
    ) -> Approval | Crowded:
        """Persist a question with its prompts; settle it at once when nobody can be reached.

        Where too many wait already, nothing is persisted and nobody is asked: ``Crowded``.

        Raises:
            StoreError: nothing was persisted, so nothing will run.
        """
        return await self.asking.open(request, plan, evaluation, fallback)

    async def answer(self, answer: Answer) -> Answered:
        """Take a person's answer; the returned sentence is true for whoever gave it."""
        return await self.answering.answer(answer)

    async def wait(self, approval_id: ApprovalId) -> Approval | None:
        """Wait until an approval is final and return it; ``None`` if no such approval exists.

        A store that is away is waited for: what was asked is kept there.
        """
        with wakeups(self.store, f"approval:{approval_id}") as changed:
            while True:
                pause = _LOOK_SOON_S
                with suppress(StoreAway):
                    approval = await self.store.read(approvals.get, approval_id)
                    if approval is None or approval.resolution is not None:
                        return approval
                    pause = _LOOK_AGAIN_S
                await changed.wait(pause)

    async def expire(self, limit: int = 500) -> dict[ApprovalId, DenialReason]:
        """Turn pending approvals past their deadline into expired ones; return which, and why."""
        return await self.store.write(approvals.expire_and_tell, limit)

    async def remind(self, limit: int = 100) -> int:
        """Enqueue the reminders that are due; return how many."""
        return await self.store.write(approvals.remind_due, limit)

    async def tell(self, approval: Approval, words: str) -> None:
        """Tell the places that were asked something that their people should know, once."""
        for place in await self.store.read(outbox.asked_at, approval.id):
            key = f"{approval.id}:{place.channel}:{place.to}:{place.thread}"
            payload = json.dumps({"text": words})
            await self.store.write(outbox.enqueue_notice, approval.id, place, payload, key)

    async def cancel(self, approval_id: ApprovalId, note: str) -> Approval | None:
        """Withdraw a question; ``None`` if it is unknown or already ended."""
        return await self.store.write(approvals.cancel, approval_id, note)
