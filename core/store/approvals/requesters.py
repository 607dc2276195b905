"""Find the requesters of a question: its own, and those of identical ones that wait with it.

One answer may end all of them (``followers``), so none of those who asked may give it, whichever
one they asked. Only local programs can share a question with another: their accounts are the same,
their kernel sessions need not be (docs/decisions/0007).
"""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select, union

from core.model.approval import Approval
from core.model.identity import Actor, ApprovalId, Intake, PersonId, Requester
from core.store.approvals import votes
from core.store.approvals.queries import find
from core.store.people import passkeys, people, totp_keys
from core.store.people.passkeys import Passkey
from core.store.schema.json_columns import load
from core.store.schema.tables import HAS_LEADER, IS_PENDING, approvals, questions

_ID = bindparam("p_id", type_=approvals.c.id.type)
_own = approvals.alias("own")
_first = select(func.coalesce(_own.c.behind, _own.c.id)).where(_own.c.id == _ID).scalar_subquery()
_asked = select(questions.c.requester).join(approvals, approvals.c.id == questions.c.id)
_ASKERS = union(
    _asked.where(approvals.c.id == _ID),
    _asked.where(approvals.c.id == _first),
    _asked.where(IS_PENDING, HAS_LEADER, approvals.c.behind == _first),
)


@dataclass(frozen=True, slots=True)
class ResolvedReference:
    """What a reference may mean, who the actor is, and who asked it where it means one thing.

    ``asker`` is the person who asked it in a chat or with a token, ``askers`` are all who asked it
    or an identical question that waits with it. ``app`` is the actor's authenticator app,
    ``passkeys`` are the actor's; both only where a step-up is required.
    """

    approvals: tuple[Approval, ...]
    known: people.KnownAs
    asker: PersonId | None = None
    askers: tuple[Requester, ...] = ()
    app: totp_keys.TotpKey | None = None
    passkeys: tuple[Passkey, ...] = ()


def find_for(conn: Connection, ref: str, actor: Actor) -> ResolvedReference:
    """Return what ``ref`` may mean, who the actor is, and who asked."""
    found, known = find(conn, ref), people.known_as(conn, actor)
    if len(found) != 1:
        return ResolvedReference(found, known)
    asker = votes.requester_person(conn, found[0].requester)
    asking = askers_of(conn, found[0].id)
    if not found[0].step_up:
        return ResolvedReference(found, known, asker, asking)
    app = totp_keys.key_of(conn, known.person)
    return ResolvedReference(
        found, known, asker, asking, app, passkeys.of_person(conn, known.person)
    )


def references(conn: Connection, requester: Requester) -> frozenset[str]:
    """Return how lists of approvers may name a requester: the account, the person, its accounts.

    Only the account where a program asks over the socket (docs/decisions/0007).
    """
    person = votes.requester_person(conn, requester)
    if person is None:
        return frozenset((requester.account,))
    linked = people.accounts_of(conn, person)
    return frozenset((requester.account, f"person:{person}", *linked))


def askers_of(conn: Connection, approval_id: ApprovalId) -> tuple[Requester, ...]:
    """Return who asked a question, or an identical one that waits with it; in no order."""
    rows = conn.execute(_ASKERS, {"p_id": approval_id}).scalars()
    return tuple(load(Requester, row) for row in rows)


def asks_itself(conn: Connection, approval_id: ApprovalId, process: tuple[int, int] | None) -> bool:
    """Return whether a kernel session asked it, or an identical question; hold it until the commit.

    Held, because no question of that session may join it between this check and the answer. One
    whose session is unknown counts as that one's. ``None`` is nobody on this machine.
    """
    if process is None:
        return False
    votes.lock(conn, approval_id)
    local = (one for one in askers_of(conn, approval_id) if one.intake is not Intake.CHAT)
    return any(one.process in {None, process} for one in local)
