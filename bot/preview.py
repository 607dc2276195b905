"""Show what a person would see: a prompt as a platform's payloads, sent nowhere."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TextIO

from bot.explain.entry import REQUESTER, entry_of, parse_line
from channels.cards import build_prompt
from channels.previews import approvable, payloads
from core.approvals.ids import new_id
from core.errors import SaysoError
from core.model.approval import Approval
from core.model.command import ExecPlan, PinnedDirectory
from core.model.identity import Target
from core.model.policy import ExecPolicy
from core.policy.allowlist import Allowlist
from core.policy.evaluate import evaluate
from core.runner.binding import bind
from core.runner.plan import Planner, Refusal

_ANSWER_MS = 600_000
_PLACES = {"slack": "C0000000000", "telegram": "1", "discord": "1"}
_ANYWHERE = "/"


def render_batch(lines: Iterable[bytes], out: TextIO, channel: str) -> None:
    """Answer JSON lines ``{"id", "command" | "argv", "cwd", "agent", "env"?}`` in order.

    Each answer is ``{"id", "payloads", "approvable"}``; a line that cannot be understood, or a
    command that can never run, gets an ``error`` and is not approvable.
    """
    planner = Planner()
    for line in lines:
        if line.strip():
            answer = _answered(line, planner, channel)
            out.write(json.dumps(answer) + "\n")
            out.flush()


def _answered(line: bytes, planner: Planner, channel: str) -> dict[str, object]:
    fields: dict[str, object] = {}
    try:
        fields = parse_line(line)
        return {"id": fields.get("id"), **render(fields, planner, channel)}
    except SaysoError as failure:
        return {"id": fields.get("id"), "error": str(failure), "payloads": [], "approvable": False}


def render(fields: Mapping[str, object], planner: Planner, channel: str) -> dict[str, object]:
    """Return the payloads of one request's prompt, and whether it could be allowed there.

    Raises:
        SaysoError: the request cannot be understood.
    """
    if isinstance(fields.get("command"), list):
        fields = {**fields, "argv": fields["command"], "command": None}
    entry = entry_of({**fields, "cwd": _ANYWHERE}, _ANYWHERE)
    plan = planner.plan(entry.request, entry.policy)
    if isinstance(plan, Refusal):
        return {"payloads": [], "approvable": False, "error": plan.why}
    approval = _asked(_at(plan, str(fields.get("cwd") or _ANYWHERE)), entry.policy)
    card = build_prompt(approval)
    shown = payloads(channel, card, Target(channel, _PLACES[channel]))
    return {"payloads": shown, "approvable": approvable(channel, card)}


def _at(plan: ExecPlan, cwd: str) -> ExecPlan:
    """Move a plan to a folder that need not exist here: only its name is shown."""
    return bind(replace(plan, cwd=PinnedDirectory(cwd, 0, 0)))


def _asked(plan: ExecPlan, policy: ExecPolicy) -> Approval:
    now = round(time.time() * 1000)
    return Approval(
        id=new_id(),
        plan=plan,
        evaluation=evaluate(plan, policy, Allowlist((), _ANYWHERE)),
        requester=REQUESTER,
        origin=None,
        created_ms=now,
        deadline_ms=now + _ANSWER_MS,
    )
