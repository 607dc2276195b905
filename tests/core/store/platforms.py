"""Drive the outbox as the senders of two chat platforms do, including slow and failing ones."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from core.model.approval import ApprovalState
from tests.core.store.reference_model import CLAIM_MS, SENDERS, ModelledStore


class SendingStore(ModelledStore):
    """The part of the machine that sends."""

    @rule(fates=st.lists(st.sampled_from(["sent", "retry", "late"]), min_size=1, max_size=3))
    def send(self, fates: list[str]) -> None:
        """Claim what is due; the platform takes it, refuses it, or is slow to answer."""
        items = self.db.run(self.outbox.claim, len(fates), CLAIM_MS, SENDERS)
        for item, fate in zip(items, fates, strict=False):
            question = item.kind in {"prompt", "reminder"}
            pending = self.world.asked[item.approval_id].state is ApprovalState.PENDING
            assert question is pending, "a question that is already decided is never handed out"
            if fate == "late":
                self.slow.append(item)
            else:
                self.report(item, fate)

    @precondition(lambda self: self.slow)
    @rule(sent=st.booleans())
    def slow_platform_answers(self, sent: bool) -> None:
        """Much may have happened since the claim; unless it ended, the sender still reports."""
        self.report(self.slow.pop(0), "sent" if sent else "lost")

    def report(self, item: Any, fate: str) -> None:
        """Report the result of an item."""
        if fate == "retry":
            self.db.run(self.outbox.retry, item.id, 0, False)
        if fate != "sent":
            return
        self.count += 1
        message = f"m{self.count}"
        if item.kind == "prompt":
            self.world.shown[message] = "asked"
            self.deliver(self.world.asked[item.approval_id])
        elif item.kind == "edit":
            self.world.shown[item.message] = "final"
        self.db.run(self.outbox.sent, item.id, message)
