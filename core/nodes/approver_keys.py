"""Check on the node what people's passkeys signed, so that a gateway cannot say they allowed it.

The gateway's signature says that the gateway orders a run. A node that was given the public keys of
approvers also wants to see that one of them allowed this very run of this very plan: a gateway that
was taken over can order what people allowed, once each, and nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from core.model.command import ExecPlan
from core.model.decision import AllowedBy
from core.nodes.envelope import BadOrder, Order
from core.trust.passkeys import NotProven, RelyingParty, approval_challenge, check


@dataclass(frozen=True, slots=True)
class ApproverKeys:
    """Public keys of passkeys by their ids, and the page on which they sign."""

    party: RelyingParty
    keys: Mapping[str, str]

    def check(self, order: Order, plan: ExecPlan) -> None:
        """Refuse what people are said to have allowed and none of these passkeys signed.

        What the node's own policy allows, and its own askFallback, need no signature. The count of
        a passkey is not looked at: an order is taken once for its run id, whatever signed it.

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
