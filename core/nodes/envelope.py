"""Seal what was allowed: signed by the gateway, for one plan, one node, one run, one connection.

The signed text travels as it was signed::

    signature   gateway's key over   "sayso-node-run-v1" NUL payload

The run id is the nonce: the node keeps every id that it received on its own disk and never runs one
twice, whatever happens to the gateway's store. The node draws the session for each connection, so
an order that anyone held back is of no use on a later one.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from core.ipc.errors import FrameError
from core.ipc.strict_model import StrictFrame, read_model
from core.model.command import ExecPlan
from core.model.decision import AllowedBy
from core.model.policy import ExecHost
from core.nodes.frames import Run, RunId
from core.planning.digest import digest_of
from core.trust.identity import SigningKey, is_signed
from core.trust.ids import KeyId, RequestId
from core.trust.passkeys import PasskeyProof

SIGNED = b"sayso-node-run-v1\0"
LIFE_MS = 30_000
"""How long an order may be in transit, by the gateway's clock."""
_MOST_APPROVERS = 32


class BadOrder(ValueError):
    """An order is not what the gateway allowed for this node, now; one sentence says why."""


class Order(StrictFrame):
    """The signed content. Times are epoch ms of the gateway's clock.

    ``proofs`` are what passkeys of the approvers signed, which the gateway cannot make.
    """

    v: Literal[1] = 1
    digest: KeyId
    node: KeyId
    session: RequestId
    run_id: RunId
    not_after_ms: int
    by: AllowedBy
    approvers: Annotated[
        tuple[Annotated[str, Field(max_length=300)], ...], Field(max_length=_MOST_APPROVERS)
    ] = ()
    proofs: Annotated[tuple[PasskeyProof, ...], Field(max_length=_MOST_APPROVERS)] = ()


_ORDER = TypeAdapter(Order)


def sealed(key: SigningKey, order: Order, plan: ExecPlan) -> Run:
    """Return the frame that orders a run."""
    # A node from before proofs existed accepts only orders without any.
    payload = order.model_dump_json(exclude=None if order.proofs else {"proofs"})
    return Run(plan=plan, payload=payload, signature=key.sign(SIGNED + payload.encode()).hex())


def opened(frame: Run, gateway: str) -> Order:
    """Return the order in a frame; this checks only that the gateway signed it.

    Raises:
        BadOrder: it did not, or it is not an order of this version.
    """
    if not is_signed(gateway, frame.signature, SIGNED + frame.payload.encode(errors="replace")):
        raise BadOrder("the order is not signed by this node's gateway")
    try:
        return read_model(_ORDER, frame.payload.encode())
    except (FrameError, UnicodeEncodeError):
        raise BadOrder("the order is not one of version 1") from None


def check(order: Order, plan: ExecPlan, node: str, session: str, now_ms: int) -> None:
    """Refuse an order for another plan, node, connection or time, or for something else to run.

    Raises:
        BadOrder: says which.
    """
    if order.node != node or plan.node != node or plan.host is not ExecHost.NODE:
        raise BadOrder("the order is for another node")
    if plan.part is not None:
        raise BadOrder("the order is for what an agent does itself, which no node runs")
    if order.session != session:
        raise BadOrder("the order was made for an earlier connection")
    if not order.digest == plan.digest == digest_of(plan):
        raise BadOrder("the order is for another plan")
    if not now_ms <= order.not_after_ms <= now_ms + 2 * LIFE_MS:
        raise BadOrder("the order came too late")
    if (order.by is AllowedBy.PEOPLE) != bool(order.approvers):
        raise BadOrder("the order does not say who allowed it")
