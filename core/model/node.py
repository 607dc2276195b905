"""Describe another machine that takes whole requests from this gateway (S0 "Node identity")."""

import unicodedata
from dataclasses import dataclass
from typing import NewType

from core.model.command import ExecPlan
from core.model.decision import Evaluation

NodeId = NewType("NodeId", str)
"""The hex of a node's Ed25519 public key, 64 digits: anyone who has it can check its signatures."""
NODE_NAME_LENGTH = 64
"""Characters of a display name at most."""
SHORTEST_PREFIX = 6
"""Characters of an id that may stand for the whole of it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A paired node. ``address`` is the remote IP of its last connection; times are epoch ms."""

    id: NodeId
    name: str
    address: str
    paired_ms: int
    by: str
    seen_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NodeState:
    """How a paired node is connected now; ``since_ms`` epoch ms, ``None`` where it is not.

    ``caps`` are the commands that it advertises, ``running`` counts what it was ordered and has
    not ended, on an earlier connection too.
    """

    since_ms: int | None = None
    caps: tuple[str, ...] = ()
    running: int = 0

    @property
    def connected(self) -> bool:
        """Return whether it is connected."""
        return self.since_ms is not None


AWAY = NodeState()


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A node that nobody has allowed yet; ``code`` is what a person types to allow it."""

    code: str
    id: NodeId
    name: str
    address: str
    created_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What a node made of a request: the plan, its own verdict, and whether nobody need be asked.

    ``unasked``: by the node's own ``askFallback`` it may run where nobody can be asked.
    """

    plan: ExecPlan
    verdict: Evaluation
    unasked: bool


def normalised(name: str) -> str:
    """Return a display name as it is compared: case, width and spacing do not count."""
    return "-".join(unicodedata.normalize("NFKC", name).casefold().replace("_", " ").split())
