"""Build the rulebook of a configuration: the gateway's own, or a read-only one."""

import os
from pathlib import Path

from bot.factories.rules import provisions_of
from bot.settings import Settings
from core.approvals.file.file import ApprovalsFile
from core.approvals.file.idle import Idle
from core.approvals.file.usage import Usage
from core.gate.effective_policy import Rulebook


def idle_of(settings: Settings, home: Path) -> Idle:
    """Return a check of which entries of the file in a home no longer count."""
    return _idle_of(settings, ApprovalsFile(home / "exec-approvals.json"), home)


def _idle_of(settings: Settings, file: ApprovalsFile, home: Path) -> Idle:
    return Idle.of(home, Usage(file), settings.approvals.exec.allow_always_idle)


def rulebook_of(
    settings: Settings, approvals: Path | None = None, *, read_only: bool = False
) -> Rulebook:
    """Return what the agents of a home may do; skills and roots are looked up now.

    ``approvals`` is the approvals file, ``None``: that of the home. ``read_only``: it is for a
    reader outside the gateway, and marks no entry as used.
    """
    path = approvals or settings.home / "exec-approvals.json"
    file = ApprovalsFile(path)
    idle = _idle_of(settings, file, path.parent)
    idle.writes = not read_only
    return Rulebook(
        configured=settings.exec_layers,
        file=file,
        usage=idle.usage,
        home=os.path.expanduser("~"),  # noqa: PTH111 - patterns are text
        elevated=settings.tools.elevated.enabled,
        compiled=provisions_of(settings),
        idle=idle,
    )
