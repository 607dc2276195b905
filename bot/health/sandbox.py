"""Look at the sandbox, where the configuration runs commands in it."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.health.component import Part
from bot.settings import Settings
from core.errors import SaysoError
from core.hosts.sandbox.host import SandboxHost
from core.model.policy import ExecHost

GOOD_S, BAD_S = 60.0, 30.0
"""Seconds that an answer is shown before the sandbox is looked at again."""


def is_wanted(settings: Settings) -> bool:
    """Say whether commands of everybody, or of one agent, run in the sandbox unless told else."""
    agents = (entry.tools.exec.host for entry in settings.agents.entries)
    return ExecHost.SANDBOX in {settings.tools.exec.host, *agents}


@dataclass(frozen=True, slots=True)
class SandboxLook:
    """Look at the backend that was proved to work here."""

    host: SandboxHost

    async def __call__(self) -> Mapping[str, Part]:
        """Return its name, or why none works."""
        try:
            return {"sandbox": Part(True, f"{await self.host.backend()} encloses commands")}
        except SaysoError as failure:
            return {"sandbox": Part(False, str(failure))}
