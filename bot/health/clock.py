"""Notice when somebody sets the wall clock while the gateway runs, or the machine slept."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bot.health.component import Part

_JUMP_S = 1.0
_TOLD_FOR_S = 600.0


@dataclass(slots=True)
class ClockLook:
    """Compare the wall clock with the steady one at each look; a jump is told for ten minutes."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic
    _apart_s: float = field(init=False)
    _jump: str = ""
    _until: float = 0.0

    def __post_init__(self) -> None:
        """Note how far apart both clocks are now."""
        self._apart_s = self.wall() - self.steady()

    def __call__(self) -> Part:
        """Look at both clocks."""
        apart_s = self.wall() - self.steady()
        jumped_s, self._apart_s = apart_s - self._apart_s, apart_s
        if abs(jumped_s) >= _JUMP_S:
            at = datetime.fromtimestamp(self.wall(), UTC).strftime("%H:%M:%S")
            self._jump = f"jumped by {jumped_s:+.1f} s before {at} UTC; see that NTP keeps it"
            self._until = self.steady() + _TOLD_FOR_S
        if self.steady() < self._until:
            return Part(False, self._jump)
        return Part(True, "runs evenly")
