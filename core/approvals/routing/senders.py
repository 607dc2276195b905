"""Decide who may send ``/exec``, ``/elevated`` and ``/run``; approvers are listed apart."""

from dataclasses import dataclass

from core.approvals.routing.principals import Listing
from core.model.identity import Actor
from core.store import Store
from core.store.people import people


@dataclass(frozen=True, slots=True)
class Senders:
    """The authorised senders of each channel (S0 "Slash commands"); an empty list means nobody."""

    store: Store
    listing: Listing

    async def may(self, actor: Actor) -> bool:
        """Return whether a person may change a session or run something; nobody revoked may.

        Raises:
            StoreError: the directory cannot be read, so nobody may.
        """
        known = await self.store.read(people.known_as, actor)
        return not known.revoked and self.listing.admits(actor, known.person)
