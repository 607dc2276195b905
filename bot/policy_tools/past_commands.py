"""Fetch past commands from the store, and plan those again that kept no plan."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.explain.batch_entry import REQUESTER
from bot.policy_tools.judge import Judge
from bot.settings import Settings
from core.errors import BadRequest
from core.model.command import ExecPlan, ExecRequest
from core.model.policy import ExecHost
from core.planning.planner import Refusal
from core.store.engine.read_only import open_and_read
from core.store.views.past_commands import PastCommand, past

_MOST: Final = 100_000
_SPAN = re.compile(r"([1-9][0-9]{0,4})([mhdw])")
_UNIT_MS: Final[Mapping[str, int]] = {
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_HERE: Final = frozenset((ExecHost.GATEWAY.value, ExecHost.SANDBOX.value))


@dataclass(frozen=True, slots=True)
class Replay:
    """A past command with its plan; ``anew``: planned now, from its text.

    ``plan`` is a sentence if the command cannot be judged.
    """

    command: PastCommand
    plan: ExecPlan | str
    anew: bool = False


def span_ms(text: str) -> int:
    """Return the ms of a span such as ``30d``, ``12h``, ``90m`` or ``2w``.

    Raises:
        BadRequest: it is not a span.
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        raise BadRequest(f"{text!r} is not a duration. Use a number with m, h, d or w: 30d.")
    return int(found[1]) * _UNIT_MS[found[2]]


def past_commands(settings: Settings, since: str, most: int = _MOST) -> tuple[PastCommand, ...]:
    """Return what was asked for within a span before now, newest first, at most ``most``.

    Raises:
        BadRequest: ``since`` is not a span.
        StoreError: the store cannot be read.
    """
    begin = time.time_ns() // 1_000_000 - span_ms(since)
    return open_and_read(settings.store_url, past, begin, most)


def replayed(command: PastCommand, judge: Judge, cwd: str) -> Replay:
    """Return a command with its plan: the one that the question kept, or one made now in ``cwd``.

    A run that needed no answer keeps only its text, not its folder or environment.
    """
    if command.plan is not None:
        return Replay(command, command.plan)
    if command.asked:
        return Replay(command, "its question was written by another version of Sayso")
    if command.place not in _HERE:
        return Replay(command, f"it was for the node {command.place}, which has its own programs")
    request = ExecRequest(
        requester=REQUESTER,
        session=command.session,
        cwd=cwd,
        line=command.text,
        agent=command.agent,
    )
    plan = judge.plan(request)
    if isinstance(plan, Refusal):
        return Replay(command, f"no plan can be made here: {plan.why}")
    missing = [one.argv[0] for one in plan.commands if one.executable is None]
    if missing:
        return Replay(command, f"no plan can be made here: {missing[0]!r} is not found")
    return Replay(command, plan, anew=True)
