"""Check what surrounds the gateway: the wall clock, the chat platforms and the sandbox."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bot.health.check import Finding, Verdict, ask_platform
from bot.settings import Settings
from channels.base import Channel
from core.errors import SaysoError
from core.hosts.sandbox.host import SandboxHost
from core.model.policy import ExecHost

_JUMP_S = 1.0
_REPORTED_FOR_S = 600.0
_PATIENCE_S = 10.0
CHANNEL_GOOD_S, CHANNEL_BAD_S = 60.0, 10.0
"""Seconds that a result is shown before the platform is asked again."""
SANDBOX_GOOD_S, SANDBOX_BAD_S = 60.0, 30.0
"""Seconds that a result is shown before the sandbox is checked again."""


@dataclass(slots=True)
class ClockProbe:
    """Compares the wall clock with the monotonic one; a jump is reported for ten minutes."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    _apart_s: float = field(init=False)
    _jump: str = ""
    _until: float = 0.0

    def __post_init__(self) -> None:
        """Record how far apart both clocks are now."""
        self._apart_s = self.wall() - self.steady()

    def __call__(self) -> Finding:
        """Check both clocks."""
        apart_s = self.wall() - self.steady()
        jumped_s, self._apart_s = apart_s - self._apart_s, apart_s
        if abs(jumped_s) >= _JUMP_S:
            at = datetime.fromtimestamp(self.wall(), UTC).strftime("%H:%M:%S")
            self._jump = f"jumped by {jumped_s:+.1f} s before {at} UTC; check NTP"
            self._until = self.steady() + _REPORTED_FOR_S
        if self.steady() < self._until:
            return Finding(Verdict.FAIL, "clock", self._jump)
        return Finding(Verdict.OK, "clock", "has not jumped")


@dataclass(frozen=True, slots=True)
class ChannelProbe:
    """Checks one channel."""

    channel: Channel
    name: str

    async def __call__(self) -> Sequence[Finding]:
        """Ask the platform."""
        return await ask_platform(self._subject, self._state, _PATIENCE_S)

    @property
    def _subject(self) -> str:
        return f"channel {self.name}"

    async def _state(self) -> Sequence[Finding]:
        state = await self.channel.check()
        return (Finding.when(state.ok, self._subject, state.detail),)


def sandbox_is_wanted(settings: Settings) -> bool:
    """Return whether commands of all agents, or of one, run in the sandbox by default."""
    agents = (entry.tools.exec.host for entry in settings.agents.entries)
    return ExecHost.SANDBOX in {settings.tools.exec.host, *agents}


@dataclass(frozen=True, slots=True)
class SandboxProbe:
    """Checks the backend that was found to work here."""

    host: SandboxHost

    async def __call__(self) -> Sequence[Finding]:
        """Return its name, or why none works."""
        try:
            words = f"{await self.host.backend()} encloses commands"
        except SaysoError as failure:
            return (Finding(Verdict.FAIL, "sandbox", str(failure)),)
        return (Finding(Verdict.OK, "sandbox", words),)
