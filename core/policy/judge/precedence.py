"""Find the effective policy: what the first place sets, or the file where it is stricter.

S0 "Policy resolution" gives the order call → session → agent → global; S1 adds the approvals file,
which may only make things stricter. One choice of our own: the ``call`` layer is written by the
agent itself, so it may harden its policy and never widen it (docs/decisions/0003).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace

from core.model.policy import (
    ExecHost,
    ExecPolicy,
    ExecSecurity,
    PolicyLayer,
    stricter_ask,
    stricter_fallback,
    stricter_security,
    stricter_trust,
)

CALL = "call"
"""The source of the layer that the agent writes itself."""
DEFAULT = "built-in default"

_Strictness = Callable[[ExecPolicy, PolicyLayer], object]


def _fewer_bins(policy: ExecPolicy, layer: PolicyLayer) -> tuple[str, ...]:
    return tuple(name for name in policy.safe_bins if name in (layer.safe_bins or ()))


_STRICTER: dict[str, _Strictness] = {
    "security": lambda p, layer: stricter_security(p.security, layer.security or p.security),
    "ask": lambda p, layer: stricter_ask(p.ask, layer.ask or p.ask),
    "ask_fallback": lambda p, layer: stricter_fallback(
        p.ask_fallback, layer.ask_fallback or p.ask_fallback
    ),
    "trust": lambda p, layer: stricter_trust(p.trust, layer.trust or p.trust),
    "safe_bins": _fewer_bins,
    "timeout_ms": lambda p, layer: min(p.timeout_ms, layer.timeout_ms or p.timeout_ms),
}
_STRICTER_ONLY = "and a call may only make it stricter"
_IGNORED = {
    "security": f"security={{call}} has no effect: {{source}} gives {{value}}, {_STRICTER_ONLY}.",
    "ask": f"ask={{call}} has no effect: {{source}} gives {{value}}, {_STRICTER_ONLY}.",
    "node": "node={call} has no effect: {source} binds this agent to {value}.",
    "timeout_ms": "A timeout of {call} ms has no effect: {source} allows {value} ms.",
}
_NO_NODE = "node={node} has no effect: the command runs on host={host}; add host=node."
_IN_FILE = {"security": "security", "ask": "ask", "ask_fallback": "askFallback"}
_UNUSED_IN_SANDBOX = frozenset(("security", "ask"))
_CHOICES = ("host",)
_SETTINGS = tuple(field.name for field in fields(ExecPolicy) if field.name != "sources")


def resolve(layers: Sequence[PolicyLayer], approvals: PolicyLayer) -> ExecPolicy:
    """Combine the layers (strongest first) and the approvals-file layer into one policy.

    ``sources`` of the result names where each value came from. A call may harden security,
    ask, fallback, trust, safe bins and timeout, and choose the host; it may choose the node only
    where nothing binds one (S0 "Node identity + binding"). The host's source is the call only where
    that is not the owners' host: what they let run there is not for the call to widen. Where a
    person skips approvals for a session, the file can still deny.
    """
    owners = [layer for layer in layers if layer.source != CALL]
    policy = _first(owners, _SETTINGS, ExecPolicy(sources=dict.fromkeys(_SETTINGS, DEFAULT)))
    for call in (layer for layer in layers if layer.source == CALL):
        chosen = (*_CHOICES, "node") if policy.node is None else _CHOICES
        other = replace(call, host=None) if call.host is policy.host else call
        policy = _hardened(_first([other], chosen, policy), call)
    return _hardened(policy, _denial(approvals) if policy.skip_approvals else approvals)


def ignored(call: PolicyLayer, policy: ExecPolicy) -> tuple[str, ...]:
    """Return a sentence for each setting of a call that the effective policy does not follow."""
    elsewhere = call.node is not None and policy.host is not ExecHost.NODE
    unused = (_NO_NODE.format(node=call.node, host=policy.host),) if elsewhere else ()
    return unused + tuple(
        sentence.format(
            call=getattr(call, name), source=policy.sources[name], value=getattr(policy, name)
        )
        for name, sentence in _IGNORED.items()
        if getattr(call, name) not in {None, getattr(policy, name)}
        and not (name in _UNUSED_IN_SANDBOX and _is_sandboxed(policy))
        and not (name == "node" and elsewhere)
    )


def overruled(file: PolicyLayer, policy: ExecPolicy) -> tuple[str, ...]:
    """Return a sentence for each setting of the approvals file that a stricter one overrules."""
    return tuple(
        f"{word} {getattr(file, name)} has no effect: {policy.sources[name]} gives "
        f"{getattr(policy, name)}, and the stricter of both holds."
        for name, word in _IN_FILE.items()
        if getattr(file, name) not in {None, getattr(policy, name)}
        and not (name in _UNUSED_IN_SANDBOX and policy.host is ExecHost.SANDBOX)
    )


def _is_sandboxed(policy: ExecPolicy) -> bool:
    return policy.host is ExecHost.SANDBOX and policy.sources["host"] != CALL


def _denial(approvals: PolicyLayer) -> PolicyLayer:
    """Return what still applies where a person skips approvals: deny (S1 "Security notes")."""
    denied = approvals.security if approvals.security is ExecSecurity.DENY else None
    return replace(approvals, security=denied, ask=None)


def _first(layers: Sequence[PolicyLayer], names: Iterable[str], policy: ExecPolicy) -> ExecPolicy:
    values: dict[str, object] = {}
    sources = dict(policy.sources)
    for setting in names:
        for layer in layers:
            value = getattr(layer, setting)
            if value is not None:
                values[setting], sources[setting] = value, layer.source
                break
    return replace(policy, sources=sources, **values)  # type: ignore[arg-type] # same field names


def _hardened(policy: ExecPolicy, layer: PolicyLayer) -> ExecPolicy:
    values: dict[str, object] = {}
    sources = dict(policy.sources)
    for setting, stricter in _STRICTER.items():
        if getattr(layer, setting) is None:
            continue
        value = stricter(policy, layer)
        if value != getattr(policy, setting):
            values[setting], sources[setting] = value, layer.source
    return replace(policy, sources=sources, **values)  # type: ignore[arg-type] # same field names
