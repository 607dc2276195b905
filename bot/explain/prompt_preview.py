"""Show what a person would see: a prompt as a platform's payloads, without sending it."""

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TextIO

from bot.explain.batch_entry import REQUESTER, entry_of, parse_line
from bot.explain.explain import Explained
from channels.cards.build import build_prompt
from channels.payload_preview import approvable, payloads
from core.approvals.ids import new_id
from core.errors import SaysoError
from core.model.approval import Approval
from core.model.command import ExecPlan, PinnedDirectory
from core.model.decision import Evaluation
from core.model.identity import Target
from core.planning.digest import bind
from core.planning.planner import Planner, Refusal
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist

_ANSWER_MS = 600_000
_PLACES = {"slack": "C0000000000", "telegram": "1", "discord": "1"}
_ANYWHERE = "/"


def render_batch(lines: Iterable[bytes], out: TextIO, channel: str) -> None:
    """Answer JSON lines ``{"id", "command" | "argv", "cwd", "agent", "env"?}`` in order.

    No configuration applies: each line is judged as by ``policy explain --batch``, and its folder
    does not have to exist here.

    Each answer is ``{"id", "payloads", "approvable"}``; a line that cannot be parsed, or a command
    that can never run, gets an ``error`` and is not approvable.
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
        SaysoError: the request cannot be parsed.
    """
    if isinstance(fields.get("command"), list):
        fields = {**fields, "argv": fields["command"], "command": None}
    cwd = str(fields.get("cwd") or _ANYWHERE)
    there = os.path.isdir(cwd) and os.access(cwd, os.X_OK)  # noqa: PTH112 - text, not a Path
    entry = entry_of({**fields, "cwd": cwd if there else _ANYWHERE}, _ANYWHERE)
    plan = planner.plan(entry.request, entry.policy)
    if isinstance(plan, Refusal):
        return {"payloads": [], "approvable": False, "error": plan.why}
    plan = plan if there else _at(plan, cwd)
    evaluation = evaluate(plan, entry.policy, Allowlist((), _ANYWHERE))
    return _shown(_asked(plan, evaluation), channel)


def render_here(
    params: Mapping[str, object], explained: Explained, channel: str
) -> dict[str, object]:
    """Return the payloads of the question that the configuration in effect would cause.

    If it causes none, ``unasked`` says why, and the payloads are those of a question about the same
    command under an empty allowlist.
    """
    verdict, plan, asks = explained.verdict, explained.plan, explained.asks
    if isinstance(verdict, Refusal) or plan is None:
        return {"payloads": [], "approvable": False, "error": verdict.why}
    if asks is None:
        as_if = render(params, Planner(), channel)
        return {**as_if, "unasked": f"Nobody is asked. {verdict.why}"}
    return _shown(_asked(plan, verdict, asks.quorum, asks.timeout_ms), channel)


def _shown(approval: Approval, channel: str) -> dict[str, object]:
    card = build_prompt(approval)
    shown = payloads(channel, card, Target(channel, _PLACES[channel]))
    return {"payloads": shown, "approvable": approvable(channel, card)}


def _at(plan: ExecPlan, cwd: str) -> ExecPlan:
    """Move a plan to a folder that does not exist here: only its name is shown."""
    return bind(replace(plan, cwd=PinnedDirectory(cwd, 0, 0)))


def _asked(
    plan: ExecPlan, evaluation: Evaluation, quorum: int = 1, timeout_ms: int = _ANSWER_MS
) -> Approval:
    now = round(time.time() * 1000)
    return Approval(
        id=new_id(),
        plan=plan,
        evaluation=evaluation,
        requester=REQUESTER,
        origin=None,
        created_ms=now,
        deadline_ms=now + timeout_ms,
        quorum=quorum,
    )
