"""Write what people allowed for good into the approvals file."""

from dataclasses import dataclass

from core.approvals.broker import Broker
from core.errors import BadRequest, StateError
from core.gate.effective_policy import Rulebook
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId
from core.ports import Journal
from core.store import Store, approvals
from core.text.render import redact


@dataclass(frozen=True, slots=True)
class AlwaysWriter:
    """Write what people allowed for good into the approvals file, once."""

    store: Store
    rulebook: Rulebook
    journal: Journal
    broker: Broker

    async def store_promise(self, run_id: ApprovalId) -> None:
        """Store what an unlimited allow-always promised; a limited one is a grant already."""
        approval = await self.store.read(approvals.get, run_id)
        if approval is None or approval.resolution is None:
            return
        end = approval.resolution
        if end.reply is not ApprovalReply.ALLOW_ALWAYS or end.terms is not None:
            return
        try:
            for one in approval.evaluation.promise:
                await self.rulebook.remember(approval.plan.agent, one)
        except (StateError, BadRequest) as failure:
            # The person allowed this run, so it runs; say that it will be asked about again.
            words = f"{approval.code} runs, but allow-always could not be stored: {failure}"
            await self.journal.append("remember", {"run": run_id, "why": redact(words).text})
            await self.broker.notify(approval, words)
        await self.store.write(approvals.mark_remembered, run_id)
