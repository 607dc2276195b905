"""Decide approvals: one guarded statement on the database's clock; expiry is part of it.

The person who answers is looked up in the same transaction: one who was revoked before it never
decides, and neither does the requester on another of its accounts. Where several people must allow,
the row is locked first and each allow is a vote; the last one needed decides.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, RowMapping, bindparam, case, func, select, update

from core.model.approval import Approval, ApprovalReply, ApprovalState, GrantTerms, Vote
from core.model.decision import DenialReason
from core.model.evidence import View
from core.model.identity import Actor, ApprovalId, PersonId, Requester
from core.store.approvals import grants, proofs, requesters, votes
from core.store.approvals.conclude import Concluded, Ending, conclude
from core.store.approvals.queries import existing, get
from core.store.approvals.redelivery import Recorded, before, remember
from core.store.engine.clock import now_ms
from core.store.engine.context import require_space
from core.store.engine.notifications import note_approval
from core.store.outbox import showings
from core.store.outbox.message_lookup import is_asked_elsewhere
from core.store.people import passkeys, people, totp_keys
from core.store.people.passkeys import PasskeySpend
from core.store.schema.json_columns import load
from core.store.schema.records import AnswerRefusal, EndState, StoredAnswer
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
class Ballot:
    """What a person answers to one approval, as the caller authorised it.

    ``key`` names the message that carried it (platform and update id), ``None`` where a message
    cannot come twice. ``person`` is who the caller found the actor to be. ``process`` is a local
    actor's kernel session. ``terms`` limit an allow-always. ``step`` is that of the code which the
    person proved a step-up with, ``passkey`` what a passkey signed instead. ``views`` are what the
    actor looked at before. ``channels`` are those whose edits the caller sends itself, where this
    ends the question; a process that dies before it has done so leaves claims that end like any
    other. ``counts`` says whose earlier votes still count.
    """

    approval_id: ApprovalId
    reply: ApprovalReply
    actor: Actor
    key: str | None
    note: str = ""
    terms: GrantTerms | None = None
    person: PersonId | None = None
    process: tuple[int, int] | None = None
    step: int | None = None
    passkey: PasskeySpend | None = None
    views: Sequence[View] = ()
    channels: Collection[str] = ()
    counts: votes.Counts = votes.every

    @property
    def allows(self) -> bool:
        """Return whether it would let something run."""
        return self.reply is not ApprovalReply.DENY

    @property
    def limits(self) -> GrantTerms | None:
        """Return what limits it, where it allows always and anything does."""
        always = self.reply is ApprovalReply.ALLOW_ALWAYS
        return self.terms if always and self.terms != GrantTerms() else None

    @property
    def has_proof(self) -> bool:
        """Return whether an app or a passkey proved who answers."""
        return self.step is not None or self.passkey is not None


@dataclass(frozen=True, slots=True)
class _Case:
    """A ballot, who its actor is now, and the question that it answers.

    ``step_up``: it waits for one. ``reply`` and ``terms`` are what the ballot counts as: of several
    allows the narrowest holds.
    """

    ballot: Ballot
    known: people.KnownAs
    requester: Requester
    quorum: int
    digest: str
    step_up: bool
    reply: ApprovalReply
    terms: GrantTerms | None


def answer(conn: Connection, ballot: Ballot) -> StoredAnswer | None:
    """Decide an approval, once, or count a vote; ``None`` if none has this id.

    The same message again gets the same answer, which also settles a commit that was in doubt. An
    actor who is now another person than was authorised, or who asked it or an identical question,
    is refused. What proves a step-up is used up here, and refused as ``CHANGED`` if it was used
    before. What the actor looked at is recorded before it is decided.

    Raises:
        StoreFull: the disk is full and the reply would let something run; a denial is recorded.
    """
    row = conn.execute(_ASKED, {"p_id": ballot.approval_id}).mappings().first()
    if row is None:
        return None
    asked = _Case(
        ballot,
        people.known_as(conn, ballot.actor),
        requester=load(Requester, row["requester"]),
        quorum=row["quorum"],
        digest=row["digest"],
        step_up=bool(row["step_up"]) and row["state"] == ApprovalState.PENDING,
        reply=ballot.reply,
        terms=ballot.limits,
    )
    return _answer(conn, asked)


def answer_known(
    conn: Connection, ballot: Ballot, approval: Approval, known: people.KnownAs
) -> StoredAnswer:
    """Answer an approval that this transaction has just read, as ``answer`` does.

    Raises:
        StoreFull: the disk is full and the reply would let something run; a denial is recorded.
    """
    asked = _Case(
        ballot,
        known,
        requester=approval.requester,
        quorum=approval.quorum,
        digest=approval.plan.digest,
        step_up=approval.step_up and approval.resolution is None,
        reply=ballot.reply,
        terms=ballot.limits,
    )
    return _answer(conn, asked)


def _answer(conn: Connection, asked: _Case) -> StoredAnswer:
    ballot = asked.ballot
    if ballot.allows:
        require_space(conn)
    refusal = _refusal(conn, asked)
    proving = refusal is None and _proves(conn, asked)
    if proving and not _spent(conn, asked):
        refusal = AnswerRefusal.CHANGED
    if refusal is not None:
        approval = existing(conn, ballot.approval_id)
        return StoredAnswer(won=False, repeated=False, approval=approval, refused=refusal)
    showings.record_views(conn, ballot.views)
    made = _vote(conn, asked) if asked.quorum > 1 and ballot.allows else _decide(conn, asked)
    if proving and (made.won or made.counted):
        _keep_proof(conn, asked)
    return made


def _refusal(conn: Connection, asked: _Case) -> AnswerRefusal | None:
    ballot, known = asked.ballot, asked.known
    if known.revoked:
        return AnswerRefusal.REVOKED
    if known.person == votes.requester_person(conn, asked.requester):
        return AnswerRefusal.REQUESTER
    if ballot.person is not None and known.person != ballot.person:
        return AnswerRefusal.CHANGED
    if requesters.asks_itself(conn, ballot.approval_id, ballot.process):
        return AnswerRefusal.REQUESTER
    return None


def _proves(conn: Connection, asked: _Case) -> bool:
    """Return whether it counts by a proof only: one is given, or the person has what gives one."""
    if not asked.step_up:
        return False
    # What was proven with an app or a passkey that is forgotten by now was not typed either.
    if asked.ballot.has_proof:
        return True
    if not asked.ballot.allows:
        return False
    has_app = totp_keys.key_of(conn, asked.known.person) is not None
    return has_app or bool(passkeys.of_person(conn, asked.known.person))


def _spent(conn: Connection, asked: _Case) -> bool:
    step, passkey = asked.ballot.step, asked.ballot.passkey
    if passkey is not None:
        return passkeys.spend(conn, asked.known.person, passkey)
    return step is not None and totp_keys.spend(conn, asked.known.person, step)


def _keep_proof(conn: Connection, asked: _Case) -> None:
    ballot, passkey = asked.ballot, asked.ballot.passkey
    signed = None if passkey is None else passkey.proof
    known = None if passkey is None else passkeys.get(conn, passkey.id)
    proof = proofs.Proof(
        approval_id=ballot.approval_id,
        person=asked.known.person,
        digest=asked.digest,
        reply=ballot.reply,
        step=ballot.step or 0,
        at_ms=now_ms(conn),
        passkey=signed,
        public_key=None if known is None else known.public_key,
    )
    proofs.record(conn, proof)


def _vote(conn: Connection, asked: _Case) -> StoredAnswer:
    ballot, approval_id = asked.ballot, asked.ballot.approval_id
    in_time = votes.lock(conn, approval_id)
    recorded = before(conn, ballot.key, approval_id)
    if recorded is not None:
        # A redelivered vote must not replace one that the person cast later.
        return _replayed(conn, ballot, recorded)
    if not in_time:
        return _decide(conn, asked)
    vote = Vote(asked.known.person, ballot.actor, asked.reply, now_ms(conn), asked.terms)
    votes.cast(conn, approval_id, vote)
    votes.drop(conn, approval_id, ballot.counts)
    counted = votes.counting(conn, approval_id, asked.requester)
    if len(counted) < asked.quorum:
        remember(conn, ballot.key, approval_id, Recorded.COUNTED)
        votes.notify(conn, approval_id, vote, len(counted), asked.quorum)
        note_approval(conn, approval_id)
        approval = existing(conn, approval_id)
        return StoredAnswer(won=False, repeated=False, approval=approval, counted=True)
    votes.keep_only(conn, approval_id, counted)
    reply, terms = votes.narrowest(counted)
    return _decide(conn, replace(asked, reply=reply, terms=terms))


def _decide(conn: Connection, asked: _Case) -> StoredAnswer:
    ballot, approval_id = asked.ballot, asked.ballot.approval_id
    wanted = _STATE_OF[asked.reply]
    row = _end(conn, approval_id, wanted)
    won = row is not None and row["state"] == wanted.value
    late = row is not None and not won
    concluded = Concluded()
    if row is not None and won:
        concluded = conclude(conn, [_by_person(row, asked)], ballot.channels)
        if asked.terms is not None:
            grants.give(conn, approval_id, asked.terms, ballot.actor, row["now"])
    elif row is not None:
        conclude(conn, [timed_out(row)])
    recorded = remember(conn, ballot.key, approval_id, Recorded.WON if won else Recorded.LOST)
    if recorded is not None:
        return _replayed(conn, ballot, recorded)
    approval = existing(conn, approval_id)
    return StoredAnswer(
        won=won, repeated=False, approval=approval, edits=concluded.edits, late=late
    )


def _replayed(conn: Connection, ballot: Ballot, recorded: Recorded) -> StoredAnswer:
    approval = existing(conn, ballot.approval_id)
    return StoredAnswer(
        recorded is Recorded.WON, True, approval, counted=recorded is Recorded.COUNTED
    )


def settled(conn: Connection, approval_id: ApprovalId) -> Approval | None:
    """Return an approval, once no end of it is being committed; ``None`` if none has this id.

    That is how to learn what became of a COMMIT whose answer was lost.
    """
    votes.lock(conn, approval_id)
    return get(conn, approval_id)


def cancel(conn: Connection, approval_id: ApprovalId, note: str) -> EndState | None:
    """End a pending approval because nobody needs its answer; return its true state.

    ``None`` if no approval has this id.
    """
    row = _end(conn, approval_id, ApprovalState.CANCELLED)
    if row is not None:
        if row["state"] == ApprovalState.CANCELLED.value:
            why = DenialReason.CANCELLED
            ending = _ending(row, ApprovalState.CANCELLED, DecisionSource.CANCEL, why, note)
        else:
            ending = timed_out(row)
        conclude(conn, [ending])
    approval = get(conn, approval_id)
    return None if approval is None else EndState(approval, now=row is not None)


def settle_lost(
    conn: Connection, approval_id: ApprovalId, channel: str, note: str
) -> Approval | None:
    """Deny a pending approval whose only place was a channel that is gone (``no_route``).

    ``None`` where another place was asked or will be, or somebody may answer without a prompt: then
    it stays open. What was lost is denied whatever askFallback says: ending the program that asks
    must not be a way to be allowed.
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
    """Note that the patterns of an allow-always are now in the approvals file."""
    conn.execute(_PAY, {"p_id": approval_id})


def timed_out(row: RowMapping) -> Ending:
    """Describe the end of a row that a guarded statement has just written ``expired``."""
    return _ending(
        row, ApprovalState.EXPIRED, DecisionSource.TIMEOUT, DenialReason.APPROVAL_TIMEOUT, ""
    )


def _end(conn: Connection, approval_id: str, wanted: ApprovalState) -> RowMapping | None:
    found = conn.execute(_END, {"p_id": approval_id, "p_wanted": wanted.value})
    return found.mappings().first()


def _by_person(row: RowMapping, asked: _Case) -> Ending:
    denied = asked.reply is ApprovalReply.DENY
    return Ending(
        id=row["id"],
        session=row["session"],
        place=row["place"],
        state=_STATE_OF[asked.reply],
        source=DecisionSource.PERSON,
        at_ms=row["now"],
        reply=asked.reply,
        reason=DenialReason.APPROVER_DENIED if denied else None,
        by=asked.ballot.actor,
        note=asked.ballot.note,
        terms=asked.terms,
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
