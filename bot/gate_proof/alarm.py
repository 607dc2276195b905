"""Report a lockdown to everybody concerned: the journal, the log, the people."""

import json
import logging
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from core.approvals.routing.forwarding import Forwarding
from core.errors import SaysoError
from core.gate.guards.lockdown import Lockdown, Locked
from core.model.identity import Target
from core.ports import Journal
from core.store import Store, outbox
from core.text.render import redact

_log = logging.getLogger(__name__)


def places_of(forwarding: Forwarding, channels: Collection[str]) -> tuple[Target, ...]:
    """Return where people hear of it: every place that prompts may go to and that runs here.

    Where there is none, the terminal that the gateway runs in.
    """
    ladder = (place for step in forwarding.steps for place in step.targets)
    known = dict.fromkeys([*forwarding.targets, *ladder])
    places = tuple(place for place in known if place.channel in channels)
    if not places and "terminal" in channels:
        return (Target("terminal", "here"),)
    return places


@dataclass(slots=True)
class Alarm:
    """Announce a lockdown once, however it came about; the outbox brings it there later too."""

    lockdown: Lockdown
    store: Store
    journal: Journal
    places: tuple[Target, ...]
    _announced: Locked | None = field(default=None)

    async def sound(self) -> None:
        """Announce what is locked and was not announced; what fails is tried again next time."""
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
            "way": locked.way,
        }
        await self.note(record, locked.sentence, f"lockdown:{locked.at_ms}")
        self._announced = locked

    async def _passed(self) -> None:
        """Announce that what locked for a while is over by itself."""
        if self._announced is None or not self._announced.passes:
            return
        self._announced = None
        words = "Sayso accepts requests again: its home is private again."
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
        """Write to the journal, and notify people even where that fails.

        Raises:
            SaysoError: the journal could not be written; people were notified as far as possible.
        """
        await self.notify(words, key)
        await self.journal.append("lockdown", record)

    async def notify(self, words: str, key: str) -> None:
        """Enqueue a message for every place; the same key is sent once."""
        payload = json.dumps({"text": words})
        for place in self.places:
            idem = f"{key}:{place.channel}:{place.to}:{place.thread}"
            try:
                await self.store.write(outbox.enqueue_notice, None, place, payload, idem)
            except SaysoError as failure:
                _log.error("cannot notify %s %s: %s", place.channel, place.to, failure)
