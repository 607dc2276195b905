"""Queue faults for a local platform server: refusals, dropped connections, delays."""

from collections import Counter, deque
from dataclasses import dataclass, field
from enum import StrEnum

from aiohttp import web

JSON_BEGINS = ("{", "[", "7", " ")
"""How a page that claims to be JSON begins; a blank is JSON that is not JSON."""


class FaultKind(StrEnum):
    """What goes wrong with a call."""

    STATUS = "status"
    """The call is answered with an HTTP status and not carried out."""
    DROP = "drop"
    """The connection is closed before the call is carried out."""
    LOSE = "lose"
    """The call is carried out, and the connection is closed before the answer."""
    HOLD = "hold"
    """The call is carried out, and answered after some seconds."""
    PAGE = "page"
    """Something else answers the call, with ``words`` as the body; it is not carried out."""
    DELAY = "delay"
    """The call is carried out after some seconds."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: for the next call of ``method``, or of any method for ``*``."""

    kind: FaultKind
    method: str = "*"
    status: int = 500
    retry_after: int = 0
    seconds: float = 0.0
    words: str = "Fault"


def page_of(fault: Fault | None) -> web.Response | None:
    """Return what a proxy answers in place of the platform, if that is the fault."""
    if fault is None or fault.kind is not FaultKind.PAGE:
        return None
    kind = "application/json" if fault.words[:1] in JSON_BEGINS else "text/html"
    return web.Response(status=fault.status, text=fault.words, content_type=kind)


@dataclass(slots=True)
class FaultQueue:
    """Faults in the order in which they strike; ``struck`` counts them by method."""

    waiting: deque[Fault] = field(default_factory=deque)
    lasting: Fault | None = None
    struck: Counter[str] = field(default_factory=Counter)

    def add(self, fault: Fault, times: int = 1) -> None:
        """Queue a fault ``times`` times."""
        self.waiting.extend([fault] * times)

    def strike(self, method: str) -> Fault | None:
        """Take the first fault meant for a method, or the one that lasts."""
        fault = self._meant_for(method)
        self.struck[method] += fault is not None
        return fault

    def _meant_for(self, method: str) -> Fault | None:
        if self.lasting is not None and self.lasting.method in ("*", method):
            return self.lasting
        for fault in self.waiting:
            if fault.method in ("*", method):
                self.waiting.remove(fault)
                return fault
        return None
