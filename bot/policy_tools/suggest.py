"""Suggest allowlist entries for what people always allow; implements ``policy suggest``.

An entry is suggested only if allow-always would have stored it, no prompt in which it was offered
was denied, and nothing that a person denied would run with it. Shells, interpreters and wrappers
are never suggested, carriers only with their exact arguments.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from bot.policy_tools.judge import Judge
from bot.policy_tools.prompt_costs import Cost, by_program, by_reason, by_rule, prompts_of, total
from bot.policy_tools.suggestible import suggestible
from core.model.approval import AllowlistEntry, ApprovalReply
from core.model.decision import Decision, Promise
from core.model.identity import AgentId
from core.store.views.past_commands import PastCommand


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An entry that would have saved ``prompts`` prompts of an agent, each of them allowed."""

    agent: AgentId
    entry: Promise
    prompts: int


@dataclass(frozen=True, slots=True)
class Report:
    """What prompts cost, and which entries would have saved ``saved`` of them together."""

    all: Cost
    reasons: tuple[Cost, ...]
    rules: tuple[Cost, ...]
    programs: tuple[Cost, ...]
    suggestions: tuple[Suggestion, ...]
    saved: int


def report(commands: Iterable[PastCommand], judge: Judge, least: int) -> Report:
    """Return the costs and the suggestions; an entry must have been offered ``least`` times."""
    prompts = prompts_of(commands)
    found = _harmless(_frequent(prompts, least), prompts, judge)
    return Report(
        total(prompts),
        by_reason(prompts),
        by_rule(prompts),
        by_program(prompts),
        found,
        sum(_passes(one, found, judge) for one in prompts if _still_asked(one, judge)),
    )


def _frequent(prompts: Iterable[PastCommand], least: int) -> tuple[Suggestion, ...]:
    """Return what was offered often, allowed whenever somebody answered, and never denied."""
    offered: Counter[tuple[AgentId, Promise]] = Counter()
    denied: set[tuple[AgentId, Promise]] = set()
    for prompt in prompts:
        promised = () if prompt.evaluation is None else prompt.evaluation.promise
        for entry in promised:
            key = prompt.agent, entry
            if prompt.reply is ApprovalReply.DENY:
                denied.add(key)
            elif prompt.reply is not None:
                offered[key] += 1
    return tuple(
        Suggestion(*key, times)
        for key, times in offered.most_common()
        if times >= least and key not in denied and suggestible(key[1])
    )


def _harmless(
    suggestions: tuple[Suggestion, ...], prompts: Iterable[PastCommand], judge: Judge
) -> tuple[Suggestion, ...]:
    """Leave out each suggestion that helps to run what a person denied."""
    denied: defaultdict[AgentId, list[PastCommand]] = defaultdict(list)
    for prompt in prompts:
        if prompt.reply is ApprovalReply.DENY:
            denied[prompt.agent].append(prompt)
    kept: list[Suggestion] = []
    for one in suggestions:
        together = (*kept, one)
        if not any(_passes(prompt, together, judge) for prompt in denied[one.agent]):
            kept.append(one)
    return tuple(kept)


def _still_asked(prompt: PastCommand, judge: Judge) -> bool:
    return prompt.plan is not None and judge.judge(prompt.plan).decision is Decision.ASK


def _passes(prompt: PastCommand, suggestions: Iterable[Suggestion], judge: Judge) -> bool:
    """Return whether a prompt's command would run unasked with the suggestions of its agent."""
    if prompt.plan is None:
        return False
    extra = tuple(
        AllowlistEntry(one.entry.pattern, argv=one.entry.argv)
        for one in suggestions
        if one.agent == prompt.agent
    )
    allowlist = judge.allowlist(prompt.agent, extra)
    return judge.judge(prompt.plan, allowlist=allowlist).decision is Decision.ALLOW
