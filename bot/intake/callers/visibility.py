"""Hide what belongs to another agent from a caller: it is answered like an unknown id."""

from collections.abc import Iterable, Mapping
from typing import NoReturn

from bot.intake.callers.caller import Caller
from core.errors import NotFound
from core.gate.gate import Gate
from core.model.approval import Approval
from core.model.identity import ApprovalId
from core.store.views.references import matching


async def of_run(gate: Gate, run_id: str, caller: Caller) -> ApprovalId:
    """Return the id of a run or approval that the caller may know of.

    Raises:
        NotFound: there is none, or it belongs to an agent that is not the caller's.
    """
    if not await _sees(gate, ApprovalId(run_id), caller):
        unknown(run_id)
    return ApprovalId(run_id)


async def named(gate: Gate, ref: str, caller: Caller) -> ApprovalId:
    """Return the only run or approval of a caller that an id, a code or an id's prefix matches.

    Raises:
        NotFound: it matches none that the caller may know of, or several.
    """
    meant = await gate.store.read(matching, ref)
    found = [one for one in meant if await _sees(gate, one, caller)]
    if len(found) > 1:
        raise NotFound(f"{ref!r} matches {len(found)} runs; give more of the id")
    # A run that has just begun may not be stored yet: then only its whole id finds it.
    return found[0] if found else await of_run(gate, ref, caller)


async def _sees(gate: Gate, run_id: ApprovalId, caller: Caller) -> bool:
    if caller.sees_all:
        return True
    agent = await gate.agent_of(run_id)
    return agent is not None and caller.sees(agent)


def seen(found: Iterable[Approval], caller: Caller) -> tuple[Approval, ...]:
    """Return the approvals that the caller may know of."""
    return tuple(one for one in found if caller.sees(one.plan.agent))


def part_of_file(
    file: Mapping[str, object], named: str | None, caller: Caller
) -> dict[str, object]:
    """Return exec-approvals.json with the agents that the caller may see, or just ``named``."""
    if named is None and caller.sees_all:
        return {**file}
    found = file.get("agents")
    agents = found if isinstance(found, dict) else {}
    kept = {one: part for one, part in agents.items() if caller.sees(one) and named in {None, one}}
    return {**file, "agents": kept}


def unknown(run_id: str) -> NoReturn:
    """Report that no such run exists; one that is hidden is reported in the same words.

    Raises:
        NotFound: always.
    """
    raise NotFound(f"No request has the id or code {run_id!r}; see `sayso history`.")
