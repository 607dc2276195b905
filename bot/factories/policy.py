"""Make the rulebook of a configuration: the gateway's own, or one to look things up with."""

import os

from bot.factories.rules import provisions_of
from bot.settings import Settings
from core.approvals.file.file import ApprovalsFile
from core.approvals.file.idle import Idle
from core.approvals.file.usage import UsageFile
from core.gate.effective_policy import Rulebook


def rulebook_of(settings: Settings, *, looks: bool = False) -> Rulebook:
    """Return what the agents of a home may do now; skills and roots are looked up now.

    ``looks``: it is for whoever looks beside a gateway, and notes of no entry that it was seen.
    """
    usage = UsageFile(settings.home / "exec-approvals.usage.json")
    idle = Idle.of(settings.home, usage, settings.approvals.exec.allow_always_idle)
    idle.writes = not looks
    return Rulebook(
        configured=settings.exec_layers,
        file=ApprovalsFile(settings.home / "exec-approvals.json"),
        usage=usage,
        home=os.path.expanduser("~"),  # noqa: PTH111 - patterns are text
        elevated=settings.tools.elevated.enabled,
        compiled=provisions_of(settings),
        idle=idle,
    )
