"""Withdraw the test prompts of a gateway that was killed: nobody waits for their answer."""

import logging

from bot.gate_proof.test_prompt import is_test
from core.gate import Gate
from core.runner.process_liveness import Fate, fate
from core.store.approvals.queries import pending
from core.store.engine import replicas

_LOG = logging.getLogger(__name__)
_MOST = 100
WITHDRAWN = "it was a test prompt; the command that sent it is gone"


async def withdraw_test_prompts(gate: Gate) -> None:
    """Withdraw what is left where no other gateway lives, which may be asking right now."""
    store = gate.store
    others = await store.read(replicas.others, gate.execution.owner)
    if any(fate(one.process) is not Fate.DEAD for one in others):
        return
    for one in await store.read(pending, _MOST):
        if is_test(one.plan.session) and await gate.cancel(one.id, WITHDRAWN):
            _LOG.info("withdrew the test prompt %s, which a killed command left", one.id)
