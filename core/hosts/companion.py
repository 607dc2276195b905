"""Run plans in the context of the companion, if exec-approvals.json says so (S0, S1).

The companion is a process of the same user in another context: a desktop session with its
keyring, its display, its permissions. It verifies and runs the same bound plan with the same
runner. If it is missing, ``askFallback`` says whether a command may run here without it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from core.companion.client import (
    CompanionAddress,
    CompanionRefused,
    NoCompanion,
    Ordered,
    order_run,
    probe,
)
from core.companion.frames import NotRun, Ran, RunOrder
from core.errors import BadRequest, HostUnavailable, SpawnError
from core.hosts.failures import failure_of
from core.ipc.peer import Peer
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import Finished, LiveOutput, Output, OutputChunk
from core.model.stdio import Capture
from core.ports import RunStart, SpawnGuard
from core.runner.require_claim import require_claim
from core.runner.runner import Runner

_log = logging.getLogger(__name__)
_CLAIM_S = 10.0
"""How long a companion may take to record a run."""


@dataclass(slots=True)
class CompanionRunner:
    """A runner that has plans run at the companion while ``address`` names one, or runs them.

    ``knows`` says whether a listener may run for us: not one that a run of ours started.
    ``unasked`` is whether ``askFallback`` lets a plan run without the companion.
    """

    runner: Runner
    address: Callable[[], CompanionAddress | None]
    knows: Callable[[Peer], bool]
    unasked: Callable[[ExecPlan], bool]
    guard: SpawnGuard
    _there: dict[ApprovalId, Ordered | None] = field(default_factory=dict)
    _unwanted: set[ApprovalId] = field(default_factory=set)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Run a plan at the companion or here, and wait until it ends.

        Raises:
            HostUnavailable: the companion is missing, and nothing lets the plan run without it.
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: nothing ran: not claimed, or the command could not be started.
            LockedDown: the guard lets nothing run.
        """
        address = self.address()
        if address is None:
            return await self.runner.run(run_id, plan, start)
        if plan.stdio.capture is Capture.PTY:
            raise HostUnavailable("the companion runs commands without a terminal")
        absent = await self._absent(address)
        if not absent:
            return await self._at(address, run_id, plan, start)
        if not self.unasked(plan):
            raise HostUnavailable(f"commands run at the companion, and it is missing: {absent}")
        _log.warning("run %s runs without the companion, by askFallback: %s", run_id, absent)
        return await self.runner.run(run_id, plan, start)

    async def _absent(self, address: CompanionAddress) -> str:
        """Return why no companion can run anything now, ``""`` if one can."""
        try:
            peer = await probe(address)
        except NoCompanion as absent:
            return str(absent)
        return "" if self.knows(peer) else "its listener was started by a run of Sayso, or is gone."

    async def _at(
        self, address: CompanionAddress, run_id: ApprovalId, plan: ExecPlan, start: RunStart
    ) -> Finished:
        """Claim, order the run, and wait for its ending; claimed here and recorded there, once."""
        self.guard.check(plan)
        by = (await start.basis()).by
        self._there[run_id] = None
        try:
            await require_claim(run_id, start)
            order = RunOrder(id=run_id, digest=plan.digest, by=by, plan=plan)
            outcome = await self._ordered(address, order)
        finally:
            del self._there[run_id]
            self._unwanted.discard(run_id)
        if outcome is None:
            return Finished(run_id, None, None, Output(), duration_ms=0)
        if isinstance(outcome, NotRun):
            raise failure_of(outcome.reason, outcome.why)
        return outcome.result

    async def _ordered(self, address: CompanionAddress, order: RunOrder) -> Ran | NotRun | None:
        """Return how a run ended; ``None`` if that was not seen.

        Raises:
            SpawnError: the companion did not accept it, so nothing ran.
        """
        run_id = ApprovalId(order.id)
        try:
            ordered = self._there[run_id] = await order_run(address, order, _CLAIM_S)
            if run_id in self._unwanted:
                await ordered.cancel()
            return await ordered.ending()
        except (CompanionRefused, BadRequest) as refusal:
            raise SpawnError(f"the companion did not run it: {refusal}") from None
        except NoCompanion as lost:
            _log.warning("how run %s ended is unknown: %s", run_id, lost)
            return None

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command; ``False`` if it does not run here."""
        if run_id not in self._there:
            return await self.runner.cancel(run_id)
        self._unwanted.add(run_id)
        ordered = self._there[run_id]
        if ordered is not None:
            await ordered.cancel()
        return True

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a command printed last; a companion reports its output at the end."""
        return await self.runner.tail(run_id)

    def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints; nothing if it runs at the companion."""
        return self.runner.watch(run_id)

    async def stop(self) -> None:
        """End what runs at the companion, and the runner."""
        await asyncio.gather(*(self.cancel(run_id) for run_id in tuple(self._there)))
        await self.runner.stop()
