"""Keep records of three agents in one gateway, which callers that see some of them ask about."""

import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bot.intake.callers.caller import Caller, of_peer
from bot.intake.registry.method import Table, invoke
from core.errors import SaysoError
from core.gate.gate import Gate
from core.ipc.peer import Peer, start_ticks
from core.isolation.executors import Executors
from core.isolation.terminal.terminals import Limits, Terminal, Terminals, session_of
from core.model.access import VisibleAgents
from core.model.approval import GrantTerms
from core.model.command import AgentPart, AgentPartKind, ExecRequest
from core.model.identity import AgentId, ApprovalId, SessionKey, TaskId, code_of
from core.model.node import AWAY, Node, NodeId, NodeState
from core.model.result import Pending
from core.policy.rules.compiled import compiled
from core.settings import CoreSettings
from core.store import approvals
from core.store.people import nodes
from tests.support.api_tokens import Api
from tests.support.gate import AGENT, ANA, gate_at, granted
from tests.support.store_records import draft, new_id

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost

AGENTS = ("amber", "birch", "cedar")
SEEN, HIDDEN = frozenset({"amber", "birch"}), "cedar"
TASK = TaskId("release")
NODE = "web"
WARNING = "never counts"
"""What is in the warnings about each file of approvals."""
_ASKED_IN_ORDER = (HIDDEN, "amber", "birch", HIDDEN)
"""The hidden agent's are first and last, so that no list that is cut short begins with others."""


def _file() -> dict[str, object]:
    """Return an approvals file with a section for each agent, and one to warn about."""
    sections = {name: {"allowlist": [{"pattern": f"/opt/of-{name}"}]} for name in AGENTS}
    sections["dogwood"] = {"allowlist": [{"pattern": "/usr/bin/sudo"}]}  # never counts
    return {"version": 1, "agents": sections}


class FileNode:
    """A connected node that answers with its approvals file."""

    def state(self, _node: NodeId) -> NodeState:
        """Return that nothing is known about its connection."""
        return AWAY

    async def invoke(
        self, _node: Node, _command: str, _params: Mapping[str, object]
    ) -> dict[str, object]:
        """Return the file."""
        return {"file": _file(), "hash": "0" * 64, "warnings": [f"/usr/bin/sudo {WARNING}"]}


class KnownTerminals(Terminals):
    """Terminals that are known without executors."""

    def __init__(self, gate: Gate, known: Iterable[Terminal]) -> None:
        super().__init__(cast("Executors", None), Limits(), gate.journal)
        self._known.update({one.run_id: one for one in known})


@dataclass(frozen=True, slots=True)
class World:
    """A gateway's methods, and what each agent has by its name.

    ``records`` are ids by their kind: ``asked`` wait for people, ``done`` ran and gave a grant with
    the same id, and ``terminals`` are those that the callers asked for themselves.
    """

    gate: Gate
    table: Table
    records: Mapping[str, dict[str, ApprovalId]]

    @classmethod
    async def of(cls, gate: Gate, caller: Caller) -> "World":
        """Have each agent ask, run and open something."""
        asked, done = {}, {}
        for name in _ASKED_IN_ORDER:
            done[name] = await give(gate, name, new_task() if name in done else TASK)
            asked[name] = await ask(gate, name)
        await _pair(gate)
        terminals = {name: await terminal_of(gate, name, caller) for name in AGENTS}
        for one in terminals.values():
            one.ended = "it was not opened"
        table = Api.of(
            gate,
            node_host=cast("NodeHost", FileNode()),
            terminals=KnownTerminals(gate, terminals.values()),
        ).table
        ids = {name: one.run_id for name, one in terminals.items()}
        return cls(gate, table, {"asked": asked, "done": done, "terminals": ids})

    def ref(self, kind: str, name: str, by: str) -> str:
        """Return the id, the code or a prefix of an agent's record."""
        found = self.records[kind][name]
        return {"id": found, "code": code_of(found), "prefix": found[:8]}[by]

    async def renew(self, kind: str, name: str) -> None:
        """Give an agent a record that nobody acted on."""
        made = give(self.gate, name, new_task()) if kind == "done" else ask(self.gate, name)
        self.records[kind][name] = await made

    async def said(self, method: str, raw: Mapping[str, object], caller: Caller) -> str:
        """Return what a method answers, or the name and the words of its refusal."""
        try:
            return json.dumps(await invoke(self.table[method], raw, caller))
        except SaysoError as refused:
            return f"{type(refused).__name__}: {refused}"

    def traces(self, text: str) -> set[str]:
        """Return the agents of which a text has the name, an id or a code."""
        ids = self.records.values()
        found = {name: [name, *(one[name] for one in ids)] for name in AGENTS}
        return {name for name, words in found.items() if any(word in text for word in words)}


def new_task() -> TaskId:
    """Return a task that has no grants."""
    return TaskId(f"task-{new_id()[:8]}")


def _request(name: str, task: TaskId, *argv: str) -> ExecRequest:
    session = SessionKey(f"agent:{name}:main")
    return ExecRequest(AGENT, session, "/", argv=argv, agent=AgentId(name), task=task)


async def ask(gate: Gate, name: str) -> ApprovalId:
    """Have an agent ask; return the id of the question."""
    asked = await gate.submit(_request(name, new_task(), "touch", f"/nowhere/of-{name}", new_id()))
    assert isinstance(asked, Pending)
    return asked.run_id


async def give(gate: Gate, name: str, task: TaskId) -> ApprovalId:
    """Have an agent ask and run what Ana allows for its task; return the id of the grant."""
    request = _request(name, task, "echo", f"of-{name}")
    return (await granted(gate, request, GrantTerms(uses=9, task_only=True))).run_id


async def terminal_of(gate: Gate, name: str, caller: Caller) -> Terminal:
    """Return a terminal of an agent that a caller asked for, which shows nothing yet."""
    who = caller.requester
    part = AgentPart(AgentPartKind.TERMINAL, who.account, kernel_session=session_of(who))
    asked = draft(text="terminal /bin/sh")
    asked = replace(asked, plan=replace(asked.plan, agent=AgentId(name), part=part))
    await gate.store.write(approvals.create, asked)
    return Terminal(asked.id, asked.plan)


async def _pair(gate: Gate) -> None:
    """Pair a node."""
    draft = nodes.PairingDraft(NodeId("ab" * 32), "cd" * 32, NODE, "127.0.0.1")
    asked = await gate.store.write(nodes.request, draft)
    await gate.store.write(nodes.approve, asked.code, "uid:0")


@asynccontextmanager
async def world_at(home: Path) -> AsyncIterator[World]:
    """Run a gate whose configuration and approvals file are about three agents."""
    (home / "exec-approvals.json").write_text(json.dumps(_file()))
    (home / "exec-approvals.json").chmod(0o600)
    async with gate_at(home) as gate:
        gate.rulebook.compiled = compiled(_settings(), str(home))
        yield await World.of(gate, whole())


def _settings() -> CoreSettings:
    rules = {name: {"match": {"argv": [f"of-{name}"]}, "decide": "deny"} for name in AGENTS}
    listed = [{"id": name, "tools": {"exec": {"rules": [rules[name]]}}} for name in AGENTS]
    return CoreSettings.model_validate({"agents": {"list": listed}})


def whole() -> Caller:
    """Return this process as a caller that sees every agent and may do everything."""
    pid = os.getpid()
    here = of_peer(Peer(pid, os.getuid(), os.getgid(), start_ticks(pid)), _unread)
    return replace(here, actor=ANA)


async def _unread(_kind: str, _params: object) -> None:
    """Take what a connection carries besides the answer."""


def user_of(*agents: str) -> Caller:
    """Return a caller that is bound to agents."""
    return replace(whole(), agents=frozenset(map(AgentId, agents)), actor=None)


def approver_of(*agents: str, others: bool = False) -> Caller:
    """Return a person's caller that sees some agents, or all but those."""
    return replace(whole(), visible=VisibleAgents(frozenset(agents), others))
