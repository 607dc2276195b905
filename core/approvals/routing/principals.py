"""Match people against configured lists: platform ids, groups, roles, and named people.

An entry is an immutable platform id (``U012AB3CD``), a ``group:…`` or ``role:…`` that the platform
says holds for the person at this moment, or ``person:NAME`` of the people directory. In a list
over all channels, all but ``person:NAME`` begin with the channel: ``slack:group:S012AB3CD``. An
empty list means nobody (invariant 7).
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from core.model.identity import Actor, PersonId

_PERSON = "person"
_KINDS = (f"{_PERSON}:", "group:", "role:")


@dataclass(frozen=True, slots=True)
class Listing:
    """Lists of people: of each channel, and over all channels."""

    by_channel: Mapping[str, frozenset[str]] = field(default_factory=dict)
    everywhere: frozenset[str] = frozenset()

    def admits(self, actor: Actor, person: PersonId | None = None) -> bool:
        """Return whether an actor is listed; ``person`` is whose account it is, where known."""
        local = _references(actor)
        listed = self.by_channel.get(actor.channel, frozenset())
        if not local.isdisjoint(listed):
            return True
        if actor.channel != _PERSON and any(
            f"{actor.channel}:{reference}" in self.everywhere for reference in local
        ):
            return True
        # An account without a link is a person by its own reference, never by a name.
        if person is None or ":" in person:
            return False
        return f"{_PERSON}:{person}" in listed | self.everywhere

    def may_admit(self, actor: Actor, person: PersonId) -> bool:
        """Return whether an actor whose groups are not known now may be listed."""
        entries = self.everywhere | self._listed(actor.channel)
        kinds = (f"{actor.channel}:group:", f"{actor.channel}:role:")
        return self.admits(actor, person) or any(one.startswith(kinds) for one in entries)

    def anybody(self, channel: str, but: AbstractSet[str] = frozenset()) -> bool:
        """Return whether somebody may be listed for a channel; a named person may be in any.

        ``but`` are entries of one person who does not count: accounts with their channel, and
        ``person:NAME``.
        """
        heads = (f"{channel}:", f"{_PERSON}:")
        everywhere = {entry for entry in self.everywhere if entry.startswith(heads)}
        return not (self._listed(channel) | everywhere) <= but

    def _listed(self, channel: str) -> set[str]:
        """Return the entries of a channel's own list as a list over all has them."""
        return {
            entry if entry.startswith(f"{_PERSON}:") else f"{channel}:{entry}"
            for entry in self.by_channel.get(channel, ())
        }

    def count(self) -> int | None:
        """Return how many people are listed; ``None`` where a group or role hides how many."""
        own = {entry for channel in self.by_channel for entry in self._listed(channel)}
        entries = own | self.everywhere
        grouped = any(part in f":{entry}" for entry in entries for part in (":group:", ":role:"))
        return None if grouped else len(entries)


def _references(actor: Actor) -> frozenset[str]:
    """Return what may stand for an actor in its channel's list."""
    own = () if actor.account.startswith(_KINDS) else (actor.account,)
    return actor.groups | frozenset(own)
