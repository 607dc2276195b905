"""Call tools through a gate: real policy, real processes, one agent with capabilities."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.gate.gate import Gate
from core.gate.tools.builtin import register_builtin_tools
from core.gate.tools.exec_tool import register_exec_tool
from core.gate.tools.protocol import ToolAnswer, ToolCall, ToolDone, ToolRefused
from core.gate.tools.registry import Tools
from core.model.identity import AgentId, SessionKey
from core.model.policy import ExecAsk, ExecSecurity, PolicyLayer
from core.planning.paths.search_path import SearchPath
from core.policy.rules.compiled import compiled
from core.settings import CoreSettings
from tests.support.gate import AGENT, gate_at, layer

FREE = layer(security=ExecSecurity.FULL, ask=ExecAsk.OFF)
"""A policy that lets everything run, so that only the tool and the capabilities restrict it."""


@dataclass
class Bench:
    """A gate with tools; ``home`` is the gateway's, ``work`` the folder that the agent may use."""

    gate: Gate
    tools: Tools
    home: Path
    work: Path

    async def call(
        self, args: Mapping[str, Any], tool: str = "Exec", *, wait: bool = True
    ) -> ToolAnswer:
        """Call a tool as the agent main; with ``wait``, wait for people as well."""
        call = ToolCall(tool, args, AGENT, AgentId("main"), SessionKey("main"), wait=wait)
        return await self.tools.call(call)

    async def done(self, *argv: str, **args: Any) -> dict[str, Any]:
        """Run a vector that must succeed, and return its result."""
        answer = await self.call({"argv": list(argv), **args})
        assert isinstance(answer, ToolDone), answer
        return dict(answer.result)

    async def refused(self, args: Mapping[str, Any]) -> ToolRefused:
        """Call Exec with arguments that must be refused."""
        answer = await self.call(args)
        assert isinstance(answer, ToolRefused), answer
        return answer

    def journal(self, kind: str) -> list[dict[str, Any]]:
        """Return the journal's records of a kind."""
        lines = (self.home / "audit.jsonl").read_text(encoding="utf-8").splitlines()
        return [record for record in map(json.loads, lines) if record["kind"] == kind]


def granting(tools: list[str] | None, read: list[str], write: list[str]) -> CoreSettings:
    """Return a configuration of the agent main; ``tools`` of ``None``: without capabilities."""
    entry: dict[str, Any] = {"id": "main"}
    if tools is not None:
        entry["capabilities"] = {"tools": tools, "files": {"read": read, "write": write}}
    return CoreSettings.model_validate({"agents": {"list": [entry]}})


@asynccontextmanager
async def bench(
    folder: Path,
    *,
    tools: list[str] | None = None,
    read: tuple[str, ...] = ("/usr/bin",),
    everyone: PolicyLayer = FREE,
    exec_tool: bool = True,
    limited: bool = True,
) -> AsyncIterator[Bench]:
    """Run a gate whose agent main has these tools (Exec) and may use the folder ``work``."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    granted = (tools if tools is not None else ["Exec"]) if limited else None
    settings = granting(granted, list(read), [str(work)])
    async with gate_at(home, everyone) as gate:
        gate.rulebook.compiled = compiled(settings, str(home))
        offered = Tools(gate.rulebook.compiled, gate.journal)
        register_builtin_tools(offered, SearchPath())
        if exec_tool:
            register_exec_tool(offered, gate)
        yield Bench(gate, offered, home, work)
