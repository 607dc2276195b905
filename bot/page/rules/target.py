"""Find whose exec-approvals.json is meant, and read, replace and explain it through the methods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Table, invoke
from core.errors import NotFound, SaysoError
from core.model.policy import ExecHost

_READS, _WRITES = "system.execApprovals.get", "system.execApprovals.set"


@dataclass(frozen=True, slots=True)
class Target:
    """One machine whose file is edited: a node, or this gateway if ``id`` is empty.

    ``why_not`` says why its file cannot be read now; ``why_fixed`` why it cannot be replaced.
    """

    id: str = ""
    name: str = "Gateway"
    why_not: str = ""
    why_fixed: str = ""

    @property
    def state(self) -> str:
        """Return what the list of targets shows next to the name."""
        return "offline" if self.why_not and not self.why_fixed else ""


GATEWAY = Target()


@dataclass(frozen=True, slots=True)
class Targets:
    """The gateway and its paired nodes."""

    table: Table

    async def listed(self, caller: Caller) -> tuple[Target, ...]:
        """Return the gateway, then the nodes by name; none if the visitor sees only some agents."""
        if not caller.sees_all:
            return (GATEWAY,)
        found: Any = await invoke(self.table["node.list"], {}, caller)
        nodes = sorted(found["nodes"], key=lambda one: (one["name"], one["id"]))
        return (GATEWAY, *(_node(one) for one in nodes))

    async def meant(self, node_id: str, caller: Caller) -> Target:
        """Return the target that an address names.

        Raises:
            NotFound: it names no node.
        """
        if not node_id:
            return GATEWAY
        found = next((one for one in await self.listed(caller) if one.id == node_id), None)
        if found is None:
            raise NotFound("There is no such node. It may have been revoked.")
        return found

    async def file(self, target: Target, caller: Caller) -> dict[str, Any]:
        """Return the file, its hash and oddities or, as ``fault``, why it cannot be read.

        Raises:
            SaysoError: the gateway's own file cannot be read.
        """
        if not target.id:
            found: Any = await invoke(self.table["exec.approvals.get"], {}, caller)
            return {**found, "fault": ""}
        if target.why_not:
            return _without(target.why_not)
        try:
            raw = {"id": target.id}
            found = await invoke(self.table["exec.approvals.node.get"], raw, caller)
        except SaysoError as failure:
            return _without(str(failure))
        return {**found, "fault": ""}

    async def replace(
        self, target: Target, file: Mapping[str, Any], base: str, caller: Caller
    ) -> dict[str, Any]:
        """Replace the file's content, if it is still that of ``base``.

        Raises:
            Conflict: it is not.
            SaysoError: the content is not valid, or the node cannot be reached.
        """
        raw: dict[str, object] = {"file": {**file}, "baseHash": base}
        name = "exec.approvals.set"
        if target.id:
            name, raw = "exec.approvals.node.set", {**raw, "id": target.id}
        done: Any = await invoke(self.table[name], raw, caller)
        return dict(done)

    async def explain(
        self, target: Target, command: str, cwd: str, agent: str, caller: Caller
    ) -> Mapping[str, Any]:
        """Return what would now be decided about a command there.

        Raises:
            SaysoError: the command cannot be judged.
        """
        raw: dict[str, object] = {"command": command, "cwd": cwd}
        if agent:
            raw["agent"] = agent
        if target.id:
            raw |= {"host": ExecHost.NODE.value, "node": target.id}
        found: Any = await invoke(self.table["policy.explain"], raw, caller)
        return dict(found)


def _without(fault: str) -> dict[str, Any]:
    return {"file": {}, "hash": "", "warnings": [], "fault": fault}


def _node(found: Mapping[str, Any]) -> Target:
    if not found["connected"]:
        why = "It is offline, so its file cannot be shown. Start `sayso node run` there."
        return Target(found["id"], found["name"], why)
    lacks = [one for one in (_READS, _WRITES) if one not in found["commands"]]
    if not lacks:
        return Target(found["id"], found["name"])
    why = f"It does not offer {' and '.join(lacks)}: edit exec-approvals.json on that machine."
    return Target(found["id"], found["name"], why if _READS in lacks else "", why)
