"""Define what a caller may do: the scopes that a token holds and a method requires."""

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """One right over the API. What people decide with is never an agent's (invariant 7)."""

    REQUEST = "request"
    APPROVE = "approve"
    ADMIN = "admin"
    READ = "read"


EVERY_SCOPE = frozenset(Scope)
PEOPLES_SCOPES = frozenset({Scope.APPROVE, Scope.ADMIN})
"""What no caller has who may ask for runs over the network, nor one that is bound to agents."""


@dataclass(frozen=True, slots=True)
class VisibleAgents:
    """The agents that somebody may see: ``names``, or with ``others`` all but those."""

    names: frozenset[str]
    others: bool = False

    def __contains__(self, agent: str) -> bool:
        """Return whether an agent is among them."""
        return (agent in self.names) is not self.others

    @property
    def is_whole(self) -> bool:
        """Return whether every agent is."""
        return self.others and not self.names

    @property
    def is_empty(self) -> bool:
        """Return whether no agent is."""
        return not self.names and not self.others


def effective(scopes: frozenset[Scope], agent: str | None, person: str | None) -> frozenset[Scope]:
    """Return the scopes that hold for whoever has them: an agent, a person, or neither.

    An agent asks and reads, whatever else it was given; nobody else asks; only a person approves.
    """
    if agent is not None:
        return scopes - PEOPLES_SCOPES
    if person is None:
        return scopes - {Scope.REQUEST, Scope.APPROVE}
    return scopes - {Scope.REQUEST}


def misfit(scopes: frozenset[Scope], agent: str | None, person: str | None) -> str:
    """Return why nobody may hold these scopes together; an empty string where somebody may."""
    if not scopes:
        return "A token needs a scope. Give at least one: request, approve, admin or read."
    if agent is not None and person is not None:
        return "A token is an agent's or a person's, never both: an agent never approves."
    if agent is not None and scopes & PEOPLES_SCOPES:
        return "An agent's token may have the scopes request and read: an agent never approves."
    if Scope.REQUEST in scopes and agent is None:
        return "The scope request is for one agent's token. Name the agent with --agent."
    if Scope.APPROVE in scopes and person is None:
        return "The scope approve is for a person's token. Name the person with --person."
    return ""
