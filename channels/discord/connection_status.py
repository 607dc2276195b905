"""Track whether answers get through, over all clients of one channel."""

import asyncio
import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class Status:
    """Whether answers get through; ``problem`` says why not and is empty if they do."""

    problem: str = "connecting"
    permanent: bool = False
    identified_at: float = -math.inf
    tried: asyncio.Event = field(default_factory=asyncio.Event)

    def established(self) -> None:
        """Record that a session is established."""
        self.problem, self.permanent = "", False
        self.tried.set()

    def fails(self, problem: str, *, permanent: bool = False) -> None:
        """Record why there is no connection, and whether trying again can help."""
        self.problem, self.permanent = problem, permanent
        self.tried.set()
