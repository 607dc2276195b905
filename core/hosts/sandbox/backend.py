"""Define what a sandbox backend is, and what those with a filter of system calls share."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from core.errors import HostUnavailable
from core.hosts.sandbox.filesystem.layout import Places
from core.hosts.sandbox.filesystem.mounts import View
from core.hosts.sandbox.filesystem.protect import Hold
from core.hosts.sandbox.filesystem.workspace_check import Check
from core.hosts.sandbox.memfd import sealed
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import Finished
from core.runner.enclosure import Enclosure


class Backend(Protocol):
    """A way to enclose commands; which one is used shows in ``name``."""

    @property
    def name(self) -> str:
        """Return the word of ``sandbox.backend``."""

    def check(self, plan: ExecPlan) -> None:
        """Refuse a plan that could not start inside.

        Raises:
            SpawnError: a command or its folder cannot be seen from inside.
        """

    def names_workspace(self, plan: ExecPlan) -> bool:
        """Return whether a plan may change the folder that its request named."""

    def workspace(self, plan: ExecPlan) -> str | None:
        """Return the folder that a plan may change, ``None`` if it may change none."""

    def enclose(
        self, run_id: ApprovalId, plan: ExecPlan, scratch: Path, check: Check | None = None
    ) -> AbstractContextManager[Enclosure]:
        """Yield the enclosure of one run, whose commands share the private folder ``scratch``.

        ``check`` begins with it, if there is a workspace; what it holds cannot be changed.

        Raises:
            HostUnavailable: it does not work here.
            PlanDrift: the workspace is not the folder that was approved.
            SpawnError: this plan cannot run inside.
        """

    def broke(self, done: Finished) -> bool:
        """Return whether a run may have ended because the backend itself failed."""

    async def sweep(self, run_id: ApprovalId | None, done: Finished | None) -> None:
        """End what such a run left behind; without one, what all runs of dead gateways left."""

    def close(self) -> None:
        """Release what the backend holds."""


class FilteredBackend:
    """What a backend knows about its folders, and its filter of system calls, a file in memory.

    ``make_filter`` is called when the filter is needed; ``None``: there is none for this machine.
    """

    def __init__(self, places: Places, make_filter: Callable[[], bytes | None]) -> None:
        self._places = places
        self._make_filter = make_filter
        self._filter = -1

    def _seccomp(self) -> int:
        """Return the descriptor of the filter.

        Raises:
            HostUnavailable: there is no filter for this machine.
        """
        if self._filter < 0:
            content = self._make_filter()
            if content is None:
                raise HostUnavailable("there is no system call filter for this machine")
            self._filter = sealed("sayso-seccomp", content)
        return self._filter

    def close(self) -> None:
        """Release the filter's memory."""
        if self._filter >= 0:
            os.close(self._filter)
            self._filter = -1

    def _held(
        self, check: Check | None, view: View, folder: int, *, binds: bool = True
    ) -> tuple[Hold, ...]:
        """Begin a check, and return what is to be bound to itself; what is hidden is not."""
        if check is None or folder < 0 or view.workspace is None:
            return ()
        base = view.workspace
        held = check.begin(folder, base, view.in_its_workspace(), binds=binds)
        return tuple(one for one in held if view.sees(f"{base}/{one.path}"))

    def names_workspace(self, plan: ExecPlan) -> bool:
        """Return whether a plan may change the folder that its request named."""
        return self._places.workspace is None and self.workspace(plan) == plan.cwd.path

    def workspace(self, plan: ExecPlan) -> str | None:
        """Return the folder that a plan may change, ``None`` if it may change none."""
        return self._places.workspace_for(plan.cwd.path)
