"""Accept a person's answer: who may answer, what is offered, and what became of it."""

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar

from core.approvals import messages, step_up
from core.approvals.routing.approvers import Approvers, Eligibility
from core.approvals.step_up import Authorised, PasskeyAnswer, Proven, StepUp
from core.errors import StoreError
from core.model.approval import Approval, ApprovalReply, GrantTerms
from core.model.evidence import Surface, View
from core.model.identity import NETWORK, Actor, Intake
from core.store import Store, approvals, decision
from core.store.schema.records import AnswerRefusal, OutboxItem, StoredAnswer
from core.text.stdin_preview import shows_input
from core.trust.sealing import Seals

_TRIES = 3
T = TypeVar("T")


class AnswerOutcome(StrEnum):
    """How an answer ended."""

    ACCEPTED = "accepted"
    COUNTED = "counted"
    ALREADY_ENDED = "already_ended"
    UNKNOWN = "unknown"
    AMBIGUOUS = "ambiguous"
    NOT_LISTED = "not_listed"
    REQUESTER = "requester"
    REVOKED = "revoked"
    NOT_OFFERED = "not_offered"
    NOT_TYPED = "not_typed"
    NOT_PROVEN = "not_proven"
    OFFERED = "offered"


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of an answer, the sentence for the person, and the approval's current state.

    ``stored`` is what the store made of it, ``None`` where it was not asked.
    """

    outcome: AnswerOutcome
    sentence: str
    approval: Approval | None = None
    stored: StoredAnswer | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said: an id, code or prefix, the reply, and where it came from.

    ``key`` makes a redelivered answer the same answer. ``process`` is a local actor's kernel
    session, as in ``Requester``. ``terms`` limit an allow-always. ``typed``: the person named in
    words what to allow; a press of a button did not. ``totp``: the code of the person's
    authenticator app, ``passkey`` what one of the person's passkeys signed, where the question
    requires a step-up and the person has either. ``place`` and ``message`` are where a chat has the
    message that it was given under. ``views`` are what the person looked at before that is not on
    record yet.
    """

    ref: str
    reply: ApprovalReply
    actor: Actor
    key: str | None = None
    note: str = ""
    process: tuple[int, int] | None = None
    terms: GrantTerms | None = None
    typed: bool = False
    totp: str = field(default="", repr=False)
    passkey: PasskeyAnswer | None = None
    place: str = ""
    message: str = ""
    views: tuple[View, ...] = field(default=(), repr=False)

    @property
    def is_proof(self) -> bool:
        """Return whether it carries something that could prove who answers."""
        return bool(self.totp) or self.passkey is not None


class Editor(Protocol):
    """The sender of edits from this process."""

    def editable(self) -> Collection[str]:
        """Return the channels whose edits can be sent from here now."""

    def edit(self, items: Sequence[OutboxItem]) -> None:
        """Send edits that were claimed for this process, ahead of everything else that waits."""


class Answering:
    """Authorise an answer and let the store decide (invariants 5 and 7)."""

    def __init__(
        self, store: Store, approvers: Approvers, seals: Seals, editor: Editor | None = None
    ) -> None:
        self._store = store
        self.editor = editor
        self._approvers = approvers
        self._step_up = StepUp(store, seals)

    async def answer(self, answer: Answer) -> Answered:
        """Take a person's answer; the returned sentence is true for whoever gave it.

        Raises:
            StoreError: nothing was decided, or a commit is in doubt: repeat it with its key.
        """
        for _ in range(_TRIES):
            answered = await self._attempt(answer)
            if answered is not None:
                return answered
        raise StoreError("The people directory kept changing; nothing was decided. Retry.")

    async def offer(self, answer: Answer) -> Answered:
        """Return, changing nothing, whether a person could answer this way now; ``OFFERED`` if so.

        Raises:
            StoreError: the store cannot be read.
        """
        meant = await self._store.read(approvals.find_for, answer.ref, answer.actor)
        found = self._authorised(answer, meant)
        if isinstance(found, Answered):
            return found
        if found.approval.resolution is not None:
            words = messages.ended(found.approval)
            return Answered(AnswerOutcome.ALREADY_ENDED, words, found.approval)
        return Answered(AnswerOutcome.OFFERED, "", found.approval)

    async def _attempt(self, answer: Answer) -> Answered | None:
        """Authorise and decide; ``None`` if the directory changed in between."""
        found = await self._decide_at_once(answer)
        if isinstance(found, StoredAnswer):
            return _answered(answer, found)
        if isinstance(found, Answered):
            return found
        # What an app or a passkey has to prove is checked before the answer is taken.
        if answer.passkey is not None:
            proven = await self._step_up.by_passkey(found, answer.reply, answer.passkey)
        else:
            proven = await self._step_up.by_code(found, answer.reply, answer.totp)
        if isinstance(proven, Proven):
            return await self._resolve(answer, found, proven)
        return Answered(AnswerOutcome.NOT_PROVEN, proven, found.approval)

    async def _decide_at_once(self, answer: Answer) -> StoredAnswer | Answered | Authorised:
        """Authorise and decide in one transaction, or return whose identity has to be proven."""
        channels = self._editable()  # here, because the store calls back in its own thread

        def authorise(
            meant: approvals.ResolvedReference,
        ) -> approvals.Ballot | Answered | Authorised:
            found = self._authorised(answer, meant)
            if isinstance(found, Answered):
                return found
            if step_up.required(found.approval, answer.reply) and (found.app or found.passkeys):
                return found
            return self._ballot(answer, found, Proven(), channels)

        op: decision.FindAndAnswer[Answered | Authorised] = decision.FindAndAnswer(authorise)
        return await self._edited(self._store.write(op, answer.ref, answer.actor))

    def _authorised(
        self, answer: Answer, meant: approvals.ResolvedReference
    ) -> Answered | Authorised:
        """Return the one approval that is meant, or why this person may not answer it this way."""
        found = meant.approvals
        if not found:
            return Answered(AnswerOutcome.UNKNOWN, messages.unknown(answer.ref))
        if len(found) > 1:
            codes = tuple(approval.code for approval in found)
            return Answered(AnswerOutcome.AMBIGUOUS, messages.ambiguous(answer.ref, codes))
        refusal = self._refusal(answer, found[0], meant)
        return refusal or Authorised(found[0], meant.known.person, meant.app, meant.passkeys)

    def _refusal(
        self, answer: Answer, approval: Approval, meant: approvals.ResolvedReference
    ) -> Answered | None:
        if meant.known.revoked:
            return Answered(AnswerOutcome.REVOKED, messages.revoked())
        eligibility = self._approvers.eligibility(
            answer.actor,
            approval.requester,
            answer.process,
            agent=approval.plan.agent,
            person=meant.known.person,
            asker=meant.asker,
            others=meant.askers,
        )
        if eligibility is Eligibility.REQUESTER:
            return Answered(AnswerOutcome.REQUESTER, _own(answer, approval))
        if eligibility is Eligibility.NOT_LISTED:
            own = approval.plan.agent if approval.plan.agent in self._approvers.by_agent else None
            return Answered(AnswerOutcome.NOT_LISTED, messages.not_listed(answer.actor, own))
        ended = approval.resolution is not None
        has_proof = meant.app is not None or bool(meant.passkeys)
        return None if ended else _not_taken(answer, approval, has_proof=has_proof)

    async def _resolve(self, answer: Answer, found: Authorised, proven: Proven) -> Answered | None:
        ballot = self._ballot(answer, found, proven, self._editable())
        decided = await self._edited(self._store.write(decision.answer, ballot))
        if decided is None:
            return Answered(AnswerOutcome.UNKNOWN, messages.unknown(answer.ref))
        return _answered(answer, decided)

    def _ballot(
        self, answer: Answer, found: Authorised, proven: Proven, channels: Collection[str]
    ) -> approvals.Ballot:
        return approvals.Ballot(
            found.approval.id,
            answer.reply,
            answer.actor,
            answer.key,
            answer.note,
            answer.terms,
            found.person,
            answer.process,
            proven.step,
            proven.passkey,
            _looked(answer, found.approval),
            channels,
            self._approvers.listing(found.approval.plan.agent).may_admit,
        )

    def _editable(self) -> Collection[str]:
        return () if self.editor is None else self.editor.editable()

    async def _edited(self, deciding: Awaitable[T]) -> T:
        """Wait for a decision, and have the edits that show it sent at once."""
        writing = asyncio.ensure_future(deciding)
        # Whoever gave the answer may go away: what was claimed is sent anyway.
        writing.add_done_callback(self._edit)
        return await asyncio.shield(writing)

    def _edit(self, writing: asyncio.Future[T]) -> None:
        if writing.cancelled() or writing.exception() is not None or self.editor is None:
            return
        decided = writing.result()
        if isinstance(decided, StoredAnswer) and decided.edits:
            self.editor.edit(decided.edits)


def _looked(answer: Answer, approval: Approval) -> tuple[View, ...]:
    """Return what the person looked at of this question, and where the answer was given."""
    own = tuple(one for one in answer.views if one.approval_id == approval.id)
    if not answer.place:
        return own
    given = View(approval.id, answer.actor, Surface.ANSWERED, "", answer.place, answer.message)
    return (*own, given)


def _not_taken(answer: Answer, approval: Approval, *, has_proof: bool) -> Answered | None:
    """Return why nobody may answer a waiting approval this way, or ``None``."""
    words = _not_offered(answer, approval)
    if words:
        return Answered(AnswerOutcome.NOT_OFFERED, words, approval)
    if not step_up.required(approval, answer.reply):
        return None
    if has_proof:
        words = messages.not_proven(approval, answer.reply)
        return None if answer.is_proof else Answered(AnswerOutcome.NOT_PROVEN, words, approval)
    if not answer.typed:
        words = messages.not_typed(approval, answer.reply)
        return Answered(AnswerOutcome.NOT_TYPED, words, approval)
    return None


def _not_offered(answer: Answer, approval: Approval) -> str:
    """Return why no surface offers this answer, or return ``""``: typed words count for no more."""
    reply = answer.reply
    if reply is not ApprovalReply.DENY and not shows_input(approval.plan):
        return messages.allow_not_offered(approval)
    if reply is ApprovalReply.ALLOW_ALWAYS and not approval.evaluation.promise:
        return messages.always_not_offered(approval)
    if answer.terms is not None and answer.terms.task_only and approval.plan.task is None:
        return messages.no_task(approval)
    return ""


def _own(answer: Answer, approval: Approval) -> str:
    intake = approval.requester.intake
    if answer.process is None or intake is Intake.CHAT:
        return messages.requester(approval)
    return messages.asked_with_a_token() if intake in NETWORK else messages.asked_here(approval)


def _answered(answer: Answer, outcome: StoredAnswer) -> Answered | None:
    approval = outcome.approval
    if outcome.refused is AnswerRefusal.CHANGED:
        return None
    if outcome.refused is AnswerRefusal.REVOKED:
        return Answered(AnswerOutcome.REVOKED, messages.revoked())
    if outcome.refused is AnswerRefusal.REQUESTER:
        return Answered(AnswerOutcome.REQUESTER, messages.requester(approval))
    if outcome.counted:
        return Answered(AnswerOutcome.COUNTED, messages.counted(approval), approval, outcome)
    if outcome.won:
        words = messages.accepted(approval, answer.reply)
        return Answered(AnswerOutcome.ACCEPTED, words, approval, outcome)
    return Answered(AnswerOutcome.ALREADY_ENDED, messages.ended(approval), approval, outcome)
