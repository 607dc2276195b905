"""Check on the node what passkeys signed, so that a gateway cannot falsely claim an approval.

The gateway's signature says that the gateway orders a run. A node that was given the public keys of
approvers also requires proof that one of them allowed exactly this run of exactly this plan: a
compromised gateway can order what people allowed, once each, and nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from core.model.command import ExecPlan
from core.model.decision import AllowedBy
from core.nodes.envelope import BadOrder, Order
from core.trust.passkeys import NotProven, RelyingParty, approval_challenge, check


@dataclass(frozen=True, slots=True)
class ApproverKeys:
    """Public keys of passkeys by id, and the page on which they sign."""

    party: RelyingParty
    keys: Mapping[str, str]

    def check(self, order: Order, plan: ExecPlan) -> None:
        """Refuse an order that people are said to have allowed but that none of these keys signed.

        What the node's own policy allows, or its own askFallback, needs no signature. A passkey's
        counter is not checked: an order is accepted once for its run id, whatever signed it.

        Raises:
            BadOrder: no proof holds; the sentence says why the last one did not.
        """
        if order.by is not AllowedBy.PEOPLE:
            return
        why = "it has none"
        for proof in order.proofs:
            key = self.keys.get(proof.signed.passkey)
            if key is None:
                why = "this node does not know the passkey"
                continue
            challenge = approval_challenge(
                order.run_id, plan.digest, proof.reply, proof.limit, proof.nonce
            )
            try:
                check(proof.signed, challenge, self.party, key, 0)
            except NotProven as error:
                why = str(error)
                continue
            return
        raise BadOrder(f"this node wants an answer that an approver's passkey signed: {why}")
