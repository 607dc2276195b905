"""Serve the tools of agents over the method table: `tool.call` (S3)."""

from dataclasses import dataclass

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.runs import ASKS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import Name, SessionParams, TaskName
from bot.intake.results import outcomes
from bot.intake.results.answer import safe
from bot.intake.results.rules import (
    AnyToolAnswer,
    ToolAnswer,
    ToolQuestion,
    ToolRefusal,
    ToolResult,
)
from core.gate.gate import Gate
from core.gate.tools.builtin import register_builtin_tools
from core.gate.tools.exec_tool import register_exec_tool
from core.gate.tools.protocol import ToolAnswer as ToolOutcome
from core.gate.tools.protocol import ToolCall, ToolPending, ToolRefused
from core.gate.tools.registry import Tools
from core.model.identity import DEFAULT_AGENT, AgentId, SessionKey, TaskId
from core.policy.rules.capabilities import TOOL

_TEXTS = ("stdout", "stderr")


class ToolParams(SessionParams):
    """``tool.call``: ``args`` are the tool's own, which checks them."""

    tool: Name = Field(description="the tool's name, as `capabilities.tools` grants it")
    args: dict[str, object] = Field(default={}, description="the tool's arguments")
    task: TaskName | None = Field(default=None, description="the task of the call")
    wait: bool = Field(
        default=False, description="wait while people are asked; else their question is returned"
    )


@dataclass(frozen=True, slots=True)
class ToolMethods(Group):
    """The one method about tools; ``askers`` remembers which local sessions asked."""

    gate: Gate
    askers: Askers

    @handles(
        "tool.call",
        ASKS,
        "Call a tool that the agent was granted; return its result, or at once the "
        "id of the question that people are asked.",
        result=ToolAnswer,
        note="see [the exec tool](../how-to/exec-tool.md)",
    )
    async def call(self, params: ToolParams, caller: Caller) -> AnyToolAnswer:
        """Call a tool; a refusal is an answer, not an error."""
        # The gateway's own proofs do not turn the terminal it runs in into a requester's.
        if self.gate.execution.guard.marks.of_vector(params.args.get("argv")) is None:
            self.askers.note(caller.requester)
        call = ToolCall(
            tool=params.tool,
            args=params.args,
            requester=caller.requester,
            agent=DEFAULT_AGENT if params.agent is None else AgentId(params.agent),
            session=SessionKey(params.session),
            begun=caller.begun,
            task=None if params.task is None else TaskId(params.task),
            wait=params.wait,
        )
        return _response(await tools_of(self.gate).call(call), caller)


def tools_of(gate: Gate) -> Tools:
    """Return the tools of a gateway. Exec is among them only if an owner granted it to an agent.

    The grant in ``agents.list[].capabilities.tools`` is the opt-in that S3 asks for.
    """
    compiled = gate.rulebook.compiled
    tools = Tools(compiled, gate.journal)
    register_builtin_tools(tools, gate.planner.search)
    granted = (one.capabilities for one in compiled.agents.values())
    if any(limits is not None and TOOL in limits.tools for limits in granted):
        register_exec_tool(tools, gate)
    return tools


def _response(answer: ToolOutcome, caller: Caller) -> AnyToolAnswer:
    if isinstance(answer, ToolRefused):
        return ToolRefusal(
            ok=False,
            error=answer.error,
            message=safe(answer.message),
            reason=answer.reason,
            id=answer.run_id,
        )
    if isinstance(answer, ToolPending):
        return ToolQuestion(
            ok=True,
            status="pending",
            result=None,
            id=answer.run_id,
            code=answer.code,
            deadline_ms=answer.deadline_ms,
        )
    texts = {
        name: outcomes.output(text, caller)
        for name in _TEXTS
        if isinstance(text := answer.result.get(name), str)
    }
    result = {**answer.result, **texts}
    return ToolResult(ok=True, status="finished", result=result, id=answer.run_id)
