"""Judge JSON lines, one answer per line in the same order; a bad line never stops the batch."""

import json
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import TextIO

from bot.explain.batch_entry import Entry, entry_of, parse_line
from core.errors import SaysoError
from core.model.approval import AllowlistEntry
from core.model.decision import Decision, Evaluation
from core.planning.planner import Planner, Refusal
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist


@lru_cache(maxsize=256)
def _allowlist(patterns: tuple[str, ...]) -> Allowlist:
    home = os.path.expanduser("~")  # noqa: PTH111 - patterns are text
    return Allowlist([AllowlistEntry(pattern) for pattern in patterns], home)


def run_batch(lines: Iterable[bytes], out: TextIO, cwd: str) -> None:
    """Answer each line; the output is pure ASCII and flushed line by line."""
    planner = Planner()
    for line in lines:
        out.write(json.dumps(answer(line, cwd, planner)) + "\n")
        out.flush()


def answer(line: bytes, cwd: str, planner: Planner) -> dict[str, object]:
    """Return the answer to one line: a verdict, or what is wrong with the line."""
    identity: object = None
    try:
        fields = parse_line(line)
        identity = fields.get("id")
        return {"id": identity, **_judged(entry_of(fields, cwd), planner)}
    except (SaysoError, OSError, ValueError, RecursionError) as error:
        return {"id": identity, "error": str(error)}


def _judged(entry: Entry, planner: Planner) -> dict[str, object]:
    plan = planner.plan(entry.request, entry.policy, listed=entry.acl is not None)
    if isinstance(plan, Refusal):
        return {"decision": Decision.DENY.word, "reason": plan.reason.value, "segments": []}
    return evaluated(evaluate(plan, entry.policy, _allowlist(entry.allowlist), entry.acl))


def evaluated(evaluation: Evaluation) -> dict[str, object]:
    """Return an evaluation in the form of the batch contract."""
    return {
        "decision": evaluation.decision.word,
        "reason": evaluation.reason.value,
        "segments": [
            {
                "argv": list(one.argv),
                "resolved": one.resolved,
                "rule": one.rule,
                "decision": one.decision.word,
            }
            for one in evaluation.segments
        ],
    }
