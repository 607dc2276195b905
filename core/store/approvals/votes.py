"""Count people where several must allow: one vote per person, the last one counts.

The owner of a vote's account is looked up again each time, so that linking two accounts makes
their two votes one, and a revoked person's vote no longer counts. Whoever counts says who is still
listed.
"""

import json
from collections.abc import Callable

from sqlalchemy import Connection, RowMapping, bindparam, delete, func, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.approval import ApprovalReply, GrantTerms, Vote
from core.model.identity import (
    NETWORK,
    Actor,
    ApprovalId,
    Intake,
    PersonId,
    Requester,
    Target,
    code_of,
)
from core.store.engine.context import context_of
from core.store.outbox.enqueue import enqueue_notice
from core.store.people import people
from core.store.schema.json_columns import dump, load, plain
from core.store.schema.people_tables import votes
from core.store.schema.tables import IS_PENDING, IS_SHOWN_PROMPT, approvals, outbox

_VOTE = insert(votes)
_CAST = _VOTE.on_conflict_do_update(
    index_elements=[votes.c.approval_id, votes.c.person],
    set_={
        name: _VOTE.excluded[name]
        for name in ("channel", "account", "name", "reply", "terms", "at_ms", "journal")
    },
)
_OF_APPROVAL = (
    select(votes)
    .where(votes.c.approval_id == bindparam("p_id"))
    .order_by(votes.c.at_ms, votes.c.person)
)
_FORGET = delete(votes).where(
    votes.c.approval_id == bindparam("p_id"),
    votes.c.person.not_in(bindparam("p_people", expanding=True)),
)
_LOCK = (
    select(approvals.c.deadline_ms > func.sayso_now())
    .where(approvals.c.id == bindparam("p_id"), IS_PENDING)
    .with_for_update()
)
_SHOWN_AT = (
    select(outbox.c.target)
    .where(outbox.c.approval_id == bindparam("p_id"), IS_SHOWN_PROMPT)
    .distinct()
)


Counts = Callable[[Actor, PersonId], bool]
"""Return whether the vote of an account, and of the person whose it is, still counts."""


def every(_actor: Actor, _person: PersonId) -> bool:
    """Count every vote."""
    return True


def requester_person(conn: Connection, requester: Requester) -> PersonId | None:
    """Return who asked in a chat or with a token; ``None`` where a program asked over the socket.

    A uid is an account of the machine and not a person (docs/decisions/0007).
    """
    if requester.intake is not Intake.CHAT and requester.intake not in NETWORK:
        return None
    channel, _, account = requester.account.partition(":")
    return people.person_of(conn, channel, account).person


def lock(conn: Connection, approval_id: ApprovalId) -> bool:
    """Hold a pending approval until the commit; ``False`` if it has ended or its time is over."""
    return bool(conn.execute(_LOCK, {"p_id": approval_id}).scalar())


def cast(conn: Connection, approval_id: ApprovalId, vote: Vote) -> None:
    """Record a person's allow; the person's earlier one is replaced."""
    conn.execute(
        _CAST,
        {
            "approval_id": approval_id,
            "person": vote.person,
            "channel": vote.by.channel,
            "account": vote.by.account,
            "name": plain(vote.by.name),
            "reply": vote.reply.value,
            "terms": dump(vote.terms) if vote.terms else None,
            "at_ms": vote.at_ms,
            "journal": context_of(conn).journal,
        },
    )


def recorded(conn: Connection, approval_id: str) -> tuple[Vote, ...]:
    """Return the votes as they were cast, the first one first."""
    rows = conn.execute(_OF_APPROVAL, {"p_id": approval_id}).mappings().all()
    return tuple(_vote(row) for row in rows)


def counting(conn: Connection, approval_id: str, requester: Requester) -> tuple[Vote, ...]:
    """Return the votes that count now: one per person, none of the requester's or the revoked."""
    asked = requester_person(conn, requester)
    counted: dict[PersonId, Vote] = {}
    for vote in recorded(conn, approval_id):
        known = people.known_as(conn, vote.by)
        if not known.revoked and known.person != asked:
            counted[known.person] = vote
    return tuple(sorted(counted.values(), key=lambda vote: vote.at_ms))


def drop(conn: Connection, approval_id: ApprovalId, counts: Counts) -> None:
    """Forget the votes of those who were taken off the list since."""
    cast_ = recorded(conn, approval_id)
    kept = tuple(one for one in cast_ if counts(one.by, people.known_as(conn, one.by).person))
    if len(kept) < len(cast_):
        keep_only(conn, approval_id, kept)


def keep_only(conn: Connection, approval_id: str, counted: tuple[Vote, ...]) -> None:
    """Forget the votes that did not count, so that history shows who decided."""
    conn.execute(_FORGET, {"p_id": approval_id, "p_people": [vote.person for vote in counted]})


def narrowest(counted: tuple[Vote, ...]) -> tuple[ApprovalReply, GrantTerms | None]:
    """Combine allows: once, if anybody said once; otherwise always, within everybody's limits."""
    if any(vote.reply is ApprovalReply.ALLOW_ONCE for vote in counted):
        return ApprovalReply.ALLOW_ONCE, None
    limits = [vote.terms for vote in counted if vote.terms is not None]
    if not limits:
        return ApprovalReply.ALLOW_ALWAYS, None
    times = [limit.for_ms for limit in limits if limit.for_ms is not None]
    uses = [limit.uses for limit in limits if limit.uses is not None]
    return ApprovalReply.ALLOW_ALWAYS, GrantTerms(
        for_ms=min(times, default=None),
        uses=min(uses, default=None),
        session_only=any(limit.session_only for limit in limits),
        task_only=any(limit.task_only for limit in limits),
    )


def notify(
    conn: Connection, approval_id: ApprovalId, vote: Vote, counted: int, quorum: int
) -> None:
    """Notify each place that shows the prompt of each person's allow, once per person and place."""
    who = vote.by.name or vote.by.account
    needed = quorum - counted
    words = (
        f"{who} ({vote.by.channel}) allowed {code_of(approval_id)}: {counted} of {quorum} "
        f"people; {'one more is' if needed == 1 else f'{needed} more are'} needed."
    )
    for text in conn.execute(_SHOWN_AT, {"p_id": approval_id}).scalars().all():
        key = f"{approval_id}:vote:{vote.person}:{text}"
        payload = json.dumps({"text": words})
        enqueue_notice(conn, approval_id, load(Target, text), payload, key)


def _vote(row: RowMapping) -> Vote:
    return Vote(
        person=PersonId(row["person"]),
        by=Actor(row["channel"], row["account"], row["name"]),
        reply=ApprovalReply(row["reply"]),
        at_ms=row["at_ms"],
        terms=load(GrantTerms, row["terms"]) if row["terms"] else None,
    )
