"""Show the approvals that wait for an answer, and take answers."""

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from bot.intake.callers import unix_peer, visibility
from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import RUN_BY_US
from bot.intake.methods.runs import FOLLOWS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import IdParams, ListParams, ResolveParams, WaitParams
from bot.intake.results.questions import (
    ApprovalAnswer,
    ApprovalsAnswer,
    CopiesAnswer,
    CopyAnswer,
    EvidenceAnswer,
    ResolvedAnswer,
)
from core.approvals import messages
from core.approvals.answer import Answer, Answered, AnswerOutcome
from core.approvals.step_up import PasskeyAnswer
from core.errors import BadRequest, Forbidden, NotFound
from core.gate.gate import Gate
from core.model.access import Scope
from core.model.approval import ApprovalState
from core.model.evidence import Surface, View
from core.model.identity import Actor, AgentId, ApprovalId
from core.store import approvals
from core.store.outbox.receipts import receipts
from core.store.views.evidence import evidence_of
from core.trust.passkeys import relying_party

READS = frozenset({Scope.READ})


@dataclass(frozen=True, slots=True)
class ApprovalMethods(Group):
    """The methods about approvals."""

    gate: Gate
    page_url: Callable[[], str] = str

    @handles(
        "exec.approval.waitDecision",
        FOLLOWS,
        "Wait until an approval is decided.",
        note="once decided or at the timeout",
    )
    async def wait(self, params: WaitParams, caller: Caller) -> ApprovalAnswer:
        """Wait until an approval is decided and return it."""
        approval_id = await visibility.of_run(self.gate, params.id, caller)
        try:
            async with asyncio.timeout(_seconds(params.timeout_ms)):
                found = await self.gate.broker.wait(approval_id)
        except TimeoutError:
            found = await self.gate.store.read(approvals.get, approval_id)
        if found is None:
            raise NotFound(f"no approval has the id {params.id!r}")
        return ApprovalAnswer.of(found)

    @handles(
        "exec.approval.resolve",
        frozenset({Scope.APPROVE}),
        "Answer an approval, as the person whose token or terminal it is.",
        urgent=True,
    )
    async def resolve(self, params: ResolveParams, caller: Caller) -> ResolvedAnswer:
        """Answer an approval; the lists of approvers decide who may."""
        answer = Answer(
            ref=params.id,
            reply=params.decision,
            actor=_actor(caller),
            note=params.note,
            terms=params.terms,
            process=_session(caller),
            # The call itself names the approval and the decision.
            typed=not params.totp and params.passkey is None,
            totp=params.totp,
            passkey=self._passkey(params),
        )
        answered = await self._answered(answer, caller)
        sentence = answered.sentence
        if answered.outcome is AnswerOutcome.UNKNOWN:  # the message for a chat names its commands
            sentence = f"No approval has the id or code {params.id!r}; see `sayso pending`."
        return ResolvedAnswer(
            accepted=answered.outcome in {AnswerOutcome.ACCEPTED, AnswerOutcome.COUNTED},
            outcome=answered.outcome,
            sentence=sentence,
            id=answered.approval.id if answered.approval is not None else None,
        )

    async def _answered(self, answer: Answer, caller: Caller) -> Answered:
        """Have the gate take an answer; a question that the caller does not see is unknown."""
        if caller.sees_all:
            return await self.gate.answer(answer)
        found = visibility.seen(await self.gate.store.read(approvals.find, answer.ref), caller)
        if not found:
            return Answered(AnswerOutcome.UNKNOWN, messages.unknown(answer.ref))
        if len(found) > 1:
            codes = tuple(one.code for one in found)
            return Answered(AnswerOutcome.AMBIGUOUS, messages.ambiguous(answer.ref, codes))
        return await self.gate.answer(replace(answer, ref=found[0].id))

    def _passkey(self, params: ResolveParams) -> PasskeyAnswer | None:
        """Return what a passkey signed, with the relying party of the page.

        Raises:
            BadRequest: no page has passkeys here.
        """
        if params.passkey is None:
            return None
        party = relying_party(self.page_url())
        if party is None:
            raise BadRequest("The control page has no address that passkeys work at; set http.url.")
        given = params.passkey
        return PasskeyAnswer(given.nonce, given.credential, params.limit or "", party)

    @handles(
        "exec.approval.list",
        READS,
        "List pending approvals, the soonest deadline first.",
        filters=True,
        urgent=True,
    )
    async def pending(self, params: ListParams, caller: Caller) -> ApprovalsAnswer:
        """List what is waiting, and record that the person who reads it has seen it."""
        agent = None if params.agent is None else AgentId(params.agent)
        span = (params.limit, None, agent, caller.visible)
        waiting = await self.gate.store.read(approvals.pending, *span)
        made = ApprovalsAnswer.of(waiting)
        self._seen(caller, made.pending)
        return made

    @handles(
        "exec.approval.get", FOLLOWS, "Show one approval by id, code or unique prefix.", urgent=True
    )
    async def get(self, params: IdParams, caller: Caller) -> ApprovalAnswer:
        """Return one approval by id, code or unique prefix."""
        found = visibility.seen(await self.gate.store.read(approvals.find, params.id), caller)
        if len(found) != 1:
            raise NotFound(f"{params.id!r} names {len(found) or 'no'} approvals")
        made = ApprovalAnswer.of(found[0])
        self._seen(caller, [made])
        return made

    @handles("exec.approval.copies", READS, "Return the status of each copy of a prompt.")
    async def copies(self, params: IdParams, caller: Caller) -> CopiesAnswer:
        """Return the status of each copy of a prompt."""
        approval_id = await visibility.of_run(self.gate, params.id, caller)
        found = await self.gate.store.read(receipts, ApprovalId(approval_id))
        return CopiesAnswer(copies=[CopyAnswer.of(one) for one in found])

    @handles(
        "exec.approval.evidence",
        READS,
        "Return what people were shown of an approval, where, when and who looked.",
    )
    async def evidence(self, params: IdParams, caller: Caller) -> EvidenceAnswer:
        """Return what was shown before and after an approval was decided."""
        approval_id = await visibility.of_run(self.gate, params.id, caller)
        await self.gate.seen.flush()
        found = await self.gate.store.read(evidence_of, ApprovalId(approval_id))
        return EvidenceAnswer.of(found)

    def _seen(self, caller: Caller, shown: Iterable[ApprovalAnswer]) -> None:
        """Record that a person is shown these questions now."""
        actor = caller.actor
        if actor is None:
            return
        key = f"{Surface.METHOD}:{actor.ref}:"
        for one in shown:
            waits = one.state is ApprovalState.PENDING
            if waits and not self.gate.seen.has(ApprovalId(one.id), key):
                text = json.dumps(one.as_json(), ensure_ascii=False)
                self.gate.seen.note(View(ApprovalId(one.id), actor, Surface.METHOD, text))


def _seconds(timeout_ms: int | None) -> float | None:
    return None if timeout_ms is None else timeout_ms / 1000


def _actor(caller: Caller) -> Actor:
    if caller.actor is None:
        raise Forbidden(
            "This token belongs to no person, so it cannot approve. Create one with --person."
        )
    return caller.actor


def _session(caller: Caller) -> tuple[int, int] | None:
    """Return the kernel session of a local answer, which distinguishes it from the asker."""
    if caller.peer is None:
        return None
    if unix_peer.is_run(caller.peer.pid):
        raise Forbidden(f"{RUN_BY_US} Nothing was decided.")
    session = unix_peer.kernel_session(caller.peer.pid)
    if session is None:
        raise BadRequest("the terminal of this answer is unknown; answer from a shell")
    return session
