"""Run what an approver's known passkey signed, whatever the node's gateway says."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.model.command import ExecPlan
from core.model.decision import AllowedBy
from core.model.identity import ApprovalId
from core.model.policy import ExecHost
from core.nodes.approver_keys import ApproverKeys
from core.nodes.envelope import LIFE_MS, BadOrder, Order, opened, sealed
from core.planning.digest import bind
from core.trust.identity import Identity, key_id
from core.trust.passkeys import PasskeyProof, RelyingParty, approval_challenge
from tests.support.passkey_device import UP, PasskeyDevice
from tests.support.plans import command, plan_of
from tests.support.tables import rows

PAGE = RelyingParty("sayso.example", "https://sayso.example")
ANA, BEN = PasskeyDevice("YW5h"), PasskeyDevice("YmVu")
KEYS = ApproverKeys(PAGE, {ANA.id: ANA.public_key})
NODE, NONCE, RUN = "a" * 64, "0" * 32, ApprovalId("0" * 26)


def _plan(line: str) -> ExecPlan:
    return bind(replace(plan_of(command(line)), host=ExecHost.NODE, node=NODE))


PLAN, OTHER = _plan("true"), _plan("false")


def _proof(
    device: PasskeyDevice = ANA,
    run: str = RUN,
    plan: ExecPlan = PLAN,
    page: RelyingParty = PAGE,
    **how: int,
) -> PasskeyProof:
    challenge = approval_challenge(run, plan.digest, "allow-once", "", NONCE)
    signed = device.sign(challenge, page, **how)
    return PasskeyProof(nonce=NONCE, reply="allow-once", signed=signed)


def _order(*proofs: PasskeyProof, by: AllowedBy = AllowedBy.PEOPLE) -> Order:
    return Order(
        digest=PLAN.digest,
        node=NODE,
        session="5" * 32,
        run_id=RUN,
        not_after_ms=LIFE_MS,
        by=by,
        approvers=("api:x",) if by is AllowedBy.PEOPLE else (),
        proofs=proofs,
    )


def test_what_an_approver_signed_is_taken() -> None:
    """Also next to a proof of a passkey that this node does not know; it travels in the order."""
    order = _order(_proof(BEN), _proof())
    KEYS.check(order, PLAN)
    gateway = Identity.new().agent
    assert opened(sealed(gateway, order, PLAN), key_id(gateway)) == order
    KEYS.check(opened(sealed(gateway, order, PLAN), key_id(gateway)), PLAN)


@rows(
    "proof, why",
    [
        (lambda: _proof(BEN), "does not know the passkey"),
        (lambda: _proof(PasskeyDevice(ANA.id)), "signature"),
        (lambda: _proof(run="1" * 26), "challenge"),
        (lambda: _proof(plan=OTHER), "challenge"),
        (lambda: _proof(page=RelyingParty(PAGE.id, "https://elsewhere.example")), "origin"),
        (lambda: _proof(page=RelyingParty("elsewhere.example", PAGE.origin)), "RP ID"),
        (lambda: _proof(flags=UP), "not verified"),
        (lambda: _proof().model_copy(update={"reply": "allow-always"}), "challenge"),
        (lambda: _proof().model_copy(update={"nonce": "1" * 32}), "challenge"),
    ],
)
def test_a_lying_gateway_makes_no_proof(proof: Callable[[], PasskeyProof], why: str) -> None:
    """Of another's key, run, plan, page or answer, or without the person."""
    with pytest.raises(BadOrder, match=why):
        KEYS.check(_order(proof()), PLAN)


def test_people_without_a_proof_allow_nothing_there() -> None:
    """What policy or the node's own fallback allows needs none."""
    with pytest.raises(BadOrder, match="it has none"):
        KEYS.check(_order(), PLAN)
    for by in (AllowedBy.POLICY, AllowedBy.FALLBACK):
        KEYS.check(_order(by=by), PLAN)


def test_an_order_without_proofs_is_as_it_was() -> None:
    """So a node that is older than proofs accepts it."""
    frame = sealed(Identity.new().agent, _order(), PLAN)
    assert "proofs" not in frame.payload
    assert "proofs" in sealed(Identity.new().agent, _order(_proof()), PLAN).payload
