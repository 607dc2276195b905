"""Pair, list, rename and revoke nodes.

Pairing and renaming grant rights, because commands go to the node that a name refers to, so they
take a person at a terminal of this machine (docs/decisions/0009) or a token with the scope
``admin``. Revoking takes rights away, so every local process may.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.approvals import READS
from bot.intake.methods.people import RULES, TYPED
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import Name, NoParams, Params
from bot.intake.results.answer import ChangeAnswer, safe
from bot.intake.results.nodes import (
    NodeAnswer,
    NodeRequestAnswer,
    NodesAnswer,
    PairedNodeAnswer,
)
from core.errors import NotFound
from core.model.node import AWAY, NODE_NAME_LENGTH, Node, NodeState
from core.nodes.selection import NoNode, select
from core.ports import Journal
from core.store import Store
from core.store.people import nodes

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost

NodeName = Annotated[
    str, Field(min_length=1, max_length=NODE_NAME_LENGTH, pattern=r"^[^\x00-\x1f\x7f]+$")
]


class ApproveNodeParams(Params):
    """``node.approve``: the code of a request, and the node's name from then on."""

    code: Name = Field(description="the code of the request, from `node.list`")
    name: NodeName | None = Field(
        default=None, description="its display name; the one that it gave itself without"
    )


class NodeRefParams(Params):
    """A method about one paired node."""

    id: Name = Field(
        description="its id, display name, remote address, or 6 characters or more of its id"
    )


class RenameNodeParams(NodeRefParams):
    """``node.rename``: a node and its new display name."""

    name: NodeName = Field(description="its new display name; no two nodes share one")


@dataclass(frozen=True, slots=True)
class NodeMethods(Group):
    """The methods about nodes; each change is in the journal."""

    store: Store
    journal: Journal
    askers: Askers
    host: "NodeHost | None" = None

    @handles(
        "node.list", READS, "List the paired nodes, and those that wait to be allowed.", of_all=True
    )
    async def listed(self, _params: NoParams, _caller: Caller) -> NodesAnswer:
        """List the nodes and the requests."""
        paired = await self.store.read(nodes.listed)
        asked = await self.store.read(nodes.requests)
        return NodesAnswer(
            nodes=[NodeAnswer.of(one, self._state(one)) for one in paired],
            requests=[NodeRequestAnswer.of(one, paired) for one in asked],
        )

    @handles(
        "node.get",
        READS,
        "Show one paired node: how it is connected, and what it takes.",
        of_all=True,
    )
    async def get(self, params: NodeRefParams, _caller: Caller) -> NodeAnswer:
        """Show one node.

        Raises:
            NotFound: no node, or several, match.
        """
        node = await meant(self.store, params.id)
        return NodeAnswer.of(node, self._state(node))

    def _state(self, node: Node) -> NodeState:
        return AWAY if self.host is None else self.host.state(node.id)

    @handles("node.approve", RULES, "Pair the node whose request has a code.", note=TYPED)
    async def approve(self, params: ApproveNodeParams, caller: Caller) -> PairedNodeAnswer:
        """Pair a waiting node.

        Raises:
            NotFound: no request has the code, or it expired.
            BadRequest: a paired node has the name.
        """
        why = await self.askers.refusal(caller)
        if why is not None:
            return PairedNodeAnswer.of(why, done=False)
        await self._record(caller, "approve", params.code)
        node = await self.store.write(nodes.approve, params.code, caller.ref, params.name)
        await self._record(caller, "paired", f"{node.name} {node.id}")
        sentence = f"The node {node.name} is paired. Policy decides what may run there."
        return PairedNodeAnswer(
            done=True, sentence=safe(sentence), id=node.id, name=safe(node.name)
        )

    @handles("node.rename", RULES, "Give a paired node another display name.", note=TYPED)
    async def rename(self, params: RenameNodeParams, caller: Caller) -> ChangeAnswer:
        """Give a node another name.

        Raises:
            NotFound: no node, or several, match.
            BadRequest: another node has the name.
        """
        why = await self.askers.refusal(caller)
        if why is not None:
            return ChangeAnswer.of(why, done=False)
        node = await meant(self.store, params.id)
        await self._record(caller, "rename", f"{node.name} {node.id} to {params.name}")
        await self.store.write(nodes.rename, node.id, params.name)
        return ChangeAnswer.of(f"The node {node.name} is now called {params.name}.")

    @handles("node.revoke", RULES, "Revoke a node: it takes no commands until it is paired again.")
    async def revoke(self, params: NodeRefParams, caller: Caller) -> ChangeAnswer:
        """Revoke a node; every local process may.

        Raises:
            NotFound: no node, or several, match.
        """
        node = await meant(self.store, params.id)
        await self._record(caller, "revoke", f"{node.name} {node.id}")
        await self.store.write(nodes.revoke, node.id)
        return ChangeAnswer.of(f"The node {node.name} is revoked and takes no more commands.")

    async def _record(self, caller: Caller, what: str, which: str) -> None:
        record: dict[str, object] = {"by": caller.ref, "what": what, "node": safe(which)}
        await self.journal.append("node", record)


async def meant(store: Store, word: str) -> Node:
    """Return the paired node that a word refers to.

    Raises:
        NotFound: no node, or several, match.
    """
    found = select(word, await store.read(nodes.listed))
    if isinstance(found, NoNode):
        raise NotFound(safe(f"Nothing was changed: {found.why}."))
    return found
