"""Report to the service manager what the gateway does, and that it is alive.

The watchdog should end a gateway that no longer does anything, and no other:

- a loop that is stuck sends nothing, since the loop itself sends;
- an unreachable database causes an error, which is an answer: a restart would not bring it back,
and waiting callers would lose their connections; - a call of the store that never ends, with
neither answer nor error, means that its threads or connections are stuck: each call has its own
time limits, which end well before ours.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass

from bot.service.notify import Notifier
from core.errors import SaysoError
from core.gate.gate import Gate
from core.store.engine import replicas
from core.store.views import status

_EVERY_S = 5.0
_PER_PERIOD = 3
"""How often we report to the manager within the time that it waits."""
STORE_PATIENCE_S = 90.0
"""How long a call of the store may take; if the database is unreachable or does not answer, it
fails within 60 s, however many others wait with it."""


@dataclass(slots=True)
class ServiceReport:
    """What is reported to the service manager while the gateway runs."""

    notifier: Notifier
    gate: Gate
    store_patience_s: float = STORE_PATIENCE_S
    _asked: float | None = None
    _words: str = ""

    async def run(self) -> None:
        """Report for as long as the task runs; return at once if nobody wants reports."""
        if not self.notifier.address:
            return
        looking = asyncio.create_task(self._look_on())
        try:
            await self._tell()
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking

    async def _tell(self) -> None:
        watchdog_s = self.notifier.watchdog_s
        pause_s = _EVERY_S if watchdog_s is None else min(_EVERY_S, watchdog_s / _PER_PERIOD)
        while True:
            if watchdog_s is not None and self._is_alive():
                self.notifier.alive()
            await asyncio.sleep(pause_s)

    def _is_alive(self) -> bool:
        """Return whether the store answers, or the call has not taken long yet."""
        return self._asked is None or time.monotonic() - self._asked < self.store_patience_s

    async def _look_on(self) -> None:
        while True:
            self._asked = time.monotonic()
            words = await self._seen()
            self._asked = None
            if words != self._words:
                self._words = words
                self.notifier.status(words)
            await asyncio.sleep(_EVERY_S)

    async def _seen(self) -> str:
        """Return the line that `systemctl status` shows."""
        locked = self.gate.execution.guard.lockdown.state()
        lockdown = "" if locked is None else "locked down; see `sayso lockdown status`; "
        running = f"{len(self.gate.running)} running"
        store, owner = self.gate.store, self.gate.execution.owner
        try:
            await store.write(replicas.probe, owner, replicas.LEASE_MS)
            self._asked = time.monotonic()  # it has answered; each call gets the full time
            waiting = await store.read(status.pending)
        except SaysoError:
            return f"{lockdown}{running}; the database does not work, nothing new runs"
        return f"{lockdown}{waiting} waiting for an answer, {running}"
