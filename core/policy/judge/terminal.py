"""Ask about what a program may do because its standard streams are a terminal (``--pty``).

The tables of wrappers, carriers and safe bins were read for pipes. At a terminal `nohup` writes a
file, pagers take commands from what is typed, and others start a pager; ``data/terminal.toml``
lists the programs that are known to differ in nothing but appearance.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from core.model.command import ExecPlan, PlannedCommand
from core.model.decision import Decision, Reason, SegmentVerdict
from core.model.policy import Trust
from core.policy.judge.verdict import Context
from core.programs.carriers import profile_for
from core.programs.profiles.tables import section, table, words
from core.programs.wrappers import names_of


def judge_terminal(
    plan: ExecPlan, segments: tuple[SegmentVerdict, ...], context: Context
) -> tuple[SegmentVerdict, ...]:
    """Return the verdicts, with a question about each command that may act differently there.

    An access list decides alone (S4); full security and the sandbox ask nothing.
    """
    if context.acl is not None or context.free is not None:
        return segments
    return tuple(
        _asked(verdict, command, plan, context.policy.trust)
        if verdict.decision is Decision.ALLOW
        else verdict
        for command, verdict in zip(plan.commands, segments, strict=True)
    )


def _asked(
    verdict: SegmentVerdict, command: PlannedCommand, plan: ExecPlan, trust: Trust
) -> SegmentVerdict:
    found = (_differing(one, plan, trust) for one in command.all_of_it)
    name = next(filter(None, found), None)
    if name is None:
        return verdict
    rule = f"{name} may do more at a terminal than with its streams in pipes"
    return replace(verdict, decision=Decision.ASK, reason=Reason.TERMINAL, rule=rule)


def _differing(command: PlannedCommand, plan: ExecPlan, trust: Trust) -> str | None:
    """Name a program that may act differently, ``None`` where it does not or is fully trusted.

    A listed path is enough under classical trust, but not for what is typed, nor for a wrapper.
    """
    file = command.executable
    if file is None:
        return None
    strict = trust is Trust.STRICT
    if strict or command.inner or plan.stdio.stdin:
        names = names_of(command.argv[0]) | names_of(file.path) | names_of(file.realpath)
        found = sorted(names & _otherwise())
        if found:
            return found[0]
    paths = dict.fromkeys((file.path, file.realpath)) if strict else ()
    return next(filter(None, (_unproved(one, command.argv[1:], plan) for one in paths)), None)


def _unproved(path: str, arguments: Sequence[str], plan: ExecPlan) -> str | None:
    """Name a program whose arguments are known to be harmless with pipes, but not at a terminal."""
    profile = profile_for(path)
    if profile is None or profile.problem(arguments) is not None:
        return None  # then it is trusted whatever it does, by a rule or an entry for its words
    setting = _neutral().get(profile.name)
    neutral = setting is not None and setting in plan.env
    return None if neutral or profile.name in _same() else profile.name


@cache
def _otherwise() -> frozenset[str]:
    return frozenset(words(table("terminal"), "otherwise"))


@cache
def _same() -> frozenset[str]:
    return frozenset(words(table("terminal"), "same"))


@cache
def _neutral() -> dict[str, tuple[str, str]]:
    known = section(table("terminal"), "neutral")
    pairs = {name: str(known[name]).partition("=") for name in known}
    return {name: (variable, value) for name, (variable, _, value) in pairs.items()}
