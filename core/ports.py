"""Protocols written from core's need; the composition root (``bot.app``) fills them."""

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


class RunWatcher(Protocol):
    """What the gate wants to hear while a command runs."""

    async def claim(self) -> bool:
        """Claim the run durably, once; ``False`` means that it must not start (rule 6)."""

    async def identified(self, pid: int, pgid: int, start_ticks: int) -> None:
        """Note the process that leads the run, so that recovery can find it."""

    async def basis(self) -> Basis:
        """Return what let the run start; a node checks it."""


class SpawnGuard(Protocol):
    """What is asked at the last moment before anything is spawned."""

    def check(self, plan: ExecPlan) -> None:
        """Let a plan run, or refuse it.

        Raises:
            LockedDown: nothing may run.
        """


class ExecutionHost(Protocol):
    """A place where plans run."""

    @property
    def place(self) -> str:
        """Return the word that events show: ``gateway``, ``sandbox`` or a node id."""

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Return why a plan would give who asks more rights than are theirs, ``""`` if it does not.

        What people are asked about is theirs to judge; this is for what runs unasked.
        """

    async def check(self, plan: ExecPlan) -> None:
        """Refuse what could not start here however it was answered, before anybody is asked.

        Raises:
            HostUnavailable: the host does not work here, or not for such plans.
            SpawnError: the command could not be started.
        """

    async def run(self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher) -> Finished:
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
        """Yield what a run prints from its start on, up to the cap of what is kept, until its end.

        Nothing is yielded for a run that is not here. Any number may watch; none holds it up.
        """
