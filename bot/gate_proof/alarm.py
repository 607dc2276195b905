"""Report a lockdown to everybody concerned: the journal, the log, the people."""

import json
import logging
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from core.approvals.routing.forwarding import Forwarding
from core.errors import SaysoError
from core.gate.guards.lockdown import Lockdown, Locked
from core.model.identity import Target
from core.ports import Journal
from core.store import Store, outbox
from core.store.people.people import Person, listed
from core.text.render import redact

_log = logging.getLogger(__name__)
_HERE = Target("terminal", "here")


@dataclass(frozen=True, slots=True)
class Audience:
    """Who is notified: the places that prompts may go to, or else the approvers, one by one.

    ``places`` are in channels that run here, which ``channels`` names. ``approvers`` are references
    with their channel (``slack:U012AB3CD``), or people (``person:ana``).
    """

    places: tuple[Target, ...] = ()
    approvers: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()

    def direct(self, known: Iterable[Person]) -> tuple[Target, ...]:
        """Return each approver's private place, and the terminal that the gateway runs in.

        ``known`` are the people in the directory. Groups and roles have no such place.
        """
        named = {reference.partition(":")[::2] for reference in self.approvers}
        for person in known:
            linked = [] if person.revoked else [one for one in person.accounts if not one.revoked]
            for one in linked:
                if self.approvers & {f"person:{person.id}", f"{one.channel}:person:{person.id}"}:
                    named.add((one.channel, one.account))
        alone = (_direct(*one) for one in sorted(named) if _is_account(*one, self.channels))
        here = (_HERE,) if _HERE.channel in self.channels else ()
        return (*dict.fromkeys(alone), *here)


def audience_of(
    forwarding: Forwarding, approvers: frozenset[str], channels: Collection[str]
) -> Audience:
    """Return who is notified of a lockdown: every place for prompts whose channel runs here."""
    ladder = (place for step in forwarding.steps for place in step.targets)
    known = dict.fromkeys([*forwarding.targets, *ladder])
    places = tuple(place for place in known if place.channel in channels)
    return Audience(places, approvers, frozenset(channels))


def _is_account(channel: str, account: str, channels: Collection[str]) -> bool:
    return channel in channels and channel != _HERE.channel and ":" not in account


def _direct(channel: str, account: str) -> Target:
    return Target(channel, f"user:{account}" if channel == "discord" else account)


@dataclass(slots=True)
class Alarm:
    """Announces a lockdown once, whatever caused it; the outbox delivers it even later."""

    lockdown: Lockdown
    store: Store
    journal: Journal
    audience: Audience
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
        await self.notify(words, key)
        await self.journal.append("lockdown", record)

    async def notify(self, words: str, key: str, more: Mapping[str, object] | None = None) -> None:
        """Enqueue a message for every place; the same key is sent once, ``more`` is stored."""
        payload = json.dumps({"text": words, **(more or {})})
        for place in await self._places():
            idem = f"{key}:{place.channel}:{place.to}:{place.thread}"
            try:
                await self.store.write(outbox.enqueue_notice, None, place, payload, idem)
            except SaysoError as failure:
                _log.error("cannot notify %s %s: %s", place.channel, place.to, failure)

    async def _places(self) -> tuple[Target, ...]:
        if self.audience.places:
            return self.audience.places
        try:
            known = await self.store.read(listed)
        except SaysoError as failure:
            _log.error("cannot read who is known by several accounts: %s", failure)
            known = ()
        return self.audience.direct(known)
