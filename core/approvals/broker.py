"""Run the approval state machine: ask and answer together, wait for an end.

``pending`` becomes ``allowed``, ``denied``, ``expired`` or ``cancelled``, once and for good. Each
arrow is one guarded statement in ``core.store.approvals`` on the database's clock, and expiry is
part of the statement that resolves (invariants 5 to 8). Nothing here is an authority: a lost
wake-up only means another look.
"""

import json
from contextlib import suppress
from dataclasses import dataclass

from core.approvals.answer import Answering
from core.approvals.ask import Asking
from core.errors import StoreAway
from core.model.approval import Approval
from core.model.identity import ApprovalId
from core.store import Store, approvals, outbox
from core.store.engine.wakeups import wakeups
from core.trust.sealing import Seals

_LOOK_AGAIN_S = 5.0
_LOOK_SOON_S = 0.5


@dataclass(frozen=True, slots=True)
class Broker:
    """The one place that asks people and takes their answers."""

    store: Store
    asking: Asking
    answering: Answering
    seals: Seals

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

    async def notify(self, approval: Approval, words: str) -> None:
        """Notify the places that were asked, once, of something that their people should know."""
        for place in await self.store.read(outbox.asked_at, approval.id):
            key = f"{approval.id}:{place.channel}:{place.to}:{place.thread}"
            payload = json.dumps({"text": words})
            await self.store.write(outbox.enqueue_notice, approval.id, place, payload, key)
