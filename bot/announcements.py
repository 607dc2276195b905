"""Send notices to everybody who is asked: about the gateway itself, not about one question."""

import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from core.approvals.routing.forwarding import Forwarding
from core.errors import SaysoError
from core.model.identity import Target
from core.store import Store, outbox
from core.store.people.people import Person, listed

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
    """Return who is notified: every place for prompts whose channel runs here."""
    ladder = (place for step in forwarding.steps for place in step.targets)
    known = dict.fromkeys([*forwarding.targets, *ladder])
    places = tuple(place for place in known if place.channel in channels)
    return Audience(places, approvers, frozenset(channels))


def _is_account(channel: str, account: str, channels: Collection[str]) -> bool:
    return channel in channels and channel != _HERE.channel and ":" not in account


def _direct(channel: str, account: str) -> Target:
    return Target(channel, f"user:{account}" if channel == "discord" else account)


@dataclass(slots=True)
class Announcer:
    """Notifies the audience, which a reload replaces; the outbox delivers it even later."""

    store: Store
    audience: Audience

    def turn_to(self, audience: Audience) -> None:
        """Notify this audience from now on."""
        self.audience = audience

    async def tell(self, words: str, key: str, more: Mapping[str, object] | None = None) -> None:
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
