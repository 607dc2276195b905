"""Run one argument vector for an agent: the tool ``Exec`` of S3.

The tool checks what S3 says and hands the vector to ``Gate.submit``: policy allows, refuses or
asks, as for every request, and the runner limits and drains. No shell is named here or there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.gate.tools.arguments import ExecArguments, Faults, read_arguments
from core.gate.tools.files import folder_fault, home_of, program_fault
from core.gate.tools.protocol import (
    Ready,
    ToolAnswer,
    ToolCall,
    ToolDone,
    ToolError,
    ToolPending,
    ToolRefused,
)
from core.gate.tools.redaction import redacted_argv
from core.gate.tools.registry import Tools, capabilities
from core.gate.tools.results import result_of
from core.model.command import ExecOverrides, ExecRequest
from core.model.identity import ApprovalId
from core.model.policy import ExecHost
from core.model.result import Denied, Finished, Pending, Running, Submission, Unknown
from core.model.stdio import Capture, Environ, Stdio
from core.policy.rules.capabilities import TOOL, Capabilities
from core.policy.rules.compiled import Compiled

Begun = Callable[[ApprovalId], None]


class Line(Protocol):
    """The straight line, as far as this tool needs it (``core.gate.gate.Gate``)."""

    async def submit(self, request: ExecRequest, begun: Begun | None = None) -> Submission:
        """Judge a request; run it, refuse it, or ask people."""

    async def wait(self, run_id: ApprovalId, timeout_ms: int | None = None) -> Submission | None:
        """Wait for a run's end."""


def register_exec_tool(tools: Tools, line: Line) -> None:
    """Offer Exec. Nothing does this on its own: it is for an owner who grants it to some agent."""
    tools.register(ExecTool(tools.compiled, line))


@dataclass(frozen=True, slots=True)
class ExecTool:
    """The tool. ``compiled`` holds the file grants of each agent."""

    compiled: Compiled
    line: Line
    name: str = field(default=TOOL, init=False)

    def read(self, call: ToolCall) -> Ready | ToolRefused:
        """Check the arguments, then what they name against the agent's file grants."""
        arguments = read_arguments(call.args)
        if isinstance(arguments, Faults):
            return ToolRefused(ToolError.INVALID_ARGS, arguments.sentence)
        granted = capabilities(self.compiled, call.agent)
        if granted is None:
            return ToolRefused(ToolError.FS_DENIED, f"the agent {call.agent} has no file grants")
        folder = _folder(arguments, granted)
        if isinstance(folder, ToolRefused):
            return folder
        fault = program_fault(arguments.argv[0], granted)
        if fault is not None:
            return fault
        request = _request(call, arguments, folder)
        return Ready(_record(arguments, folder), lambda: self._run(request, call))

    async def _run(self, request: ExecRequest, call: ToolCall) -> ToolAnswer:
        match await self._end(request, call):
            case Pending(run_id=run_id, code=code, deadline_ms=deadline_ms) if not call.wait:
                return ToolPending(run_id, code, deadline_ms)
            case Finished() as ended:
                return ToolDone(result_of(ended, request.stdio), ended.run_id)
            case Denied(run_id=run_id, reason=reason, why=why):
                return ToolRefused(ToolError.DENIED, why, reason, run_id)
            case Pending(run_id=run_id) | Running(run_id=run_id) | Unknown(run_id=run_id):
                why = "the exit status is unknown; it is not retried"
                return ToolRefused(ToolError.UNKNOWN, why, run_id=run_id)

    async def _end(self, request: ExecRequest, call: ToolCall) -> Submission:
        """Submit and wait for the end; for people only where the call says so (S1)."""
        answer = await self.line.submit(request, call.begun)
        if call.begun is not None:
            call.begun(answer.run_id)
        if isinstance(answer, Running) or (isinstance(answer, Pending) and call.wait):
            return await self.line.wait(answer.run_id) or answer
        return answer


def _folder(request: ExecArguments, granted: Capabilities) -> str | ToolRefused:
    if request.cwd is not None:
        return folder_fault(request.cwd, granted) or request.cwd
    home = home_of(granted)
    if home is None:
        return ToolRefused(ToolError.FS_DENIED, "none of the agent's granted folders exists")
    return home


def _request(call: ToolCall, request: ExecArguments, folder: str) -> ExecRequest:
    most = request.max_output_bytes
    return ExecRequest(
        requester=call.requester,
        session=call.session,
        cwd=folder,
        argv=request.argv,
        agent=call.agent,
        env=request.env,
        overrides=ExecOverrides(host=ExecHost.GATEWAY),
        timeout_ms=request.timeout_s * 1_000,
        stdio=Stdio(capture=Capture.SEPARATE, most_stdout=most, most_stderr=most),
        environ=Environ.EXEC_TOOL,
        cpu_s=max(request.timeout_s, 1),
        task=call.task,
    )


def _record(request: ExecArguments, folder: str) -> Mapping[str, object]:
    """Return what the journal keeps: the vector, where it runs, and the environment's names."""
    return {
        "argv": redacted_argv(request.argv),
        "cwd": redacted_argv((folder,))[0],
        "env": redacted_argv(tuple(name for name, _ in request.env)),
        "timeout_s": request.timeout_s,
        "max_output_bytes": request.max_output_bytes,
    }
