"""Decide who may answer (invariant 7).

An empty list means nobody. Ids are the platform's immutable ones, compared exactly. The requester
never approves its own request, on any path and on none of its linked accounts.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum

from core.approvals.routing.principals import Listing
from core.model.access import VisibleAgents
from core.model.identity import NETWORK, Actor, AgentId, Intake, PersonId, Requester


class Eligibility(StrEnum):
    """Whether a person may answer a request, or why not."""

    MAY = "may"
    NOT_LISTED = "not_listed"
    REQUESTER = "requester"


@dataclass(frozen=True, slots=True)
class Approvers:
    """The listed approvers: of each channel, over all channels, and of single agents.

    ``by_agent`` replaces both other lists for its agents, even where it is empty. ``quorum`` is
    how many different people must allow, ``quorum_by_agent`` the same for single agents.
    """

    by_channel: Mapping[str, frozenset[str]]
    everywhere: frozenset[str] = frozenset()
    by_agent: Mapping[AgentId, frozenset[str]] = field(default_factory=dict)
    quorum: int = 1
    quorum_by_agent: Mapping[AgentId, int] = field(default_factory=dict)

    def eligibility(
        self,
        actor: Actor,
        requester: Requester,
        process: tuple[int, int] | None = None,
        *,
        agent: AgentId | None = None,
        person: PersonId | None = None,
        asker: PersonId | None = None,
        others: Collection[Requester] = (),
    ) -> Eligibility:
        """Return whether ``actor`` may answer a request of ``requester`` for ``agent``.

        ``person`` and ``asker`` own the accounts of the actor and of a requester in a chat.
        ``process`` is the kernel session of an actor who answers over the local socket: a command
        started from the session that asked is the requester, whatever it calls itself, and so is
        one whose session may be the same (peers: OpenClaw #48149). ``others`` asked an identical
        question that may end by this answer; each of them counts as the requester.
        """
        asked = any(_same(actor, one, process) for one in (requester, *others))
        if asked or (person is not None and person == asker):
            return Eligibility.REQUESTER
        if not self.listing(agent).admits(actor, person):
            return Eligibility.NOT_LISTED
        return Eligibility.MAY

    def listing(self, agent: AgentId | None = None) -> Listing:
        """Return who is listed for an agent; ``None`` is any agent without a list of its own."""
        own = None if agent is None else self.by_agent.get(agent)
        return Listing(self.by_channel, self.everywhere) if own is None else Listing({}, own)

    def visible(self, actors: Collection[Actor], person: PersonId | None) -> VisibleAgents:
        """Return the agents for which one of these accounts of a person is an approver."""

        def admits(listing: Listing) -> bool:
            return any(listing.admits(actor, person) for actor in actors)

        own = {agent: admits(self.listing(agent)) for agent in self.by_agent}
        others = admits(self.listing())
        return VisibleAgents(
            frozenset(one for one, may in own.items() if may is not others), others
        )

    def anybody(
        self,
        channel: str,
        agent: AgentId | None = None,
        but: AbstractSet[str] = frozenset(),
    ) -> bool:
        """Return whether a channel may have an approver for an agent, other than ``but``."""
        return self.listing(agent).anybody(channel, but)

    def needed(self, agent: AgentId) -> int:
        """Return how many different people must allow a request of an agent."""
        return self.quorum_by_agent.get(agent, self.quorum)


def _same(actor: Actor, requester: Requester, process: tuple[int, int] | None) -> bool:
    if requester.intake is Intake.CHAT or (requester.intake in NETWORK and process is None):
        return actor.ref == requester.account
    # Whoever holds a token may just as well run here: a local answer is indistinguishable from the
    # asker's. A uid is an account of the machine, not a person: the kernel session identifies
    # callers.
    return process is not None and requester.process in {None, process}
