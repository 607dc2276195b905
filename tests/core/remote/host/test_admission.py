"""Admit by S4's six conditions: each refusal, their order, and requests without one."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from core.errors import StateError
from core.policy.matching.argv_template import ArgvTemplate
from core.remote.acl.acl import Acl
from core.remote.denials import RemoteDenial
from core.remote.host.active_runs import Session
from core.remote.host.admission import (
    METACHARACTERS,
    ORDER,
    SENDER,
    AdmissionContext,
    Condition,
    first_denial,
    has_room,
    is_bound,
    is_enabled,
    is_for_here,
    is_fresh,
    is_listed,
    is_new,
    is_plain,
    is_signed,
    is_trusted,
    leaves_cwd_alone,
    matches,
    stdin_fits,
    timeout_fits,
)
from core.remote.host.lease import Lease
from core.remote.trust.contacts import Contacts, Trust
from core.remote.trust.envelope import (
    LIFE_MS,
    BadEnvelope,
    Kind,
    Opened,
    Order,
    Payload,
    Sealed,
    Sealer,
    seal,
)
from core.remote.trust.replay_window import SKEW_MS, Freshness, wall_clock_ms
from core.trust.identity import Identity
from core.trust.ids import new_id
from tests.support.remote_machines import acl_text, contact_of
from tests.support.tables import rows

D = RemoteDenial


@dataclass
class Case:
    """A host that admits one client, and a request that is valid in every way."""

    host: Identity = field(default_factory=Identity.new)
    client: Identity = field(default_factory=Identity.new)
    caps: dict[str, Any] = field(default_factory=dict)
    trust: Trust = Trust.ACCEPT
    age_ms: int = 0

    def context(self) -> AdmissionContext:
        """Return what the host judges by; it started a minute ago."""
        contacts = Contacts(contacts=(contact_of(self.client, trust=self.trust),))
        vectors = [("echo", "hello"), ("cat",), ("echo", "a;b")]
        acl = Acl.parse(acl_text(self.client, vectors, **self.caps))
        fresh = Freshness(started_ms=wall_clock_ms() - 60_000)
        return AdmissionContext(self.host.machine_id, acl, lambda: contacts, fresh)

    def payload(self, **changes: Any) -> Payload:
        """Return a payload that is valid, except for the changes."""
        now = wall_clock_ms() - self.age_ms
        right: dict[str, Any] = {
            "kind": Kind.RUN,
            "agent_id": self.client.agent_id,
            "machine_id": self.client.machine_id,
            "to_machine": self.host.machine_id,
            "nonce": new_id(),
            "issued_ms": now,
            "expires_ms": now + LIFE_MS,
            "request_id": new_id(),
            "run": Order(argv=("echo", "hello")),
        }
        return Payload(**{**right, **changes})

    def request(self, identity: Identity | None = None, **changes: Any) -> Opened:
        """Return a request, signed by the client unless another identity is given."""
        return seal(identity or self.client, self.payload(**changes)).opened()


def verdict(
    context: AdmissionContext, request: Opened, without: Condition | None = None
) -> RemoteDenial | None:
    """Judge a request by all conditions, or by all but one."""
    return first_denial(
        tuple(one for one in (*SENDER, *ORDER) if one is not without), context, request
    )


def test_a_request_that_is_right_in_every_way_is_admitted() -> None:
    """Otherwise nothing below would prove anything."""
    case = Case()

    assert verdict(case.context(), case.request()) is None


def _forged(case: Case) -> Opened:
    sealed = seal(case.client, case.payload()).model_copy(update={"signature": "0" * 128})
    return sealed.opened()


def _unbound(case: Case) -> Opened:
    sealed = seal(case.client, case.payload()).model_copy(update={"binding": "0" * 128})
    return sealed.opened()


def _run(**order: Any) -> Callable[[Case], Opened]:
    return lambda case: case.request(run=Order(**{"argv": ("echo", "hello"), **order}))


def _stranger(case: Case) -> Opened:
    other = Identity.new()
    return case.request(other, agent_id=other.agent_id, machine_id=other.machine_id)


def _another_machine(case: Case) -> Opened:
    """The right agent key, on a machine that is not the contact's."""
    moved = Identity(case.client.agent, Identity.new().machine)
    return case.request(moved, machine_id=moved.machine_id)


def _future(case: Case) -> Opened:
    late = wall_clock_ms() + SKEW_MS + 5_000
    return case.request(issued_ms=late, expires_ms=late + LIFE_MS)


BAD: list[tuple[str, Callable[[Case], Opened], RemoteDenial, Condition]] = [
    ("a forged signature", _forged, D.SIGNATURE_INVALID, is_signed),
    ("another host", lambda c: c.request(to_machine="e" * 64), D.WRONG_MACHINE, is_for_here),
    ("expired", lambda c: c.request(expires_ms=wall_clock_ms() - 1), D.EXPIRED, is_fresh),
    ("from the future", _future, D.EXPIRED, is_fresh),
    (
        "too long a life",
        lambda c: c.request(expires_ms=wall_clock_ms() + 10 * LIFE_MS),
        D.EXPIRED,
        is_fresh,
    ),
    ("a machine that did not sign", _unbound, D.MACHINE_BINDING_UNVERIFIED, is_bound),
    ("an unknown pair", _stranger, D.UNTRUSTED, is_trusted),
    ("a known agent elsewhere", _another_machine, D.UNTRUSTED, is_trusted),
    ("a folder of its own", _run(cwd="/"), D.CWD_NOT_ALLOWED, leaves_cwd_alone),
    ("a vector not listed", _run(argv=("echo", "bye")), D.ARGV_NOT_ALLOWED, matches),
    ("a metacharacter", _run(argv=("echo", "a;b")), D.SHELL_METACHARACTER, is_plain),
    (
        "too much to read",
        _run(stdin_b64=base64.b64encode(bytes(101)).decode()),
        D.STDIN_TOO_LARGE,
        stdin_fits,
    ),
    ("too long a timeout", _run(timeout_ms=10_001), D.TIMEOUT_TOO_LONG, timeout_fits),
]


@rows("what, make, denial, guard", BAD)
def test_each_condition_refuses_by_its_own_reason_and_only_it_does(
    what: str, make: Callable[[Case], Opened], denial: RemoteDenial, guard: Condition
) -> None:
    """Negative control: without its guard, the same request is not refused for this reason."""
    case = Case(caps={"max_stdin_bytes": 100, "max_duration_secs": 10})

    assert verdict(case.context(), make(case)) is denial, what
    assert verdict(case.context(), make(case), without=guard) is not denial


@rows(
    "what, guard",
    [
        (one[0], one[3])
        for one in BAD
        if one[0] not in {"an unknown pair", "a known agent elsewhere"}
        and one[3] not in {matches, is_plain}
    ],
)
def test_without_its_guard_a_bad_request_would_get_through(what: str, guard: Condition) -> None:
    """Negative control: only the one guard is between it and the runner.

    A vector and a pair are looked up twice, and a metacharacter is refused by the list as well.
    """
    case = Case(caps={"max_stdin_bytes": 100, "max_duration_secs": 10})
    make = next(one[1] for one in BAD if one[0] == what)

    assert verdict(case.context(), make(case), without=guard) is None


def test_the_conditions_stand_in_the_order_of_the_page() -> None:
    """For a request that is wrong in every way, the first condition answers, then the next."""
    case = Case(caps={"max_stdin_bytes": 1, "max_duration_secs": 1})
    other = Identity.new()
    order = Order(argv=("sh;",), cwd="/", timeout_ms=9_999, stdin_b64="aGVsbG8=")
    wrong = seal(
        other,
        case.payload(agent_id=other.agent_id, to_machine="e" * 64, expires_ms=1, run=order),
    ).model_copy(update={"signature": "0" * 128})
    context, left, heard = case.context(), [*SENDER, *ORDER], []
    while (denial := first_denial(tuple(left), context, wrong.opened())) is not None:
        heard.append(denial)
        left = [one for one in left if first_denial((one,), context, wrong.opened()) is not denial]

    assert heard == [
        D.SIGNATURE_INVALID,
        D.WRONG_MACHINE,
        D.EXPIRED,
        D.MACHINE_BINDING_UNVERIFIED,
        D.UNTRUSTED,
        D.ACL_PAIR_UNKNOWN,
        D.REPLAYED,
        D.CWD_NOT_ALLOWED,
        D.SHELL_METACHARACTER,
        D.ARGV_NOT_ALLOWED,
        D.STDIN_TOO_LARGE,
        D.TIMEOUT_TOO_LONG,
    ]


def test_1_the_signature_verifies_the_requester() -> None:
    """Each byte of the payload is covered: another agent cannot be named, nothing changed."""
    case = Case()
    sealed = seal(case.client, case.payload())
    for old, new in (("hello", "hellp"), (case.client.agent_id, Identity.new().agent_id)):
        changed = sealed.model_copy(update={"payload": sealed.payload.replace(old, new)})
        assert verdict(case.context(), changed.opened()) is D.SIGNATURE_INVALID


def test_1_a_signature_for_another_purpose_does_not_count() -> None:
    """The binding is not a signature, nor the signature a binding: each has its own prefix."""
    case = Case()
    same = Identity(case.client.agent, case.client.agent)
    context = case.context()
    payload = case.payload(machine_id=same.machine_id)
    sealed = seal(same, payload)
    swapped = sealed.model_copy(update={"signature": sealed.binding, "binding": sealed.signature})

    assert first_denial((is_signed,), context, sealed.opened()) is None
    assert first_denial((is_signed,), context, swapped.opened()) is D.SIGNATURE_INVALID
    assert first_denial((is_bound,), context, swapped.opened()) is D.MACHINE_BINDING_UNVERIFIED


def test_2_a_stolen_agent_key_is_of_no_use_on_another_machine() -> None:
    """It can name the listed machine, but not sign as it."""
    case = Case()
    thief = Identity(case.client.agent, Identity.new().machine)

    assert verdict(case.context(), case.request(thief)) is D.MACHINE_BINDING_UNVERIFIED


def test_3_the_local_trust_evaluator_returns_accept() -> None:
    """Known and rejected is treated like unknown."""
    rejected = Case(trust=Trust.REJECT)

    assert verdict(rejected.context(), rejected.request()) is D.UNTRUSTED


def test_3_contacts_that_cannot_be_read_trust_nobody() -> None:
    """A damaged file is no reason to let anyone in."""

    def damaged() -> Contacts:
        raise StateError("damaged")

    case = Case()
    context = case.context()
    context.contacts = damaged

    assert verdict(context, case.request()) is D.UNTRUSTED


def test_3_trust_that_was_taken_away_counts_at_once() -> None:
    """The contacts are looked up again for each envelope, including renewals."""
    case = Case()
    context = case.context()
    assert verdict(context, case.request()) is None
    context.contacts = Contacts

    assert verdict(context, case.request()) is D.UNTRUSTED


def test_4_the_acl_contains_the_exact_pair() -> None:
    """A trusted agent with a list of its own on no machine, or on another one, is unknown."""
    case, listed = Case(), Case()
    context = case.context()
    context.acl = Acl.parse(acl_text(Identity(case.client.agent, listed.client.machine)))

    assert verdict(context, case.request()) is D.ACL_PAIR_UNKNOWN
    order = (*SENDER[: SENDER.index(is_listed)], is_new)
    assert first_denial(order, context, case.request()) is None


@pytest.mark.parametrize("how", ["no list", "enabled = false"])
def test_4_without_a_list_in_force_nothing_runs(how: str) -> None:
    """A trusted peer is told that it is off; without the guard a list that is off would count."""
    case = Case(caps={"enabled": False})
    context = case.context()
    if how == "no list":
        context.acl = None

    assert verdict(context, case.request()) is D.EXEC_DISABLED
    unguarded = verdict(context, case.request(), without=is_enabled)
    assert unguarded is (D.ACL_PAIR_UNKNOWN if how == "no list" else None)


def test_a_replayed_nonce_is_refused() -> None:
    """The very same bytes a second time; without the guard they would run again."""
    case = Case()
    context, request = case.context(), case.request()
    assert verdict(context, request) is None

    assert verdict(context, request) is D.REPLAYED
    assert verdict(context, request, without=is_new) is None


def test_a_restart_forgets_nothing_that_could_be_replayed() -> None:
    """What was issued before this service began is refused, though its nonce is not known."""
    case = Case()
    request = case.request()
    assert verdict(case.context(), request) is None
    restarted = case.context()
    restarted.freshness = Freshness(started_ms=request.payload.issued_ms + 1)

    assert verdict(restarted, request) is D.EXPIRED
    assert verdict(restarted, request, without=is_fresh) is None


def test_a_clock_that_is_set_back_revives_nothing() -> None:
    """Once a nonce is forgotten, its request stays too old, whatever the clock says then."""
    fresh, payload = Freshness(started_ms=0), Case().payload()
    now = payload.issued_ms
    assert fresh.stale(payload, now) is None
    assert fresh.repeated(payload, now) is None
    later = now + LIFE_MS + SKEW_MS + 1
    fresh.repeated(Case().payload(), later)

    assert fresh.stale(payload, now) is D.EXPIRED


def test_a_nonce_is_kept_for_as_long_as_its_request_is_fresh() -> None:
    """Checked each second: at no moment is it both fresh and forgotten."""
    fresh, payload = Freshness(started_ms=0), Case().payload()
    issued = payload.issued_ms
    assert fresh.repeated(payload, issued - SKEW_MS) is None

    for now in range(issued - SKEW_MS, issued + 2 * LIFE_MS, 1000):
        assert fresh.stale(payload, now) or fresh.repeated(payload, now) is D.REPLAYED


def test_the_memory_of_nonces_is_bounded_for_each_and_in_all() -> None:
    """A peer that sends too much is told so; the others are still served, and room returns."""
    fresh = Freshness(started_ms=0, most=5, most_of_one=3)
    one, other = Case(), Case()
    now = wall_clock_ms()
    heard = [fresh.repeated(one.payload(), now) for _ in range(4)]
    assert heard == [None, None, None, D.TOO_MANY_REQUESTS]
    heard = [fresh.repeated(other.payload(), now) for _ in range(3)]
    assert heard == [None, None, D.TOO_MANY_REQUESTS]

    assert fresh.repeated(one.payload(), now + LIFE_MS + SKEW_MS) is None


def test_a_stranger_cannot_fill_the_memory_of_nonces() -> None:
    """Only listed peers are remembered."""
    case = Case()
    context = case.context()
    for _ in range(10):
        verdict(context, _stranger(case))
        verdict(context, _forged(case))

    assert not context.freshness._heard


@rows("character", sorted(METACHARACTERS))
def test_every_request_token_is_checked_for_shell_metacharacters(character: str) -> None:
    """S4's nine, in any element, even where the list itself has them; else the list refuses."""
    case = Case()
    argv = ("echo", f"a{character}b")
    order = Order(argv=argv)

    assert verdict(case.context(), case.request(run=order)) is D.SHELL_METACHARACTER
    assert not ArgvTemplate.parse(argv).matches(argv)


def test_the_metacharacters_are_the_nine_of_the_page() -> None:
    """Semicolon, bar, ampersand, greater, less, backtick, dollar, newline and NUL."""
    assert frozenset({";", "|", "&", ">", "<", "`", "$", "\n", "\0"}) == METACHARACTERS


async def test_6_concurrency_is_capped_per_agent_and_in_total() -> None:
    """The agent's own third run, and any agent's fourth; without the guard both would start."""
    case = Case(caps={"max_concurrent_per_agent": 2, "max_concurrent_total": 3})
    context = case.context()
    for agent in (case.client.agent_id, "f" * 64):
        _occupy(context, agent)
    assert verdict(context, case.request()) is None
    _occupy(context, case.client.agent_id)
    assert verdict(context, case.request()) is D.CONCURRENCY_LIMIT
    assert verdict(context, case.request(), without=has_room) is None

    context = case.context()
    for _ in range(3):
        _occupy(context, "f" * 64)
    assert verdict(context, case.request()) is D.CONCURRENCY_LIMIT


async def test_a_request_id_that_is_under_way_is_not_started_again() -> None:
    """Another nonce does not make it another request."""
    case = Case()
    context = case.context()
    session = _occupy(context, case.client.agent_id)

    assert verdict(context, case.request(request_id=session.request_id)) is D.REPLAYED


def _occupy(context: AdmissionContext, agent_id: str) -> Session:
    session = Session(agent_id, "m", new_id(), "sleep", Lease())
    session.lease.release()
    context.sessions._active[session.run_id] = session
    return session


@rows(
    "changes",
    [
        {"v": 2},
        {"kind": "start"},
        {"kind": "renew"},
        {"run": None},
        {"nonce": "0" * 31},
        {"nonce": "0" * 33},
        {"nonce": "G" * 32},
        {"request_id": "x"},
        {"issued_ms": "1"},
        {"issued_ms": 1.5},
        {"agent_id": "a" * 63},
        {"env": {"PATH": "/tmp"}},
        {"run": {"argv": []}},
        {"run": {"argv": "echo hello"}},
        {"run": {"argv": [1]}},
        {"run": {"argv": ["x"] * 257}},
        {"run": {"argv": ["x" * 4097]}},
        {"run": {"argv": ["x"], "env": {}}},
        {"run": {"argv": ["x"], "timeout_ms": 0}},
        {"run": {"argv": ["x"], "timeout_ms": True}},
        {"run": {"argv": ["x"], "stdin_b64": "%%%"}},
        {"run": {"argv": ["x"], "stdin_b64": "aGVsbG8"}},
    ],
)
def test_an_ill_formed_payload_is_refused_though_it_is_signed(changes: dict[str, Any]) -> None:
    """Unknown keys, wrong types, lengths and kinds; the same without the change is read."""
    import json  # noqa: PLC0415 - used here only

    case = Case()
    right = json.loads(case.payload().model_dump_json(exclude_none=True))
    assert _signed(case, json.dumps(right)).opened()

    with pytest.raises(BadEnvelope):
        _signed(case, json.dumps({**right, **changes})).opened()


@pytest.mark.parametrize("inside", [False, True])
def test_a_key_that_is_there_twice_is_refused(inside: bool) -> None:
    """Readers differ on which of two equal keys counts, at the top and inside the order."""
    text = Case().payload().model_dump_json(exclude_none=True)
    key, place = ("argv", '"argv":["rm"],') if inside else ("v", '"v":1,')
    doubled = text.replace(f'"{key}":', f'{place}"{key}":', 1)
    assert _signed(Case(), text).opened()

    with pytest.raises(BadEnvelope):
        _signed(Case(), doubled).opened()


@rows(
    "spelt",
    [r"\u0061rgv", r"\u0061\u0072\u0067\u0076", r"a\u0072gv", r"arg\u0076"],
)
@pytest.mark.parametrize("first", [True, False])
def test_the_same_key_in_another_spelling_is_there_twice(spelt: str, first: bool) -> None:
    """An escape does not make it another key, whichever of the two comes first."""
    text = Case().payload().model_dump_json(exclude_none=True)
    place = '"argv":["rm"],'
    doubled = text.replace(
        '"argv":', f'{place}"{spelt}":' if first else f'"{spelt}":["rm"],"argv":'
    )
    # The control: a reader that compares spellings sees two keys, and the escaped one alone is one.
    assert _signed(Case(), text.replace('"argv":', f'"{spelt}":')).opened()

    with pytest.raises(BadEnvelope):
        _signed(Case(), doubled).opened()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 10_000, '{"v":1}'])
def test_what_is_no_payload_is_refused(text: str) -> None:
    """Nothing is raised but the one error."""
    with pytest.raises(BadEnvelope):
        _signed(Case(), text).opened()


def _signed(case: Case, text: str) -> Sealed:
    return Sealed(
        payload=text,
        signature=case.client.agent.sign(b"sayso-exec-v1\0" + text.encode()).hex(),
        binding=case.client.machine.sign(b"sayso-bind-v1\0" + text.encode()).hex(),
    )


def test_each_envelope_has_a_nonce_of_its_own_and_a_short_life() -> None:
    """128 bits that never repeat, and half a minute."""
    case = Case()
    sealer = Sealer(case.client, case.host.machine_id)
    payloads = [sealer.seal(Kind.RENEW, new_id(), 1_000).opened().payload for _ in range(100)]

    assert len({one.nonce for one in payloads}) == 100
    assert {one.expires_ms - one.issued_ms for one in payloads} == {LIFE_MS}
    assert LIFE_MS <= 60_000
