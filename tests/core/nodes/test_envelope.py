"""Refuse every change of what was allowed and signed; accept it unchanged."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.model.command import ExecPlan
from core.model.decision import AllowedBy
from core.model.policy import ExecHost
from core.nodes.envelope import LIFE_MS, SIGNED, BadOrder, Order, check, opened, sealed
from core.nodes.frames import Run
from core.planning.digest import bind
from core.trust.identity import Identity, key_id
from tests.support.plans import command, plan_of
from tests.support.tables import rows

GATEWAY, OTHER = Identity.new().agent, Identity.new().agent
NODE, SESSION, RUN = "a" * 64, "5" * 32, "0" * 26
NOW = 1_800_000_000_000


def _plan(**changes: object) -> ExecPlan:
    """Return a plan for the node, bound again after the changes."""
    whole = {"host": ExecHost.NODE, "node": NODE, **changes}
    return bind(replace(plan_of(command("true")), **whole))  # type: ignore[arg-type]


PLAN = _plan()


def _order(**changes: object) -> Order:
    values = {
        "digest": PLAN.digest,
        "node": NODE,
        "session": SESSION,
        "run_id": RUN,
        "not_after_ms": NOW + LIFE_MS,
        "by": AllowedBy.POLICY,
        "approvers": (),
        **changes,
    }
    return Order.model_validate(values)


def _checked(order: Order, plan: ExecPlan = PLAN, now_ms: int = NOW) -> None:
    check(order, plan, NODE, SESSION, now_ms)


def test_what_was_sealed_is_opened_and_holds() -> None:
    """The control for everything that follows."""
    order = _order(by=AllowedBy.PEOPLE, approvers=("telegram:42",))
    frame = sealed(GATEWAY, order, PLAN)

    assert opened(frame, key_id(GATEWAY)) == order
    _checked(order)
    _checked(order, now_ms=NOW + LIFE_MS)


@rows(
    "changes, why",
    [
        ({"node": "b" * 64}, "another node"),
        ({"session": "6" * 32}, "earlier connection"),
        ({"digest": "c" * 64}, "another plan"),
        ({"not_after_ms": NOW - 1}, "too late"),
        ({"not_after_ms": NOW + 3 * LIFE_MS}, "too late"),
        ({"by": AllowedBy.PEOPLE}, "who allowed"),
        ({"approvers": ("telegram:42",)}, "who allowed"),
        ({"by": AllowedBy.FALLBACK, "approvers": ("x:1",)}, "who allowed"),
    ],
)
def test_an_order_for_something_else_is_refused(changes: dict[str, object], why: str) -> None:
    """Signed by the gateway, but not for this."""
    with pytest.raises(BadOrder, match=why):
        _checked(_order(**changes))


@rows(
    "plan",
    [
        _plan(node="b" * 64),
        _plan(host=ExecHost.GATEWAY),
        _plan(text="other"),
        _plan(env=(("A", "b"),)),
        _plan(timeout_ms=7),
        replace(PLAN, text="other"),
        replace(PLAN, digest="c" * 64),
        replace(PLAN, node_name="db"),
    ],
)
def test_another_plan_under_a_good_order_is_refused(plan: ExecPlan) -> None:
    """Also one that claims the digest of the plan that was allowed."""
    with pytest.raises(BadOrder, match="another"):
        _checked(_order(), plan)


def test_a_plan_that_was_bound_anew_needs_an_order_of_its_own() -> None:
    """The order's digest is what people allowed."""
    plan = _plan(text="other")
    with pytest.raises(BadOrder, match="another plan"):
        _checked(_order(), plan)
    _checked(_order(digest=plan.digest), plan)


def _signed(payload: str, prefix: bytes = SIGNED) -> Run:
    signature = GATEWAY.sign(prefix + payload.encode()).hex()
    return Run(plan=PLAN, payload=payload, signature=signature)


_TEXT = _order().model_dump_json()


@rows(
    "change",
    [
        lambda frame: sealed(OTHER, _order(), PLAN),
        lambda frame: frame.model_copy(update={"payload": frame.payload + " "}),
        lambda frame: frame.model_copy(update={"payload": frame.payload.replace(RUN, "1" * 26)}),
        lambda frame: frame.model_copy(update={"signature": "0" * 128}),
        lambda frame: _signed(_TEXT, b""),
        lambda frame: _signed(_TEXT, b"sayso-node-v1\0"),
        lambda frame: _signed(_TEXT, b"sayso-exec-v1\0"),
        lambda frame: _signed("{}"),
        lambda frame: _signed("[" * 5000),
        lambda frame: _signed(_TEXT.replace('"v":1', '"v":2')),
        lambda frame: _signed(_TEXT.replace('"v":1', '"v":1,"more":1')),
        lambda frame: _signed(_TEXT.replace('"v":1', f'"v":1,"node":"{NODE}"')),
        lambda frame: _signed(_TEXT.replace(f'"{RUN}"', '"../../../etc/passwd0000000"')),
    ],
)
def test_a_forged_or_ill_written_order_is_not_opened(change: Callable[[Run], Run]) -> None:
    """Another key, another text, another purpose of the key, another form."""
    good = sealed(GATEWAY, _order(), PLAN)
    assert opened(good, key_id(GATEWAY)) == _order()
    with pytest.raises(BadOrder):
        opened(change(good), key_id(GATEWAY))
