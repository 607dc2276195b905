"""Operate on approvals: ask, answer, expire, find. Each is one transaction's work.

Every function takes a SQLAlchemy connection first and is run by ``Store.write`` or
``Store.read``. States change only by a statement guarded by ``state = 'pending'``.

::

    insert        records a question and its prompts
    duplicates    queues identical questions behind it
    limits        how much may wait for people
    queries       finds questions
    decide        decides one, if it is still pending
    votes         counts people where several must allow
    proofs        what an allow with a second factor was proven with
    conclude      what belongs to each decision
    deadlines     expires and reminds
    grants        allow-always with a limit
    idempotency   binds a request key to its request
    redelivery    gives a message that comes again its first answer
    requesters    who asked a question, and identical ones
    history_rows  what was asked, allowed and refused;  narrowing: which rows of it
"""

from core.store.approvals.deadlines import (
    expire_and_notify,
    expire_due,
    expired_by,
    next_wake,
    remind_due,
    wake_in,
)
from core.store.approvals.decide import (
    Ballot,
    answer,
    answer_known,
    cancel,
    mark_remembered,
    settle_lost,
    settled,
)
from core.store.approvals.duplicates import ended_with
from core.store.approvals.history_rows import history, search, searched_from
from core.store.approvals.insert import create, is_asked, settle_unrouted
from core.store.approvals.limits import TooMany
from core.store.approvals.narrowing import Narrowing
from core.store.approvals.queries import (
    asked_here,
    find,
    get,
    pending,
    tool_calls,
    unremembered,
)
from core.store.approvals.requesters import ResolvedReference, find_for, references
from core.store.schema.records import (
    CodeTaken,
    Created,
    EndState,
    Expired,
    HistoryRow,
    StoredAnswer,
)

__all__ = [
    "Ballot",
    "CodeTaken",
    "Created",
    "EndState",
    "Expired",
    "HistoryRow",
    "Narrowing",
    "ResolvedReference",
    "StoredAnswer",
    "TooMany",
    "answer",
    "answer_known",
    "asked_here",
    "cancel",
    "create",
    "ended_with",
    "expire_and_notify",
    "expire_due",
    "expired_by",
    "find",
    "find_for",
    "get",
    "history",
    "is_asked",
    "mark_remembered",
    "next_wake",
    "pending",
    "references",
    "remind_due",
    "search",
    "searched_from",
    "settle_lost",
    "settle_unrouted",
    "settled",
    "tool_calls",
    "unremembered",
    "wake_in",
]
