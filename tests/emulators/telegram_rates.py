"""Refuse messages that arrive faster than Telegram takes them, and count each refusal.

The figures are the Bot FAQ's: about one a second to a chat, of which it lets short bursts pass, 20
in any minute to a group, 30 in any second overall. Edits and answers to presses are not counted.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from tests.emulators.telegram_rules import Refusal

_OVERALL = (30, 1.0)
_GROUP = (20, 60.0)
_CHAT = (9, 5.0)
"""Messages and the window in seconds: one a second, and four more at once."""


@dataclass(slots=True)
class Rates:
    """The times of the accepted messages, by what limits them."""

    on: bool = True
    violations: int = 0
    clock: Callable[[], float] = time.monotonic
    _taken: dict[str, deque[float]] = field(default_factory=dict)

    def take(self, chat: int) -> None:
        """Count one message to a chat, or refuse it with 429."""
        if not self.on:
            return
        limits = {"all": _OVERALL, f"chat {chat}": _CHAT}
        if chat < 0:
            limits[f"group {chat}"] = _GROUP
        now = self.clock()
        waits = [self._wait(name, now, *limit) for name, limit in limits.items()]
        if max(waits) > 0:
            self.violations += 1
            raise Refusal(429, "Too Many Requests: retry later", ceil(max(waits)))
        for name in limits:
            self._taken[name].append(now)

    def _wait(self, name: str, now: float, most: int, window: float) -> float:
        taken = self._taken.setdefault(name, deque())
        while taken and taken[0] <= now - window:
            taken.popleft()
        return taken[0] + window - now if len(taken) >= most else 0.0
