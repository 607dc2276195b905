"""Accept answers: a button, ``/approve``, a bare reply; and show what "always" would store."""

from dataclasses import dataclass

from channels.base import Inbound, Reply, Tone
from channels.cards.card import Choice
from channels.commands import Approve, BareReply, Choose
from core.approvals.answer import Answer, Answered, AnswerOutcome
from core.gate.gate import Gate
from core.gate.grant_preview import Previews, words_of
from core.model.approval import HALF_HOUR, THIS_SESSION, THIS_TASK, Approval, ApprovalReply
from core.store import Store
from core.store.outbox.message_lookup import adopt, approval_of, members
from core.store.outbox.showings import place_of
from core.text.render import Redacted, join, phrase, redact

_ALWAYS = ApprovalReply.ALLOW_ALWAYS
_DONE = {AnswerOutcome.ACCEPTED, AnswerOutcome.COUNTED}


@dataclass(frozen=True, slots=True)
class Answers:
    """What people answer, authorised by the broker and applied by the gate."""

    gate: Gate
    store: Store

    async def take(self, inbound: Inbound) -> Reply | None:
        """Answer, or show what may be answered."""
        match inbound.command:
            case Approve() as command:
                return await self._named(inbound, command)
            case BareReply() as command:
                return await self._bare(inbound, command)
            case Choose() as command:
                return await self._choices(inbound, command)
            case _:
                return None

    async def _named(self, inbound: Inbound, command: Approve) -> Reply:
        """Take an answer that names its approval: typed, or the press of a button."""
        answered = await self.gate.answer(_answer(inbound, command))
        # A message without our button may be anybody's; only a press proves that it is this prompt.
        if answered.approval is not None and inbound.replied_to and not command.typed:
            await self._adopt(answered.approval, inbound)
        return _reply_for(answered)

    async def _bare(self, inbound: Inbound, command: BareReply) -> Reply:
        """Accept a plain yes or no only as the reply to one prompt message (Hermes #27352)."""
        found = await self.store.read(approval_of, inbound.place, inbound.replied_to)
        if found is not None:
            named = Approve(found, command.reply, command.note, command.terms)
            return await self._named(inbound, named)
        if await self.store.read(members, inbound.place, inbound.replied_to):
            words = "That message shows several prompts. Press a button, or send /approve CODE …"
            return Reply(Redacted(words), Tone.REFUSED)
        return Reply(Redacted("That message is not a Sayso prompt; nothing changed."))

    async def _choices(self, inbound: Inbound, command: Choose) -> Reply:
        """Show exactly what allow-always would store, and offer the durations."""
        asked = Answer(ref=command.ref, reply=_ALWAYS, actor=inbound.actor)
        offered = await self.gate.offer(asked)
        if offered.outcome is not AnswerOutcome.OFFERED or offered.approval is None:
            return _reply_for(offered)
        approval = offered.approval
        words = phrase(
            "{}: allow-always lets agent {} run this without asking:\n{}\nFor how long?",
            redact(approval.code),
            redact(approval.plan.agent, strict=True),
            join("\n", await self._stored(approval)),
        )
        return Reply(words, choices=_scopes(approval))

    async def _stored(self, approval: Approval) -> tuple[Redacted, ...]:
        """Describe what would be stored and, if known, what it would have allowed to run."""
        promise = approval.evaluation.promise
        stored = tuple(redact(one.scope) for one in promise)
        if any(one.content for one in promise):
            stored = (*stored, phrase("With a time, session or task limit, a script may change."))
        preview = await Previews(self.store, self.gate.rulebook).of_question(approval)
        return stored if preview is None else (*stored, phrase("It {}.", words_of(preview)))

    async def _adopt(self, approval: Approval, inbound: Inbound) -> None:
        """Ensure that the pressed message is edited later, even if its sending was not recorded."""
        if not await self.store.read(members, inbound.place, inbound.replied_to):
            await self.store.write(adopt, approval.id, inbound.place, inbound.replied_to)


def _answer(inbound: Inbound, command: Approve) -> Answer:
    return Answer(
        ref=command.ref,
        reply=command.reply,
        actor=inbound.actor,
        key=inbound.key,
        note=command.note,
        process=inbound.process,
        terms=command.terms,
        typed=command.typed,
        place=place_of(inbound.place),
        message=inbound.replied_to,
    )


def _scopes(approval: Approval) -> tuple[Choice, ...]:
    """Offer the durations of allow-always: for the task if one is named, else for the session."""
    words, here = (
        ("This session", THIS_SESSION) if approval.plan.task is None else ("This task", THIS_TASK)
    )
    return (
        Choice("30 min", Approve(approval.id, _ALWAYS, terms=HALF_HOUR)),
        Choice(words, Approve(approval.id, _ALWAYS, terms=here)),
        Choice("Always", Approve(approval.id, _ALWAYS)),
        Choice("Only once", Approve(approval.id, ApprovalReply.ALLOW_ONCE)),
    )


def _reply_for(answered: Answered) -> Reply:
    tone = Tone.OK if answered.outcome in _DONE else Tone.REFUSED
    return Reply(redact(answered.sentence), tone)
