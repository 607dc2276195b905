"""Send a gate proof as a tool call: ``tool.call`` of Exec over gateway.sock, as its own agent (S3).

A tool needs an agent that was granted it. The owner's agents have folders that no proof should
touch, so this process has its own agent: a random name, only in memory, granted Exec for the folder
of the witnesses. Its calls are judged like all others.
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bot.gate_proof.entry_points import ProofAnswer
from bot.gate_proof.rpc import tool_frame_of
from bot.gate_proof.socket import asked
from core.errors import SaysoError
from core.gate.guards.marks import FOLDER, SESSION, Mark
from core.gate.tools.protocol import ToolError
from core.model.identity import AgentId
from core.policy.rules.capabilities import TOOL, Capabilities
from core.policy.rules.compiled import Compiled, Provisions


def is_offered(compiled: Compiled) -> bool:
    """Return whether an owner granted Exec to any agent; else it is no entry point."""
    granted = (one.capabilities for one in compiled.agents.values())
    return any(limits is not None and TOOL in limits.tools for limits in granted)


class ProvingAgent:
    """The agent that only this process can be."""

    def __init__(self) -> None:
        self.id = AgentId(f"{SESSION}-{secrets.token_hex(16)}")

    def joined(self, compiled: Compiled, home: Path) -> Compiled:
        """Return the provisions with this agent's added, under the rules of all agents."""
        folder = str(home / FOLDER)
        granted = Capabilities(
            tools=frozenset({TOOL}),
            read=("/",),  # wherever the program is; policy decides what it may run
            write=tuple(dict.fromkeys((folder, os.path.realpath(folder)))),
        )
        own = Provisions(compiled.everyone.rules, granted)
        return replace(compiled, agents={**compiled.agents, self.id: own})


class ToolEntryPoint:
    """The entry point the tool Exec."""

    name = "tool"

    def __init__(self, path: Path, agent: ProvingAgent) -> None:
        self._path = path
        self._agent = agent.id

    async def submit(self, mark: Mark) -> ProofAnswer:
        """Call Exec with the marked vector."""
        return _read(await asked(self._path, tool_frame_of(mark, self._agent)))


def _read(result: object) -> ProofAnswer:
    """Read what ``tool.call`` answered.

    Raises:
        SaysoError: it was refused before it was judged, or is not such an answer.
    """
    if not isinstance(result, Mapping):
        raise SaysoError("the answer is not the result of a call")
    if result.get("ok") is True or result.get("error") == ToolError.UNKNOWN:
        return ProofAnswer.RAN
    if result.get("error") == ToolError.DENIED:
        return ProofAnswer.HELD
    raise SaysoError(f"{result.get('error')}: {result.get('message')}")
