"""Define who calls a method and what they may do, by whichever entry point."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bot.intake.callers import unix_peer
from core.errors import Forbidden
from core.ipc.jsonrpc import Notify
from core.ipc.peer import Peer
from core.model.access import EVERY_SCOPE, PEOPLES_SCOPES, Scope, VisibleAgents
from core.model.identity import Actor, AgentId, ApprovalId, Requester, SessionKey


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller: a local process, an agent's user on the shared socket, or a token's holder.

    ``requester`` is who asks, ``actor`` who answers (``None``: it may not answer). ``agents`` are
    the agents that it may name, ``None``: any. ``visible`` restricts what a person sees who is
    not an agent's user, ``None``: no restriction. ``peer`` is what the kernel reports about the
    other end of the owner's socket, ``None`` elsewhere. ``token`` is the token's id for logs, empty
    on the sockets; ``until_ms`` is when it expires (epoch ms). ``notify`` is set if the
    connection can carry more than the answer. ``begun`` is called with the id of the request before
    the answer comes; it may get one that is not stored yet.
    """

    requester: Requester
    actor: Actor | None
    scopes: frozenset[Scope]
    agents: frozenset[AgentId] | None = None
    peer: Peer | None = None
    token: str = ""
    until_ms: int | None = None
    notify: Notify | None = field(default=None, compare=False, repr=False)
    begun: Callable[[ApprovalId], None] | None = field(default=None, compare=False, repr=False)
    visible: VisibleAgents | None = None

    @property
    def ref(self) -> str:
        """Return the caller's name for the journal: ``uid:1000``, ``api:4k7w…``."""
        return self.requester.account

    def may(self, scope: Scope) -> bool:
        """Return whether the caller has a scope now; an agent's caller never decides for people."""
        if scope not in self.scopes:
            return False
        asks = self.agents is not None or (self.peer is None and Scope.REQUEST in self.scopes)
        return not (asks and scope in PEOPLES_SCOPES)

    @property
    def sees_all(self) -> bool:
        """Return whether this caller sees every agent."""
        return self.agents is None and self.visible is None

    def sees(self, agent: AgentId | str) -> bool:
        """Return whether this caller sees at all what belongs to an agent."""
        bound = self.agents is None or agent in self.agents
        return bound and (self.visible is None or agent in self.visible)

    def agent(self, named: str | None) -> AgentId | None:
        """Return the agent of a call: the named one, else the only one; ``None``: any it sees.

        Raises:
            Forbidden: this caller may not name it, or must name one.
        """
        if self.visible is not None:
            return self._visible(self.visible, named)
        if self.agents is None:
            return None if named is None else AgentId(named)
        if named is None and len(self.agents) == 1:
            (only,) = self.agents
            return only
        if named is None or named not in self.agents:
            raise Forbidden(
                f"This {'token' if self.token else 'user'} is bound to "
                f"{', '.join(sorted(self.agents)) or 'no agent'} and cannot use another agent. "
                "Use one of these, or omit `agent` if there is only one."
            )
        return AgentId(named)

    def _visible(self, visible: VisibleAgents, named: str | None) -> AgentId | None:
        if named is None:
            only = visible.names if len(visible.names) == 1 and not visible.others else ()
            return next((AgentId(one) for one in only), None)
        if named not in visible:
            raise Forbidden(
                "You are not among the approvers of this agent, and your session began with /login "
                "in a chat: it shows only the agents whose approver you are."
            )
        return AgentId(named)

    def session(self, agent: AgentId, named: str) -> SessionKey:
        """Return the session of a call; a caller bound to agents has only its own sessions.

        Merely knowing a session's name gives no access to its settings or its events.
        """
        head = f"agent:{agent}:"
        if self.sees_all or named.startswith(head):
            return SessionKey(named)
        return SessionKey(head + named)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What one user may do on the shared socket (``intake.unix``)."""

    agents: frozenset[AgentId]
    scopes: frozenset[Scope]

    def caller(self, peer: Peer, notify: Notify | None = None) -> Caller:
        """Return the caller at the other end: bound to its agents, and unable to answer."""
        return Caller(
            requester=unix_peer.requester(peer),
            actor=None,
            scopes=self.scopes - PEOPLES_SCOPES,
            agents=self.agents,
            notify=notify,
        )


def of_peer(peer: Peer, notify: Notify | None = None) -> Caller:
    """Return the caller at the other end of the Unix socket: every scope, any agent."""
    return Caller(
        requester=unix_peer.requester(peer),
        actor=unix_peer.actor(peer),
        scopes=EVERY_SCOPE,
        peer=peer,
        notify=notify,
    )
