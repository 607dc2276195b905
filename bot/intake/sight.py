"""Hide from a caller what belongs to another agent: it is answered like an unknown id."""

from collections.abc import Iterable
from typing import NoReturn

from bot.intake.caller import Caller
from core.errors import NotFound
from core.model.approval import Approval
from core.model.identity import ApprovalId
from core.store import Store, owners


async def of_run(store: Store, run_id: str, caller: Caller) -> ApprovalId:
    """Return the id of a run or approval that the caller may know of.

    Raises:
        NotFound: there is none, or it is of an agent that is not the caller's.
    """
    if caller.agents is not None:
        agent = await store.read(owners.agent_of, ApprovalId(run_id))
        if agent is None or not caller.sees(agent):
            unknown(run_id)
    return ApprovalId(run_id)


def seen(found: Iterable[Approval], caller: Caller) -> tuple[Approval, ...]:
    """Return the approvals that the caller may know of."""
    return tuple(one for one in found if caller.sees(one.plan.agent))


def unknown(run_id: str) -> NoReturn:
    """Say that there is no such run; one that is hidden is told in the same words.

    Raises:
        NotFound: always.
    """
    raise NotFound(f"no run has the id {run_id!r}; `sayso history` lists them")
