"""Let approvers pair nodes from a chat (docs/decisions/0029).

Pairing lets every agent's commands go to a machine, so it takes an approver of all agents. On this
machine itself it takes a terminal that never asked for anything: `sayso node approve`
(docs/decisions/0009), which a chat's console cannot know.
"""

from dataclasses import dataclass

from bot.chat.permissions import stranger
from channels.base import Inbound, Reply, Tone
from channels.cards.build import node_choices
from channels.commands import NodeRequests, PairNode
from core.approvals.routing.approvers import Approvers
from core.errors import BadRequest
from core.model.identity import Actor
from core.model.node import Node, PairingRequest
from core.nodes.fingerprints import fingerprint_words, looks_like
from core.ports import Journal
from core.store import Store
from core.store.people import nodes, people
from core.text.render import redact

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class NodePairing:
    """Lists and answers the pairing requests of nodes."""

    store: Store
    journal: Journal
    approvers: Approvers

    async def take(self, inbound: Inbound) -> Reply | None:
        """List the requests or answer one; ``None`` if it belongs to another part."""
        command = inbound.command
        if not isinstance(command, NodeRequests | PairNode):
            return None
        if not await self._may(inbound.actor):
            return stranger(inbound.actor, "/node", "approvers")
        if isinstance(command, NodeRequests):
            return await self._listed()
        if command.allow and inbound.process is not None:
            words = f"On this machine, run: sayso node approve {command.code.upper()}"
            return Reply(redact(words), Tone.REFUSED)
        return await self._answered(command, inbound.actor)

    async def _may(self, actor: Actor) -> bool:
        known = await self.store.read(people.known_as, actor)
        return not known.revoked and self.approvers.listing(None).admits(actor, known.person)

    async def _listed(self) -> Reply:
        found = await self.store.read(nodes.requests)
        if not found:
            return Reply(redact("No node asks to be paired."))
        shown, paired = found[:_SHOWN], await self.store.read(nodes.listed)
        lines = [_line(one, nodes.twin(one.name, one.id, paired)) for one in shown]
        if len(found) > _SHOWN:
            lines.append(f"and {len(found) - _SHOWN} more; see `sayso node list`")
        choices = [choice for one in shown for choice in node_choices(one.code, one.code)]
        return Reply(redact("\n".join(lines), multiline=True), choices=tuple(choices))

    async def _answered(self, command: PairNode, actor: Actor) -> Reply:
        try:
            words = await (self._allow if command.allow else self._deny)(command.code, actor)
        except BadRequest as refusal:
            return Reply(redact(str(refusal)), Tone.REFUSED)
        return Reply(redact(words), Tone.OK)

    async def _allow(self, code: str, actor: Actor) -> str:
        await self._record(actor, "approve", code)
        node = await self.store.write(nodes.approve, code, actor.ref)
        await self._record(actor, "paired", f"{node.name} {node.id}")
        return f"The node {node.name} is paired. Policy decides what may run there."

    async def _deny(self, code: str, actor: Actor) -> str:
        asked = await self.store.write(nodes.deny, code)
        await self._record(actor, "deny", f"{asked.name} {asked.id}")
        return f"The node {asked.name} is not paired."

    async def _record(self, actor: Actor, what: str, which: str) -> None:
        record: dict[str, object] = {"by": actor.ref, "what": what, "node": redact(which).text}
        await self.journal.append("node", record)


def _line(asked: PairingRequest, like: Node | None) -> str:
    caution = "" if like is None else f" ({looks_like(like)})"
    words = fingerprint_words(asked.id)
    return f"{asked.code}  {asked.name!r}{caution} at {asked.address}, key: {words}"
