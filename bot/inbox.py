"""Take what a person says or presses: authorised by the broker, decided by the gate."""

from dataclasses import dataclass

from channels.base import Inbound, Reply, Tone
from channels.commands import HELP, Approve, BareReply, Help, Malformed, PendingList
from core.approvals.answering import Answer, Answered, AnswerOutcome
from core.approvals.rendering import redact
from core.gate import Gate
from core.model.approval import Approval, ApprovalReply
from core.store import Store, approvals
from core.store.copies import adopt, approval_of

_LISTED = 20


@dataclass(slots=True)
class GateInbox:
    """The inbox that every channel hands its people's words to."""

    gate: Gate
    store: Store

    async def receive(self, inbound: Inbound) -> Reply:
        """Act on one typed command and return what the person is told."""
        match inbound.command:
            case Approve(ref=ref, reply=reply, note=note):
                return await self._answer(inbound, ref, reply, note)
            case BareReply(reply=reply, note=note):
                return await self._bare(inbound, reply, note)
            case PendingList():
                return await self._pending()
            case Malformed(usage=usage):
                return Reply(redact(usage, multiline=True), Tone.REFUSED)
            case Help():
                return Reply(redact(HELP, multiline=True), Tone.INFO)

    async def _answer(self, inbound: Inbound, ref: str, reply: ApprovalReply, note: str) -> Reply:
        answer = Answer(ref=ref, reply=reply, actor=inbound.actor, key=inbound.key, note=note)
        answered = await self.gate.answer(answer)
        if answered.approval is not None and inbound.replied_to:
            await self._adopt(answered.approval, inbound)
        return _told(answered)

    async def _adopt(self, approval: Approval, inbound: Inbound) -> None:
        """Make sure that the message which was pressed is edited, even if its sending was lost."""
        known = await self.store.read(approval_of, inbound.place, inbound.replied_to)
        if known is None:
            await self.store.write(adopt, approval.id, inbound.place, inbound.replied_to)

    async def _bare(self, inbound: Inbound, reply: ApprovalReply, note: str) -> Reply:
        """Count a plain yes or no only as the reply to one prompt message (Hermes #27352)."""
        found = await self.store.read(approval_of, inbound.place, inbound.replied_to)
        if found is None:
            return Reply(redact("That message is no prompt of mine; nothing changed."), Tone.INFO)
        return await self._answer(inbound, found, reply, note)

    async def _pending(self) -> Reply:
        waiting = await self.store.read(approvals.pending, _LISTED)
        if not waiting:
            return Reply(redact("Nothing is waiting."), Tone.INFO)
        lines = "\n".join(_line(approval) for approval in waiting)
        return Reply(redact(lines, multiline=True), Tone.INFO)


def _line(approval: Approval) -> str:
    return f"{approval.code}  {approval.plan.agent}  {approval.plan.text}"


def _told(answered: Answered) -> Reply:
    tone = Tone.OK if answered.outcome is AnswerOutcome.ACCEPTED else Tone.REFUSED
    return Reply(redact(answered.sentence), tone)
