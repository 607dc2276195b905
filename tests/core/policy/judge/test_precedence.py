from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.policy import (
    AskFallback,
    ExecAsk,
    ExecHost,
    ExecPolicy,
    ExecSecurity,
    PolicyLayer,
    Trust,
    stricter_ask,
    stricter_fallback,
    stricter_security,
    stricter_trust,
)
from core.policy.judge.precedence import ignored, overruled, resolve

NOTHING = PolicyLayer("exec-approvals.json")
BINS = st.lists(st.sampled_from(["jq", "grep", "wc"]), unique=True).map(sorted).map(tuple)


def layers(source: str) -> st.SearchStrategy[PolicyLayer]:
    """Generate a layer with any settings set."""
    return st.builds(
        PolicyLayer,
        source=st.just(source),
        host=st.none() | st.sampled_from(ExecHost),
        security=st.none() | st.sampled_from(ExecSecurity),
        ask=st.none() | st.sampled_from(ExecAsk),
        ask_fallback=st.none() | st.sampled_from(AskFallback),
        node=st.none() | st.sampled_from(["a", "b"]),
        trust=st.none() | st.sampled_from(Trust),
        safe_bins=st.none() | BINS,
        timeout_ms=st.none() | st.integers(1, 10_000),
    )


POLICIES = st.builds(
    ExecPolicy,
    security=st.sampled_from(ExecSecurity),
    ask=st.sampled_from(ExecAsk),
    ask_fallback=st.sampled_from(AskFallback),
    trust=st.sampled_from(Trust),
    safe_bins=BINS,
)


def stricter(a: ExecPolicy, b: ExecPolicy) -> ExecPolicy:
    """Combine two policies setting by setting; host, node, timeout and sources are those of ``a``.

    Commutative and idempotent in the strictness settings (S1: "the stricter of tools.exec.* and
    approvals defaults").
    """
    return replace(
        a,
        security=stricter_security(a.security, b.security),
        ask=stricter_ask(a.ask, b.ask),
        ask_fallback=stricter_fallback(a.ask_fallback, b.ask_fallback),
        trust=stricter_trust(a.trust, b.trust),
        safe_bins=tuple(name for name in a.safe_bins if name in b.safe_bins),
    )


def is_no_laxer(policy: ExecPolicy, than: ExecPolicy) -> bool:
    """Return whether every strictness setting lets no more run."""
    combined = stricter(policy, than)
    return (
        combined.security is policy.security
        and combined.ask is policy.ask
        and combined.ask_fallback is policy.ask_fallback
        and combined.trust is policy.trust
        and combined.safe_bins == policy.safe_bins
        and policy.timeout_ms <= than.timeout_ms
    )


def test_the_stricter_of_two_values_lets_less_run() -> None:
    """In words, because the orders are what everything else here is measured by."""
    assert ExecSecurity.DENY is stricter_security(ExecSecurity.ALLOWLIST, ExecSecurity.DENY)
    assert ExecSecurity.ALLOWLIST is stricter_security(ExecSecurity.ALLOWLIST, ExecSecurity.FULL)
    assert ExecAsk.ALWAYS is stricter_ask(ExecAsk.ON_MISS, ExecAsk.ALWAYS)
    assert ExecAsk.ON_MISS is stricter_ask(ExecAsk.ON_MISS, ExecAsk.OFF)
    assert AskFallback.DENY is stricter_fallback(AskFallback.ALLOWLIST, AskFallback.DENY)
    assert AskFallback.ALLOWLIST is stricter_fallback(AskFallback.ALLOWLIST, AskFallback.FULL)
    assert Trust.STRICT is stricter_trust(Trust.CLASSICAL, Trust.STRICT)


STRICT = PolicyLayer(
    "tools.exec",
    security=ExecSecurity.DENY,
    ask=ExecAsk.ALWAYS,
    ask_fallback=AskFallback.DENY,
    trust=Trust.STRICT,
    safe_bins=("jq",),
    timeout_ms=1000,
)


LAX = PolicyLayer(
    "tools.exec",
    security=ExecSecurity.FULL,
    ask=ExecAsk.OFF,
    ask_fallback=AskFallback.FULL,
    trust=Trust.CLASSICAL,
    safe_bins=("jq", "grep"),
    timeout_ms=9000,
)


@pytest.mark.parametrize("as_call", [True, False])
def test_a_stricter_call_or_file_counts(as_call: bool) -> None:
    """Each setting becomes what the stricter layer says, which is named as its source."""
    strict = replace(STRICT, source="call" if as_call else "exec-approvals.json")
    found = resolve([strict, LAX], NOTHING) if as_call else resolve([LAX], strict)
    settings = ("security", "ask", "ask_fallback", "trust", "safe_bins", "timeout_ms")
    assert {one: getattr(found, one) for one in settings} == {
        one: getattr(STRICT, one) for one in settings
    }
    assert {found.sources[one] for one in settings} == {strict.source}


@pytest.mark.parametrize("as_call", [True, False])
def test_a_laxer_call_or_file_changes_nothing(as_call: bool) -> None:
    """Neither the agent nor the approvals file lets more run than the configuration does."""
    lax = replace(LAX, source="call" if as_call else "exec-approvals.json")
    found = resolve([lax, STRICT], NOTHING) if as_call else resolve([STRICT], lax)
    assert found == resolve([STRICT], NOTHING)
    assert set(found.sources.values()) == {"tools.exec", "built-in default"}


def test_a_call_comes_before_the_session() -> None:
    """For the host, which is not a matter of strictness, the call comes first (S0)."""
    session = PolicyLayer("session", host=ExecHost.GATEWAY)
    policy = resolve([PolicyLayer("call", host=ExecHost.NODE), session], NOTHING)
    assert (policy.host, policy.sources["host"]) == (ExecHost.NODE, "call")


@given(POLICIES, POLICIES)
def test_stricter_commutes_and_repeats_itself(a: ExecPolicy, b: ExecPolicy) -> None:
    """The stricter of two policies does not depend on their order, nor on applying it twice."""
    assert stricter(a, b) == stricter(b, a)
    assert stricter(stricter(a, b), b) == stricter(a, b)


@given(layers("call"), layers("session"), layers("agents.list[x]"), layers("tools.exec"))
def test_a_call_never_widens(
    call: PolicyLayer, session: PolicyLayer, agent: PolicyLayer, everyone: PolicyLayer
) -> None:
    """Whatever an agent requests, no strictness setting gets laxer than without its call."""
    without = resolve([session, agent, everyone], NOTHING)
    assert is_no_laxer(resolve([call, session, agent, everyone], NOTHING), without)


@given(layers("session"), layers("call"), layers("tools.exec"))
def test_the_same_knobs_from_a_session_do_widen(
    session: PolicyLayer, call: PolicyLayer, everyone: PolicyLayer
) -> None:
    """Negative control: an operator's session layer does decide, only the call is restricted."""
    policy = resolve([call, session, everyone], NOTHING)
    if session.security is not None and call.security is None:
        assert policy.security is session.security


@given(layers("session"), layers("tools.exec"), layers("exec-approvals.json"))
def test_the_approvals_file_never_widens(
    session: PolicyLayer, everyone: PolicyLayer, file: PolicyLayer
) -> None:
    """The approvals file makes a policy stricter or leaves it as it is (S1)."""
    without = resolve([session, everyone], NOTHING)
    assert is_no_laxer(resolve([session, everyone], file), without)


@given(layers("call"), layers("tools.exec"), layers("exec-approvals.json"))
def test_every_knob_has_a_source(
    call: PolicyLayer, everyone: PolicyLayer, file: PolicyLayer
) -> None:
    """Each setting names a place that really sets this value."""
    policy = resolve([call, everyone], file)
    by_source = {layer.source: layer for layer in (call, everyone, file)}
    for setting, source in policy.sources.items():
        if source in by_source and setting != "safe_bins":
            assert getattr(by_source[source], setting) == getattr(policy, setting)


def test_the_first_layer_that_speaks_wins() -> None:
    """Session beats agent beats global, setting by setting, and the source is named (S0)."""
    session = PolicyLayer("session", ask=ExecAsk.OFF)
    agent = PolicyLayer(
        "agents.list[main].tools.exec", security=ExecSecurity.FULL, ask=ExecAsk.ALWAYS
    )
    everyone = PolicyLayer("tools.exec", host=ExecHost.NODE, security=ExecSecurity.ALLOWLIST)
    policy = resolve([session, agent, everyone], NOTHING)
    assert (policy.ask, policy.security, policy.host) == (
        ExecAsk.OFF,
        ExecSecurity.FULL,
        ExecHost.NODE,
    )
    assert policy.sources["ask"] == "session"
    assert policy.sources["security"] == "agents.list[main].tools.exec"
    assert policy.sources["host"] == "tools.exec"
    assert policy.sources["trust"] == "built-in default"


def test_nothing_set_is_the_seeds_safe_default() -> None:
    """Without any layer: sandbox, deny, on-miss, fallback deny (S0 "Default safety")."""
    policy = resolve([], NOTHING)
    assert policy == ExecPolicy()
    assert policy.host is ExecHost.SANDBOX
    assert policy.security is ExecSecurity.DENY


def test_an_omitted_approvals_field_leaves_the_value() -> None:
    """A field that the approvals file omits leaves tools.exec's value (S1)."""
    everyone = PolicyLayer("tools.exec", security=ExecSecurity.FULL, ask=ExecAsk.OFF)
    policy = resolve([everyone], PolicyLayer("exec-approvals.json", ask=ExecAsk.ON_MISS))
    assert policy.security is ExecSecurity.FULL
    assert policy.ask is ExecAsk.ON_MISS
    assert policy.sources["ask"] == "exec-approvals.json"
    assert policy.sources["security"] == "tools.exec"


def test_a_call_hardens_and_chooses_the_host() -> None:
    """A call may ask for more questions, less power and another host."""
    everyone = PolicyLayer("tools.exec", security=ExecSecurity.FULL, ask=ExecAsk.OFF)
    call = PolicyLayer(
        "call", host=ExecHost.NODE, node="pi", security=ExecSecurity.ALLOWLIST, ask=ExecAsk.ALWAYS
    )
    policy = resolve([call, everyone], NOTHING)
    assert (policy.host, policy.node) == (ExecHost.NODE, "pi")
    assert policy.security is stricter_security(ExecSecurity.ALLOWLIST, ExecSecurity.FULL)
    assert policy.ask is stricter_ask(ExecAsk.ALWAYS, ExecAsk.OFF)
    assert policy.sources["security"] == "call"


def test_a_call_cannot_leave_its_node_binding() -> None:
    """A bound agent stays on its node (S0 "Node identity + binding")."""
    everyone = PolicyLayer("agents.list[x].tools.exec", node="lab")
    assert resolve([PolicyLayer("call", node="prod"), everyone], NOTHING).node == "lab"


def test_what_a_call_cannot_have_is_said() -> None:
    """A sentence for each setting that has no effect, with the place that decides."""
    owner = PolicyLayer(
        "tools.exec",
        ExecHost.NODE,
        ExecSecurity.ALLOWLIST,
        ExecAsk.ALWAYS,
        node="a",
        timeout_ms=5_000,
    )
    call = PolicyLayer("call", None, ExecSecurity.FULL, ExecAsk.OFF, node="b", timeout_ms=10_000)
    only = "and a call may only make it stricter"

    assert ignored(call, resolve([call, owner], NOTHING)) == (
        f"security=full has no effect: tools.exec gives allowlist, {only}.",
        f"ask=off has no effect: tools.exec gives always, {only}.",
        "node=b has no effect: tools.exec binds this agent to a.",
        "A timeout of 10000 ms has no effect: tools.exec allows 5000 ms.",
    )


@pytest.mark.parametrize("host", [ExecHost.SANDBOX, ExecHost.GATEWAY, ExecHost.NODE])
def test_a_node_without_the_host_node_is_said(host: ExecHost) -> None:
    """`--node web1` alone runs the command here; on the host node it is followed silently."""
    call = PolicyLayer("call", node="web1")
    said = ignored(call, resolve([call, PolicyLayer("tools.exec", host)], NOTHING))

    assert said == (
        ()
        if host is ExecHost.NODE
        else (f"node=web1 has no effect: the command runs on host={host}; add host=node.",)
    )


def test_what_the_file_takes_back_is_said() -> None:
    """The approvals file decides as well; in the owner's sandbox neither setting counts."""
    call = PolicyLayer("call", security=ExecSecurity.FULL)
    owner = PolicyLayer("tools.exec", ExecHost.GATEWAY, ExecSecurity.FULL)
    floor = PolicyLayer("exec-approvals.json defaults", security=ExecSecurity.DENY)

    assert (
        "exec-approvals.json defaults gives deny" in ignored(call, resolve([call, owner], floor))[0]
    )
    assert ignored(call, resolve([call, owner], NOTHING)) == ()
    assert ignored(call, resolve([call], NOTHING)) == ()


@given(call=layers("call"), owner=layers("tools.exec"), file=layers("exec-approvals.json"))
def test_a_call_that_only_hardens_is_followed(
    call: PolicyLayer, owner: PolicyLayer, file: PolicyLayer
) -> None:
    """Nothing is said about a setting that the policy has."""
    policy = resolve([call, owner], file)
    said = ignored(call, policy)

    assert (
        (call.ask in {None, policy.ask})
        or any("ask=" in one for one in said)
        or (policy.host is ExecHost.SANDBOX)
    )
    unused = call.node is not None and (
        policy.host is not ExecHost.NODE or call.node != policy.node
    )
    assert unused == any("node=" in one for one in said)


@given(layers("tools.exec"), layers("exec-approvals.json"))
def test_what_the_file_cannot_have_is_said(owner: PolicyLayer, file: PolicyLayer) -> None:
    """Each limit of the file that is wider than the configuration, and no other, is named."""
    policy = resolve([owner], file)
    said = " ".join(overruled(file, policy))

    wider = file.ask_fallback not in {None, policy.ask_fallback}
    assert wider == (f"askFallback {file.ask_fallback} has no effect: " in said)
    wider = file.security not in {None, policy.security} and policy.host is not ExecHost.SANDBOX
    assert wider == (f"security {file.security} has no effect: " in said)


def test_an_overruled_limit_names_the_place_that_decides() -> None:
    """What S1 shows in the file does not widen what the configuration leaves at its default."""
    file = PolicyLayer("exec-approvals.json agents.a", ask_fallback=AskFallback.ALLOWLIST)

    (said,) = overruled(file, resolve([], file))
    assert "askFallback allowlist has no effect: built-in default gives deny, and the" in said
