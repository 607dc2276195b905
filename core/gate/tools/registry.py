"""Look up a tool for an agent, record the call, and make it (S3 "Audit", "Capability-gated")."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.gate.tools.protocol import Tool, ToolAnswer, ToolCall, ToolError, ToolRefused
from core.gate.tools.redaction import recorded_argv
from core.model.identity import AgentId
from core.policy.rules.capabilities import Capabilities
from core.policy.rules.compiled import Compiled
from core.ports import Journal
from core.text.render import redact

DISPATCHED = "tool.call.dispatched"
"""The journal's kind for a call that is about to be made."""
DENIED = "tool.call.denied"
"""The journal's kind for a call that was refused, here or further down the line."""


@dataclass(slots=True)
class Tools:
    """The tools of a gateway. ``compiled`` holds what each agent was granted."""

    compiled: Compiled
    journal: Journal
    _known: dict[str, Tool] = field(default_factory=dict)

    def register(self, tool: Tool) -> None:
        """Offer a tool to the agents that are granted it."""
        self._known[tool.name] = tool

    @property
    def names(self) -> frozenset[str]:
        """Return the names of what is registered."""
        return frozenset(self._known)

    async def call(self, call: ToolCall) -> ToolAnswer:
        """Do what a call asks for, or say why not.

        Raises:
            JournalError: the call could not be written down, so nothing was done.
            SaysoError: Sayso failed; nothing ran.
        """
        answer = await self._answer(call)
        if isinstance(answer, ToolRefused):
            await self.journal.append(DENIED, _denied(call, answer))
        return answer

    async def _answer(self, call: ToolCall) -> ToolAnswer:
        tool = self._granted(call)
        if isinstance(tool, ToolRefused):
            return tool
        ready = tool.read(call)
        if isinstance(ready, ToolRefused):
            return ready
        await self.journal.append(DISPATCHED, {**_about(call), "args": dict(ready.record)})
        return await ready.work()

    def _granted(self, call: ToolCall) -> Tool | ToolRefused:
        """Return a tool that the agent may use; what is not granted is not even looked up."""
        limits = capabilities(self.compiled, call.agent)
        if limits is None or call.tool not in limits.tools:
            why = (
                f"the agent {call.agent} was not granted the tool {call.tool}; an owner grants it "
                "in agents.list[].capabilities.tools"
            )
            return ToolRefused(ToolError.PERMISSION_DENIED, why)
        tool = self._known.get(call.tool)
        if tool is None:
            have = ", ".join(sorted(self._known))
            why = f"there is no tool {call.tool}; available: {have}"
            return ToolRefused(ToolError.UNKNOWN_TOOL, why)
        return tool


def capabilities(compiled: Compiled, agent: AgentId) -> Capabilities | None:
    """Return what an agent was granted, ``None`` where the configuration says nothing about it."""
    return compiled.of(agent).capabilities


def _about(call: ToolCall) -> dict[str, object]:
    return {
        "tool": redact(call.tool).text,
        "requester": f"{call.requester.intake}:{call.requester.account}",
        "agent": redact(call.agent).text,
        "session": redact(call.session).text,
    }


def _denied(call: ToolCall, answer: ToolRefused) -> dict[str, object]:
    return {
        **_about(call),
        "args": _attempted(call.args),
        "error": answer.error,
        "reason": answer.reason,
        "why": redact(answer.message).text,
        "run": answer.run_id,
    }


def _attempted(args: Mapping[str, object]) -> dict[str, object]:
    """Return what the journal keeps of arguments that nobody has checked."""
    return {"argv": recorded_argv(args.get("argv"))} if "argv" in args else {}
