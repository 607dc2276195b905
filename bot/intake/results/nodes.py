"""Define the answers of the methods about nodes."""

from collections.abc import Sequence

from bot.intake.results.answer import Answer, ChangeAnswer, Milliseconds, safe
from core.model.node import Node, NodeState, PairingRequest
from core.nodes.fingerprints import fingerprint_words
from core.store.people.nodes import twin


class NodeAnswer(Answer):
    """A paired node; ``address`` is where it last connected from, ``words`` its key to compare.

    ``commands`` are those that it accepts by ``node.invoke`` while it is connected, since
    ``sinceMs``; ``running`` is how many of the runs it was sent have not ended.
    """

    id: str
    name: str
    address: str
    words: str
    paired_by: str
    paired_ms: Milliseconds
    seen_ms: Milliseconds | None
    connected: bool
    since_ms: Milliseconds | None
    running: int
    commands: list[str]

    @classmethod
    def of(cls, node: Node, state: NodeState) -> "NodeAnswer":
        """Return a node and how it is connected."""
        return cls(
            id=node.id,
            name=safe(node.name),
            address=safe(node.address),
            words=fingerprint_words(node.id),
            paired_by=safe(node.by),
            paired_ms=node.paired_ms,
            seen_ms=node.seen_ms,
            connected=state.connected,
            since_ms=state.since_ms,
            running=state.running,
            commands=list(state.caps),
        )


class NodeRequestAnswer(Answer):
    """A node that waits to be paired, and the code that allows it.

    ``looksLike`` is the id of a paired node whose name could be confused with its own.
    """

    code: str
    id: str
    name: str
    address: str
    words: str
    created_ms: Milliseconds
    expires_ms: Milliseconds
    looks_like: str | None

    @classmethod
    def of(cls, asked: PairingRequest, paired: Sequence[Node]) -> "NodeRequestAnswer":
        """Return a request, compared with the paired nodes."""
        like = twin(asked.name, asked.id, paired)
        return cls(
            code=asked.code,
            id=asked.id,
            name=safe(asked.name),
            address=safe(asked.address),
            words=fingerprint_words(asked.id),
            created_ms=asked.created_ms,
            expires_ms=asked.expires_ms,
            looks_like=None if like is None else like.id,
        )


class NodesAnswer(Answer):
    """The paired nodes, and those that wait to be paired."""

    nodes: list[NodeAnswer]
    requests: list[NodeRequestAnswer]


class InvokedAnswer(Answer):
    """The result of a command on a node; ``result`` is as the command's reference describes it."""

    node: str
    name: str
    command: str
    result: dict[str, object]


class PairedNodeAnswer(ChangeAnswer):
    """Whether a node was paired, and which."""

    id: str | None = None
    name: str | None = None
