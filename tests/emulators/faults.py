"""Queue faults for a local platform server: refusals, dropped connections, delays."""

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum


class FaultKind(StrEnum):
    """What goes wrong with a call."""

    STATUS = "status"
    """It is answered with an HTTP status and not carried out."""
    DROP = "drop"
    """The connection is closed before it is carried out."""
    LOSE = "lose"
    """It is carried out, and the connection is closed before the answer."""
    HOLD = "hold"
    """It is carried out, and answered after some seconds."""
    DELAY = "delay"
    """It is carried out after some seconds."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: for the next call of ``method``, or of any method for ``*``."""

    kind: FaultKind
    method: str = "*"
    status: int = 500
    retry_after: int = 0
    seconds: float = 0.0
    words: str = "Fault"


@dataclass(slots=True)
class FaultQueue:
    """Faults in the order in which they strike."""

    waiting: deque[Fault] = field(default_factory=deque)

    def add(self, fault: Fault, times: int = 1) -> None:
        """Queue a fault ``times`` times."""
        self.waiting.extend([fault] * times)

    def strike(self, method: str) -> Fault | None:
        """Take the first fault that is meant for a method."""
        for fault in self.waiting:
            if fault.method in ("*", method):
                self.waiting.remove(fault)
                return fault
        return None
