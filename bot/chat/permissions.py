"""Decide who in a chat may look and who may act; platform ids and named people only."""

from dataclasses import dataclass

from channels.base import Reply, Tone
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.senders import Senders
from core.model.identity import Actor
from core.store import Store
from core.store.people import people
from core.text.render import redact


@dataclass(frozen=True, slots=True)
class KnownPeople:
    """The people whom Sayso knows: approvers decide, senders act, both may look."""

    store: Store
    approvers: Approvers
    senders: Senders

    async def may_look(self, actor: Actor) -> bool:
        """Return whether a person may see what is asked and what runs; no revoked person may."""
        known = await self.store.read(people.known_as, actor)
        if known.revoked:
            return False
        lists = [self.approvers.listing(agent) for agent in (None, *self.approvers.by_agent)]
        approves = any(listing.admits(actor, known.person) for listing in lists)
        return approves or await self.senders.may(actor)

    async def may_act(self, actor: Actor) -> bool:
        """Return whether a person may run commands or set where the chat's commands run."""
        return await self.senders.may(actor)


def stranger(actor: Actor, command: str, lists: str) -> Reply:
    """Return the refusal for a person who is on none of the lists, naming the id to list."""
    words = (
        f"You may not use {command}: id {actor.account} is not in {lists} of "
        f"channels.{actor.channel}. Nothing was changed."
    )
    return Reply(redact(words), Tone.REFUSED)
