"""Have a node carry out what it advertises: `node.invoke`, and its exec-approvals.json (S0, S1).

``system.run`` is ``exec.run`` bound to the node: it goes through the gate like every request, and
its scopes are those of ``exec.run``. Each other command likewise has the scopes of what it does.
Replacing a node's file grants rights, so it requires the same as replacing the gateway's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from bot.intake.callers import visibility
from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.approvals import READS
from bot.intake.methods.approvals_file import FileParams
from bot.intake.methods.nodes.pairing import meant
from bot.intake.methods.people import RULES, TYPED
from bot.intake.methods.runs import ASKS, FOLLOWS
from bot.intake.registry.method import AnyMethod, Group, handles, invoke
from bot.intake.registry.params import AgentParams, Name, Params
from bot.intake.results.answer import Answer, safe
from bot.intake.results.nodes import InvokedAnswer
from bot.intake.results.rules import FileAnswer, FileChangeAnswer
from core.approvals.file.edit import begun
from core.errors import BadRequest, HostUnavailable
from core.model.node import Node
from core.model.policy import ExecHost
from core.ports import Journal
from core.store import Store
from core.text.render import redact

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost

Command = Literal[
    "system.run",
    "system.run.prepare",
    "system.which",
    "system.execApprovals.get",
    "system.execApprovals.set",
]
_NODE = "its id, display name, remote address, or 6 characters or more of its id"
_JSON: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])
_ANY = ASKS | FOLLOWS | READS | RULES
_MOST_NAMES = 256


class InvokeParams(Params):
    """``node.invoke``: a command of a node, with the params of that command."""

    node: Name = Field(description=_NODE)
    command: Command = Field(description="what the node is to do")
    params: dict[str, JsonValue] = Field(default={}, description="the params of the command")


class WhichParams(AgentParams):
    """``system.which``: names to look up on the node."""

    node: Name = Field(description=_NODE)
    bins: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=255)]], Field(max_length=_MOST_NAMES)
    ] = Field(description="names of programs")


class NodeFileParams(AgentParams):
    """``exec.approvals.node.get``."""

    id: Name = Field(description=_NODE)


class NewNodeFileParams(FileParams):
    """``exec.approvals.node.set``: the complete new content of a node's exec-approvals.json."""

    id: Name = Field(description=_NODE)


class BinsAnswer(Answer):
    """The paths of the programs that exist, by name."""

    bins: dict[str, str]


@dataclass(frozen=True, slots=True)
class NodeCommandMethods(Group):
    """The methods that have a node do something; ``others`` are those that ``system.run`` uses."""

    store: Store
    journal: Journal
    askers: Askers
    others: Mapping[str, AnyMethod]
    host: "NodeHost | None" = None
    _served: dict[str, AnyMethod] = field(default_factory=dict)

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods but ``system.which``, which only ``node.invoke`` serves."""
        own = {method.name: method for method in Group.methods(self)}
        self._served.update(
            {
                "system.run": self.others["exec.run"],
                "system.run.prepare": self.others["policy.explain"],
                "system.which": own.pop("system.which"),
                "system.execApprovals.get": own["exec.approvals.node.get"],
                "system.execApprovals.set": own["exec.approvals.node.set"],
            }
        )
        return own.values()

    @handles(
        "node.invoke",
        _ANY,
        "Have a node do something; `system.run` is `exec.run` on that node.",
        note="each command needs the scope of what it does",
    )
    async def invoke(self, params: InvokeParams, caller: Caller) -> InvokedAnswer:
        """Have a node do something; the caller needs the scope of what that is.

        Raises:
            NotFound: no node, or several, match.
            Forbidden: the caller may not do this.
            BadRequest: the params are not those of the command, or the node does not support it.
            HostUnavailable: the node is not connected, or does not answer.
        """
        node = await meant(self.store, params.node)
        raw: dict[str, object] = {**params.params}
        key = "id" if params.command.startswith("system.execApprovals") else "node"
        fixed: dict[str, object] = {key: node.id}
        if params.command.startswith("system.run"):
            fixed["host"] = ExecHost.NODE.value
        doubled = sorted(fixed.keys() & raw.keys())
        if doubled:
            raise BadRequest(
                f"`params` must not hold {doubled[0]}: the node is named next to them."
            )
        result = await invoke(self._served[params.command], {**raw, **fixed}, caller)
        found = result if isinstance(result, dict) else {}
        return InvokedAnswer(
            node=node.id, name=safe(node.name), command=params.command, result=found
        )

    @handles("system.which", FOLLOWS, "Look programs up on a node.")
    async def which(self, params: WhichParams, _caller: Caller) -> BinsAnswer:
        """Look programs up on a node."""
        node = await meant(self.store, params.node)
        found = await self._on(node, "system.which", {"bins": list(params.bins)})
        bins = found.get("bins")
        paths = bins if isinstance(bins, dict) else {}
        return BinsAnswer(bins={safe(name): safe(str(path)) for name, path in paths.items()})

    @handles(
        "exec.approvals.node.get",
        READS,
        "Show a node's exec-approvals.json without its socket.",
        filters=True,
    )
    async def get_file(self, params: NodeFileParams, caller: Caller) -> FileAnswer:
        """Return a node's file; a caller bound to an agent sees only that agent's part of it.

        Raises:
            NotFound: no node, or several, match.
            BadRequest: the node does not support it.
            HostUnavailable: the node is not connected, or does not answer.
        """
        node = await meant(self.store, params.id)
        found = await self._on(node, "system.execApprovals.get", {})
        answer = _file_answer(found)
        shown = visibility.part_of_file(begun(answer.file), params.agent, caller)
        warnings = answer.warnings if caller.sees_all else []
        return answer.model_copy(update={"file": shown, "warnings": warnings})

    @handles("exec.approvals.node.set", RULES, "Replace a node's exec-approvals.json.", note=TYPED)
    async def put_file(self, params: NewNodeFileParams, caller: Caller) -> FileChangeAnswer:
        """Replace a node's file, if it has not changed since it was read.

        Raises:
            Conflict: it has changed.
            NotFound: no node, or several, match.
            BadRequest: the node does not support it, or the content is not valid.
            HostUnavailable: the node is not connected, or does not answer.
        """
        why = await self.askers.refusal(caller)
        if why is not None:
            return FileChangeAnswer.of(why, done=False)
        node = await meant(self.store, params.id)
        text = redact(str(params.file)).text
        by, base = caller.ref, params.base_hash
        record: dict[str, object] = {"by": by, "node": node.id, "before": base, "text": text}
        await self.journal.append("approvals file", record)
        wanted = _JSON.validate_python({"file": params.file, "baseHash": params.base_hash})
        done = await self._on(node, "system.execApprovals.set", wanted)
        warnings = done.get("warnings")
        return FileChangeAnswer(
            done=True,
            sentence=safe(f"exec-approvals.json of node {node.name} was replaced."),
            warnings=_texts(warnings),
        )

    async def _on(
        self, node: Node, command: str, params: Mapping[str, JsonValue]
    ) -> dict[str, JsonValue]:
        if self.host is None:
            raise HostUnavailable("No node may connect here: nodes.enabled is off.")
        return await self.host.invoke(node, command, params)


def _file_answer(found: Mapping[str, JsonValue]) -> FileAnswer:
    """Return a node's answer in the form of the gateway's own file.

    Raises:
        HostUnavailable: it is not a valid answer.
    """
    file, digest = found.get("file"), found.get("hash")
    if not isinstance(file, dict) or not isinstance(digest, str):
        raise HostUnavailable("The node answered something else than its approvals file.")
    return FileAnswer(file={**file}, hash=digest, warnings=_texts(found.get("warnings")))


def _texts(found: JsonValue | None) -> list[str]:
    return [safe(str(one)) for one in found] if isinstance(found, list) else []
