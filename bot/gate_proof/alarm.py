"""Report a lockdown to everybody concerned: the journal, the log, the people."""

import logging
import time
from dataclasses import dataclass, field

from bot.announcements import Announcer
from core.gate.guards.lockdown import Lockdown, Locked
from core.ports import Journal
from core.text.render import redact

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Alarm:
    """Announces a lockdown once, whatever caused it; the outbox delivers it even later."""

    lockdown: Lockdown
    journal: Journal
    announcer: Announcer
    _announced: Locked | None = field(default=None)

    async def sound(self) -> None:
        """Announce a lockdown that was not announced yet; a failure is retried next time."""
        self.lockdown.keep()
        locked = self.lockdown.state()
        if locked is None:
            await self._passed()
        if locked is None or locked == self._announced:
            return
        _log.critical("%s", redact(locked.sentence).text)
        record: dict[str, object] = {
            "state": "on",
            "why": redact(locked.why).text,
            "by": redact(locked.by).text,
            "way": locked.entry_point,
        }
        words = f"{locked.sentence} It was locked by {locked.by}."
        await self.note(record, words, f"lockdown:{locked.at_ms}")
        self._announced = locked

    async def _passed(self) -> None:
        """Announce that a temporary lockdown has ended on its own."""
        if self._announced is None or not self._announced.passes:
            return
        self._announced = None
        words = "Sayso accepts requests again: its home is in order again."
        await self.note({"state": "off", "by": "home check"}, words, f"passed:{time.time_ns()}")

    async def lifted(self, by: str) -> None:
        """Announce that requests are accepted again."""
        self._announced = None
        words = (
            f"Sayso accepts requests again: every entry point passed, and {by} lifted the lockdown."
        )
        _log.warning("%s", words)
        await self.note({"state": "off", "by": by}, words, f"lifted:{time.time_ns()}")

    async def note(self, record: dict[str, object], words: str, key: str) -> None:
        """Write to the journal, and notify people even if that fails.

        Raises:
            SaysoError: the journal could not be written; people were notified as far as possible.
        """
        await self.announcer.tell(words, key)
        await self.journal.append("lockdown", record)
