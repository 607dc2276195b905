"""Find the node that is meant (S0 "Node selection resolution").

A word is compared with ids, then display names, then remote addresses, then the beginnings of ids.
The first comparison that finds a node decides; if it finds two, the requester must correct that,
and none is chosen. The same is true of two names that a reader could confuse.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.model.node import SHORTEST_PREFIX, Node, normalised
from core.text.likeness import likeness

_SHOWN = 8
"""How many candidates a sentence names."""
_ID_SHOWN = 12


@dataclass(frozen=True, slots=True)
class NoNode:
    """Why no node is meant; one sentence for the agent and its person."""

    why: str


def select(word: str | None, nodes: Sequence[Node]) -> Node | NoNode:
    """Return the node that a word means; without a word, the only node."""
    if not nodes:
        return NoNode("no node is paired with this gateway; see `sayso node list`")
    if word is None:
        return _only(nodes, "several nodes are paired and the request names none; choose one of")
    for is_meant in (_by_id, _by_name, _by_address, _by_prefix):
        found = [node for node in nodes if is_meant(word, node)]
        if is_meant is _by_name and found:
            found = [node for node in nodes if likeness(node.name) == likeness(word)]
        if found:
            return _only(found, f"the node `{word}` could be any of")
    return NoNode(f"no node is called `{word}`; known: {_listed(nodes)}")


def _only(found: Sequence[Node], why: str) -> Node | NoNode:
    return found[0] if len(found) == 1 else NoNode(f"{why} {_listed(found)}")


def _by_id(word: str, node: Node) -> bool:
    return word == node.id


def _by_name(word: str, node: Node) -> bool:
    return normalised(word) == normalised(node.name)


def _by_address(word: str, node: Node) -> bool:
    return word == node.address


def _by_prefix(word: str, node: Node) -> bool:
    return len(word) >= SHORTEST_PREFIX and node.id.startswith(word)


def _listed(nodes: Sequence[Node]) -> str:
    names = [f"{node.name} ({node.id[:_ID_SHOWN]})" for node in nodes[:_SHOWN]]
    more = len(nodes) - _SHOWN
    return ", ".join([*names, f"{more} more"] if more > 0 else names)
