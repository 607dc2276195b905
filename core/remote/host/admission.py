"""Check a request against the six conditions of S4, in the order of that page.

::

    1  the envelope is signed by the agent it names; it is for this machine, and fresh
    2  it is signed by the machine it names
    3  the trust store accepts the two
    4  the access list has exactly this pair; the request was not made before
    5  the vector is listed; no element holds a shell metacharacter
    6  standard input, timeout and concurrency are within the caps

What a stranger learns: 1 and 2 are only about its own envelope, 3 has the same answer for a sender
that is unknown, known on another machine, or rejected. Only a trusted peer gets an answer from 4,
and only a listed one learns anything that depends on the list.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from core.errors import StateError
from core.remote.acl.acl import Acl
from core.remote.denials import RemoteDenial
from core.remote.host.active_runs import Sessions
from core.remote.trust.contacts import Contacts
from core.remote.trust.envelope import Opened, Order
from core.remote.trust.replay_window import Freshness

_log = logging.getLogger(__name__)
METACHARACTERS = frozenset(";|&><`$\n\0")
"""S4: each element of a request is checked for these as defence in depth."""


@dataclass(slots=True)
class AdmissionContext:
    """What a host bases its judgement on. ``contacts`` is read again for each request."""

    machine_id: str
    acl: Acl | None
    contacts: Callable[[], Contacts]
    freshness: Freshness = field(default_factory=Freshness)
    sessions: Sessions = field(default_factory=Sessions)


Condition = Callable[[AdmissionContext, Opened], RemoteDenial | None]


def is_signed(_: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """1: the signature verifies the requester's agent id."""
    return None if request.is_signed else RemoteDenial.SIGNATURE_INVALID


def is_for_here(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """1: it was sealed for this machine, and cannot be carried to another."""
    here = request.payload.to_machine == context.machine_id
    return None if here else RemoteDenial.WRONG_MACHINE


def is_fresh(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """1: it is neither too old nor from before this service began."""
    return context.freshness.stale(request.payload)


def is_bound(_: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """2: the sender's binding of agent to machine is verified."""
    return None if request.is_bound else RemoteDenial.MACHINE_BINDING_UNVERIFIED


def is_trusted(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """3: the local trust evaluator returns accept."""
    payload = request.payload
    try:
        trusted = context.contacts().trusts(payload.agent_id, payload.machine_id)
    except StateError as error:
        _log.warning("no contact is trusted: %s", error)
        trusted = False
    return None if trusted else RemoteDenial.UNTRUSTED


def is_enabled(context: AdmissionContext, _: Opened) -> RemoteDenial | None:
    """4: there is an access list in force at all."""
    on = context.acl is not None and context.acl.table.enabled
    return None if on else RemoteDenial.EXEC_DISABLED


def is_listed(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """4: the list has the exact pair of agent and machine."""
    payload = request.payload
    acl = context.acl
    listed = acl is not None and acl.entry(payload.agent_id, payload.machine_id) is not None
    return None if listed else RemoteDenial.ACL_PAIR_UNKNOWN


def is_new(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """4: only a listed peer may fill the memory of nonces, so it comes here."""
    return context.freshness.repeated(request.payload)


SENDER: tuple[Condition, ...] = (
    is_signed,
    is_for_here,
    is_fresh,
    is_bound,
    is_trusted,
    is_enabled,
    is_listed,
    is_new,
)
"""Who may send requests at all; checked for every envelope, also renewals and cancellations."""


def leaves_cwd_alone(_: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """5: a folder that the requester chose is refused in v1."""
    return None if _order(request).cwd is None else RemoteDenial.CWD_NOT_ALLOWED


def is_plain(_: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """5: no element holds a shell metacharacter."""
    plain = all(METACHARACTERS.isdisjoint(word) for word in _order(request).argv)
    return None if plain else RemoteDenial.SHELL_METACHARACTER


def matches(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """5: the vector equals a listed one, templates filled in."""
    payload = request.payload
    entry = context.acl.entry(payload.agent_id, payload.machine_id) if context.acl else None
    allowed = entry is not None and entry.allows(_order(request).argv)
    return None if allowed else RemoteDenial.ARGV_NOT_ALLOWED


def stdin_fits(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """6: standard input is within its cap."""
    cap = context.acl.table.max_stdin_bytes if context.acl else 0
    fits = len(_order(request).stdin or b"") <= cap
    return None if fits else RemoteDenial.STDIN_TOO_LARGE


def timeout_fits(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """6: the timeout is within its cap; a request without one gets the cap."""
    cap_s = context.acl.table.max_duration_secs if context.acl else 0
    fits = (_order(request).timeout_ms or 1) <= cap_s * 1000
    return None if fits else RemoteDenial.TIMEOUT_TOO_LONG


def has_room(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
    """6: one more run is within the caps per agent and in total."""
    if context.acl is None:
        return RemoteDenial.EXEC_DISABLED
    table = context.acl.table
    per_agent, total = table.max_concurrent_per_agent, table.max_concurrent_total
    return context.sessions.full(request.payload, per_agent, total)


ORDER: tuple[Condition, ...] = (
    leaves_cwd_alone,
    is_plain,
    matches,
    stdin_fits,
    timeout_fits,
    has_room,
)
"""What may be run; checked for a run after its sender was admitted."""


def first_denial(
    conditions: tuple[Condition, ...], context: AdmissionContext, request: Opened
) -> RemoteDenial | None:
    """Return the denial of the first condition that fails, ``None`` if all hold."""
    for condition in conditions:
        denial = condition(context, request)
        if denial is not None:
            return denial
    return None


def _order(request: Opened) -> Order:
    order = request.payload.run
    if order is None:  # a run has one: the payload's own rule
        raise ValueError("a request without an order was judged as a run")
    return order
