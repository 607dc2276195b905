"""Run systemd's own programs, like every other process, under a supervisor of core.runner."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.service.own_program import Done, ran
from bot.service.unit import Program, Scope
from core.errors import HostUnavailable, SaysoError

_BUS = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
_SHOWN = ("LoadState", "ActiveState", "SubState", "UnitFileState", "StatusText", "MainPID")


@dataclass(frozen=True, slots=True)
class Systemd:
    """The service manager of this user or of the system."""

    scope: Scope
    environ: Mapping[str, str]
    runs: Program = Program.GATEWAY

    @property
    def unit(self) -> str:
        """Return the name of the unit."""
        return self.runs.unit_name

    def tell(self, *words: str) -> Done:
        """Run ``systemctl``.

        Raises:
            HostUnavailable: it is not installed here.
            SpawnError: no process can be started at all.
        """
        return self._run("systemctl", f"--{self.scope}", "--no-pager", "--no-ask-password", *words)

    def state(self) -> dict[str, str]:
        """Return what systemd knows about the unit; empty if systemd cannot be run."""
        try:
            done = self.tell("show", self.unit, "--property", ",".join(_SHOWN))
        except SaysoError:
            return {}
        if not done.well:
            return {}
        lines = (line.partition("=") for line in done.text.splitlines())
        return {name: value for name, _, value in lines if name in _SHOWN}

    def faults(self, unit: str) -> str | None:
        """Return what ``systemd-analyze verify`` says about a file; ``None`` without it.

        Raises:
            SpawnError: no process can be started at all.
        """
        try:
            words = ("verify", f"--{self.scope}", "--man=no", unit)
            done = self._run("systemd-analyze", *words, XDG_RUNTIME_DIR=str(Path(unit).parent))
        except HostUnavailable:
            return None
        about_us = [line for line in done.text.splitlines() if self.unit in line]
        return "" if done.well and not about_us else "\n".join(about_us) or done.text.strip()

    def _run(self, program: str, *words: str, **instead: str) -> Done:
        """Run a program; ``instead`` are defaults for variables that this process does not have."""
        found = shutil.which(program)
        if found is None:
            raise HostUnavailable(f"{program} is not installed; this needs systemd.")
        given = {name: self.environ[name] for name in _BUS if name in self.environ}
        given = {**instead, **given}
        return ran((os.path.realpath(found), *words), given)
