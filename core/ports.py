"""Define the protocols that core needs; the composition root (``bot.app``) provides them."""

from collections.abc import AsyncIterator
from typing import Protocol

from core.model.command import ExecPlan
from core.model.decision import Basis
from core.model.identity import ApprovalId, Requester
from core.model.result import Finished, LiveOutput, OutputChunk


class Journal(Protocol):
    """The audit journal: a record is on disk before the call returns."""

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append one record durably.

        Raises:
            JournalError: nothing was written; the caller must not run anything.
        """


class RunStart(Protocol):
    """The start of one run: its host claims it here, names its process, and learns its basis."""

    async def claim(self) -> bool:
        """Claim the run durably, once; ``False`` means that it must not start (invariant 6)."""

    async def identified(self, pid: int, pgid: int, start_ticks: int) -> None:
        """Note the process that leads the run, so that recovery can find it."""

    async def basis(self) -> Basis:
        """Return what allowed the run to start; a node checks it."""


class SpawnGuard(Protocol):
    """The last check before anything is spawned."""

    def check(self, plan: ExecPlan) -> None:
        """Let a plan run, or refuse it.

        Raises:
            LockedDown: nothing may run.
        """


class PlanRunner(Protocol):
    """What runs plans."""

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Verify the plan, claim, spawn and wait.

        Raises:
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: the command could not be started.
        """

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command (TERM, grace, KILL); ``False`` if it does not run here."""

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if it does not run here."""

    def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints from start to end, up to the cap on what is kept.

        Nothing is yielded for a run that is not here. Any number may watch; none holds it up.
        """


class ExecutionHost(PlanRunner, Protocol):
    """A place where plans run."""

    @property
    def place(self) -> str:
        """Return the word that events show: ``gateway``, ``sandbox`` or a node id."""

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Return why a plan would give the requester more rights than their own, or ``""``.

        What people are asked about is for them to judge; this is for what runs without asking.
        """

    async def check(self, plan: ExecPlan) -> None:
        """Refuse, before anyone is asked, what could not start here whatever the answer.

        Raises:
            HostUnavailable: the host does not work here, or not for such plans.
            SpawnError: the command could not be started.
        """
