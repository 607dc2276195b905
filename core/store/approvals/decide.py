"""Decide approvals: one guarded statement on the database's clock; expiry is part of it.

Who answers is looked up in the same transaction: a person who was revoked before it never
decides, and neither does the requester on another of its accounts. Where several people must
allow, the row is locked first and each allow is a vote; the last one needed decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, RowMapping, bindparam, case, func, select, update

from core.errors import StoreError
from core.model.approval import Approval, ApprovalReply, ApprovalState, GrantTerms, Vote
from core.model.decision import DenialReason
from core.model.evidence import View
from core.model.identity import Actor, ApprovalId, PersonId, Requester
from core.store.approvals import grants, proofs, requesters, votes
from core.store.approvals.conclude import Ending, conclude
from core.store.approvals.queries import get
from core.store.approvals.redelivery import Recorded, before, remember
from core.store.engine.clock import now_ms
from core.store.engine.context import require_space
from core.store.engine.notifications import note_approval
from core.store.outbox import showings
from core.store.outbox.message_lookup import is_asked_elsewhere
from core.store.people import passkeys, people, totp_keys
from core.store.people.passkeys import PasskeySpend
from core.store.schema.json_columns import load
from core.store.schema.records import Answer, AnswerRefusal
from core.store.schema.states import DecisionSource
from core.store.schema.tables import IS_PENDING, approvals, decisions, questions

_END = (
    update(approvals)
    .where(approvals.c.id == bindparam("p_id"), IS_PENDING)
    .values(
        state=case(
            (approvals.c.deadline_ms > func.sayso_now(), bindparam("p_wanted")),
            else_=ApprovalState.EXPIRED.value,
        )
    )
    .returning(
        approvals.c.id,
        approvals.c.state,
        approvals.c.session,
        approvals.c.place,
        func.sayso_now().label("now"),
    )
)
_ASKED = (
    select(
        approvals.c.quorum,
        approvals.c.state,
        approvals.c.digest,
        questions.c.requester,
        questions.c.step_up,
    )
    .join(questions, questions.c.id == approvals.c.id)
    .where(approvals.c.id == bindparam("p_id"))
)
_IS_LOCAL = select(questions.c.local).where(questions.c.id == bindparam("p_id"))
_PAY = update(decisions).where(decisions.c.approval_id == bindparam("p_id")).values(owed=0)
_STATE_OF = {
    ApprovalReply.ALLOW_ONCE: ApprovalState.ALLOWED,
    ApprovalReply.ALLOW_ALWAYS: ApprovalState.ALLOWED,
    ApprovalReply.DENY: ApprovalState.DENIED,
}


@dataclass(frozen=True, slots=True)
class _Ballot:
    """What a person said about one approval, and who that is."""

    approval_id: ApprovalId
    reply: ApprovalReply
    actor: Actor
    person: PersonId
    key: str | None
    note: str
    terms: GrantTerms | None


def answer(
    conn: Connection,
    approval_id: ApprovalId,
    reply: ApprovalReply,
    actor: Actor,
    inbound_key: str | None,
    note: str = "",
    terms: GrantTerms | None = None,
    person: PersonId | None = None,
    process: tuple[int, int] | None = None,
    step: int | None = None,
    passkey: PasskeySpend | None = None,
    views: Sequence[View] = (),
) -> Answer | None:
    """Decide an approval, once, or count a vote; ``None`` if there is none with this id.

    ``inbound_key`` names the message that carried the reply (platform and update id): the same
    message again gets the same answer, which also settles a commit that was in doubt. ``person``
    is who the caller found the actor to be and authorised; another one now is refused. ``process``
    is a local actor's kernel session: one that asked it, or an identical question, is refused.
    ``terms`` limit an allow-always. ``step`` is that of the code which the person proved a step-up
    with, ``passkey`` what a passkey signed instead: either is used up here, and refused as
    ``CHANGED`` where it was before. ``views`` are what the actor looked at before, and are
    recorded before it is decided.

    Raises:
        StoreFull: the disk is full and the reply would let something run; a denial is recorded.
    """
    if reply is not ApprovalReply.DENY:
        require_space(conn)
    asked = conn.execute(_ASKED, {"p_id": approval_id}).first()
    if asked is None:
        return None
    requester = load(Requester, asked.requester)
    known = people.known_as(conn, actor)
    refusal = _refusal(conn, requester, known, person)
    if refusal is None and requesters.asks_itself(conn, approval_id, process):
        refusal = AnswerRefusal.REQUESTER
    ballot = _Ballot(
        approval_id, reply, actor, known.person, inbound_key, note, _limits(reply, terms)
    )
    waits = asked.step_up and asked.state == ApprovalState.PENDING
    # What was proven with an app or a passkey that is forgotten by now was not typed either.
    given = waits and (step is not None or passkey is not None)
    proving = refusal is None and (given or _needs_proof(conn, ballot, step_up=waits))
    if proving and not _spent(conn, ballot.person, step, passkey):
        refusal = AnswerRefusal.CHANGED
    if refusal is not None:
        return Answer(won=False, repeated=False, approval=_read(conn, approval_id), refused=refusal)
    showings.record_views(conn, views)
    made = _count(conn, ballot, requester, asked.quorum)
    if proving and (made.won or made.counted):
        _keep_proof(conn, ballot, asked.digest, step, passkey)
    return made


def _count(conn: Connection, ballot: _Ballot, requester: Requester, quorum: int) -> Answer:
    if quorum > 1 and ballot.reply is not ApprovalReply.DENY:
        return _vote(conn, ballot, requester, quorum)
    return _decide(conn, ballot)


def _needs_proof(conn: Connection, ballot: _Ballot, *, step_up: bool) -> bool:
    """Return whether only a proof allows it: a step-up, and who has an app or a passkey."""
    if not step_up or ballot.reply is ApprovalReply.DENY:
        return False
    has_app = totp_keys.key_of(conn, ballot.person) is not None
    return has_app or bool(passkeys.of_person(conn, ballot.person))


def _spent(
    conn: Connection, person: PersonId, step: int | None, passkey: PasskeySpend | None
) -> bool:
    if passkey is not None:
        return passkeys.spend(conn, person, passkey)
    return step is not None and totp_keys.spend(conn, person, step)


def _keep_proof(
    conn: Connection,
    ballot: _Ballot,
    digest: str,
    step: int | None,
    passkey: PasskeySpend | None,
) -> None:
    signed = None if passkey is None else passkey.proof
    known = None if passkey is None else passkeys.get(conn, passkey.id)
    proof = proofs.Proof(
        approval_id=ballot.approval_id,
        person=ballot.person,
        digest=digest,
        reply=ballot.reply,
        step=step or 0,
        at_ms=now_ms(conn),
        passkey=signed,
        public_key=None if known is None else known.public_key,
    )
    proofs.record(conn, proof)


def _refusal(
    conn: Connection, requester: Requester, known: people.KnownAs, person: PersonId | None
) -> AnswerRefusal | None:
    if known.revoked:
        return AnswerRefusal.REVOKED
    if known.person == votes.requester_person(conn, requester):
        return AnswerRefusal.REQUESTER
    if person is not None and known.person != person:
        return AnswerRefusal.CHANGED
    return None


def _limits(reply: ApprovalReply, terms: GrantTerms | None) -> GrantTerms | None:
    return terms if reply is ApprovalReply.ALLOW_ALWAYS and terms != GrantTerms() else None


def _vote(conn: Connection, ballot: _Ballot, requester: Requester, quorum: int) -> Answer:
    in_time = votes.lock(conn, ballot.approval_id)
    recorded = before(conn, ballot.key, ballot.approval_id)
    if recorded is not None:
        # A redelivered vote must not replace one that the person cast later.
        return _replayed(conn, ballot, recorded)
    if not in_time:
        return _decide(conn, ballot)
    vote = Vote(ballot.person, ballot.actor, ballot.reply, now_ms(conn), ballot.terms)
    votes.cast(conn, ballot.approval_id, vote)
    counted = votes.counting(conn, ballot.approval_id, requester)
    if len(counted) < quorum:
        remember(conn, ballot.key, ballot.approval_id, Recorded.COUNTED)
        votes.notify(conn, ballot.approval_id, vote, len(counted), quorum)
        note_approval(conn, ballot.approval_id)
        approval = _read(conn, ballot.approval_id)
        return Answer(won=False, repeated=False, approval=approval, counted=True)
    votes.keep_only(conn, ballot.approval_id, counted)
    reply, terms = votes.narrowest(counted)
    return _decide(conn, replace(ballot, reply=reply, terms=terms))


def _decide(conn: Connection, ballot: _Ballot) -> Answer:
    wanted = _STATE_OF[ballot.reply]
    row = _end(conn, ballot.approval_id, wanted)
    won = row is not None and row["state"] == wanted.value
    if row is not None:
        conclude(conn, [_by_person(row, ballot) if won else timed_out(row)])
        if won and ballot.terms is not None:
            grants.give(conn, ballot.approval_id, ballot.terms, ballot.actor, row["now"])
    recorded = remember(
        conn, ballot.key, ballot.approval_id, Recorded.WON if won else Recorded.LOST
    )
    if recorded is not None:
        return _replayed(conn, ballot, recorded)
    return Answer(won=won, repeated=False, approval=_read(conn, ballot.approval_id))


def _replayed(conn: Connection, ballot: _Ballot, recorded: Recorded) -> Answer:
    approval = _read(conn, ballot.approval_id)
    return Answer(recorded is Recorded.WON, True, approval, counted=recorded is Recorded.COUNTED)


def _read(conn: Connection, approval_id: ApprovalId) -> Approval:
    approval = get(conn, approval_id)
    if approval is None:
        raise StoreError(f"Approval {approval_id} vanished inside its own transaction.")
    return approval


def cancel(
    conn: Connection,
    approval_id: ApprovalId,
    note: str,
    reason: DenialReason = DenialReason.CANCELLED,
) -> Approval | None:
    """End a pending approval because nobody needs its answer; return its true state.

    ``reason`` is ``CANCELLED``, or ``UNDELIVERED`` where no copy of the prompt could be sent.
    ``None`` if there is no approval with this id.
    """
    row = _end(conn, approval_id, ApprovalState.CANCELLED)
    if row is not None:
        if row["state"] == ApprovalState.CANCELLED.value:
            ending = _ending(row, ApprovalState.CANCELLED, DecisionSource.CANCEL, reason, note)
        else:
            ending = timed_out(row)
        conclude(conn, [ending])
    return get(conn, approval_id)


def settle_lost(
    conn: Connection, approval_id: ApprovalId, channel: str, note: str
) -> Approval | None:
    """Deny a pending approval whose only place was a channel that is gone (``no_route``).

    ``None`` where another place was asked or will be, or somebody may answer without a prompt: then
    it goes on. What was lost is denied whatever askFallback says: ending the program that asks must
    not be a way to be allowed.
    """
    if conn.execute(_IS_LOCAL, {"p_id": approval_id}).scalar() != 0:
        return None
    if is_asked_elsewhere(conn, approval_id, channel):
        return None
    row = _end(conn, approval_id, ApprovalState.DENIED)
    if row is None:
        return None
    if row["state"] == ApprovalState.DENIED.value:
        why = DenialReason.NO_ROUTE
        ending = _ending(row, ApprovalState.DENIED, DecisionSource.FALLBACK, why, note)
    else:
        ending = timed_out(row)
    conclude(conn, [ending])
    return get(conn, approval_id)


def mark_remembered(conn: Connection, approval_id: ApprovalId) -> None:
    """Note that the patterns of an allow-always are in the approvals file now."""
    conn.execute(_PAY, {"p_id": approval_id})


def timed_out(row: RowMapping) -> Ending:
    """Describe the end of a row that a guarded statement has just written ``expired``."""
    return _ending(
        row, ApprovalState.EXPIRED, DecisionSource.TIMEOUT, DenialReason.APPROVAL_TIMEOUT, ""
    )


def _end(conn: Connection, approval_id: str, wanted: ApprovalState) -> RowMapping | None:
    found = conn.execute(_END, {"p_id": approval_id, "p_wanted": wanted.value})
    return found.mappings().first()


def _by_person(row: RowMapping, ballot: _Ballot) -> Ending:
    denied = ballot.reply is ApprovalReply.DENY
    return Ending(
        id=row["id"],
        session=row["session"],
        place=row["place"],
        state=_STATE_OF[ballot.reply],
        source=DecisionSource.PERSON,
        at_ms=row["now"],
        reply=ballot.reply,
        reason=DenialReason.APPROVER_DENIED if denied else None,
        by=ballot.actor,
        note=ballot.note,
        terms=ballot.terms,
    )


def _ending(
    row: RowMapping, state: ApprovalState, source: DecisionSource, reason: DenialReason, note: str
) -> Ending:
    return Ending(
        id=row["id"],
        session=row["session"],
        place=row["place"],
        state=state,
        source=source,
        at_ms=row["now"],
        reason=reason,
        note=note,
    )
