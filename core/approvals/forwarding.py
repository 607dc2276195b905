"""Choose the places that a prompt goes to (S1 "Approval forwarding to chat channels")."""

from collections.abc import Callable
from dataclasses import dataclass

from core.model.identity import AgentId, SessionKey, Target
from core.settings import ForwardMode


@dataclass(frozen=True, slots=True)
class Forwarding:
    """The routing rules of ``approvals.exec``; a filter that is ``None`` lets everything pass."""

    enabled: bool
    mode: ForwardMode
    targets: tuple[Target, ...]
    agents: frozenset[str] | None = None
    session_matches: Callable[[str], bool] | None = None

    def routes(
        self, agent: AgentId, session: SessionKey, origin: Target | None
    ) -> tuple[Target, ...]:
        """Return where the prompt of a request goes, each place once, in order."""
        if not self.enabled or not self._passes(agent, session):
            return ()
        places: list[Target] = []
        if origin is not None and self.mode is not ForwardMode.TARGETS:
            places.append(origin)
        if self.mode is not ForwardMode.SESSION:
            places.extend(self.targets)
        return tuple(dict.fromkeys(places))

    def _passes(self, agent: AgentId, session: SessionKey) -> bool:
        if self.agents is not None and agent not in self.agents:
            return False
        return self.session_matches is None or self.session_matches(session)
