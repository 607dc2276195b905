"""Reduce a plan to one digest: equal digests mean the same run (invariant 3)."""

import hashlib
import json

from core.model.command import UNROUTED, AgentPart, ExecPlan, PinnedFile, PlannedCommand
from core.model.stdio import PLAIN_STDIO

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


def digest_of(plan: ExecPlan) -> str:
    """Return the SHA-256 hex of a plan's canonical JSON; its ``digest`` field is left out."""
    unreadable = plan.unreadable
    bound = {
        "agent": plan.agent,
        "commands": [_command(command) for command in plan.commands],
        "connectors": plan.connectors,
        "cwd": (plan.cwd.path, plan.cwd.device, plan.cwd.inode),
        "env": plan.env,
        "host": plan.host,
        "node": plan.node,
        "requested_env": plan.requested_env,
        "session": plan.session,
        "text": plan.text,
        "timeout_ms": plan.timeout_ms,
        "unreadable": None if unreadable is None else (unreadable.rule, unreadable.detail),
        "version": 1,
        **_stdio(plan),
        **({} if plan.task is None else {"task": plan.task}),
        **({"node_name": plan.node_name} if plan.node_name else {}),
        **({"run_as": plan.run_as} if plan.run_as else {}),
        **({} if plan.part is None else {"part": _part(plan.part)}),
    }
    return hashlib.sha256(_canonical(bound).encode()).hexdigest()


def bind(plan: ExecPlan) -> ExecPlan:
    """Return the plan with its digest filled in (written out: ``replace`` costs 10 µs)."""
    return ExecPlan(
        text=plan.text,
        commands=plan.commands,
        connectors=plan.connectors,
        unreadable=plan.unreadable,
        cwd=plan.cwd,
        env=plan.env,
        requested_env=plan.requested_env,
        host=plan.host,
        node=plan.node,
        agent=plan.agent,
        session=plan.session,
        timeout_ms=plan.timeout_ms,
        digest=digest_of(plan),
        stdio=plan.stdio,
        cpu_s=plan.cpu_s,
        task=plan.task,
        node_name=plan.node_name,
        run_as=plan.run_as,
        part=plan.part,
    )


def _part(part: AgentPart) -> tuple[object, ...]:
    unasked = ("unasked",) if part.unasked else ()
    opener = (("kernel_session", part.kernel_session),) if part.kernel_session else ()
    return (part.kind, part.account, part.call, part.user, part.tools, *unasked, *opener)


def _stdio(plan: ExecPlan) -> dict[str, object]:
    """Return what differs from a plain run; standard input by its hash, as it may be large."""
    bound: dict[str, object] = {}
    if plan.stdio != PLAIN_STDIO:
        stdio = plan.stdio
        stdin = None if stdio.stdin is None else hashlib.sha256(stdio.stdin).hexdigest()
        bound["stdio"] = (stdin, stdio.capture, stdio.most_stdout, stdio.most_stderr)
    if plan.cpu_s is not None:
        bound["cpu_s"] = plan.cpu_s
    return bound


_UNUSUAL = (
    *("exposed", "writers", "steered", "absent", "links", "neutral", "unsettled", "replaces"),
    *("late", "ahead", "cached", "fed", "reloads"),
)
"""What most commands lack: left out where it is empty."""


def _command(command: PlannedCommand) -> dict[str, object]:
    executable = command.executable
    bound: dict[str, object] = {
        "argv": command.argv,
        "executable": None if executable is None else _file(executable),
        "operands": [_file(operand) for operand in command.operands],
        "problem": command.problem,
    }
    if command.inner or command.bound:
        bound["inner"] = [_command(one) for one in command.inner]
        bound["bound"] = command.bound
    if command.cwd is not None:
        bound["cwd"] = (command.cwd.path, command.cwd.device, command.cwd.inode)
    for name in _UNUSUAL:
        value = getattr(command, name)
        if value:
            bound[name] = value
    if command.routing != UNROUTED:
        routing = command.routing
        bound["routing"] = (routing.null_input, routing.null_output, routing.error)
    return bound


def _file(file: PinnedFile) -> tuple[str | int, ...]:
    return (file.path, file.realpath, file.device, file.inode, file.size, file.sha256)
