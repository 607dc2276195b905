"""Describe how an agent is started, and format what it does."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from core.isolation import wire
from core.model.command import ExecPlan
from core.model.identity import ApprovalId, Target
from core.planning.environment import RUN_MARK

KeyOf = Callable[[str, str], Awaitable[str]]
"""Return the key of a service for an account; raises ``SaysoError`` if it has none."""
OriginOf = Callable[[ApprovalId], Awaitable[Target | None]]
"""Return the chat in which people are asked about a prompt's tool calls."""
Tell = Callable[[ExecPlan, ApprovalId, str], Awaitable[None]]
"""Pass what an agent said to its session."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """How an agent is started, and where its model is.

    ``env`` is passed on unchanged except for ``{url}`` and ``{token}``: where its requests to the
    model go, and what they carry instead of a key. ``header`` and ``prefix`` say how the key is
    sent on to ``url``.
    """

    command: tuple[str, ...]
    service: str
    url: str
    header: str
    prefix: str
    env: Mapping[str, str]


def params_of(plan: ExecPlan, run_id: ApprovalId, runtime: Runtime) -> wire.Object:
    """Return what an executor needs to know about a prompt."""
    model: wire.Object = {
        "service": runtime.service,
        "url": runtime.url,
        "header": runtime.header,
        "prefix": runtime.prefix,
    }
    return {
        "prompt": plan.commands[0].argv[-1],
        "cwd": plan.cwd.path,
        "tools": list(plan.part.tools) if plan.part is not None else [],
        "command": list(runtime.command),
        "env": {**dict(plan.env), **runtime.env, RUN_MARK: run_id},
        "model": model,
    }


def tool_line(data: wire.Object) -> str:
    """Format a tool call in one line, as far as its agent named it."""
    names = [str(data[name]) for name in ("kind", "title") if data.get(name)]
    status = str(data.get("status", ""))
    return " ".join(["[tool]", *names, *([f"({status})"] if status else [])])
