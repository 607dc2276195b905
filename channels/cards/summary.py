"""Format what an answer is based on: what a command does, and why a person is asked."""

import re
from itertools import chain

from channels.utf16 import cut, units
from core.model.command import ExecPlan
from core.model.decision import Decision, Evaluation, Reason, SegmentVerdict
from core.programs.carriers import profile_for
from core.programs.summary import NOT_KNOWN, READS, Summary, summaries
from core.text.render import Redacted, join, phrase, redact, show_argument

MOST_SENTENCES = 3
"""Number of commands up to which each gets a sentence; beyond, effects list their commands."""
_MOST_NUMBERS = 8
_MOST_NAMED = 2
_LONGEST_OPERAND = 80
_LONGEST_CLAUSE = 200
_SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]{0,30}")
_LAST = (READS, NOT_KNOWN)
_SENTENCE = re.compile(r"[A-Z][a-z]* ")


def does(plan: ExecPlan) -> Redacted:
    """Describe what a plan does, as far as the tables know; empty if a shell runs the text."""
    if plan.unreadable is not None:
        return Redacted("")
    steered = bool(plan.requested_env)
    found = [summaries(command, steered=steered) for command in plan.commands]
    if len(found) == 1:
        return join("; ", tuple(map(_sentence, found[0])))
    if len(found) > MOST_SENTENCES:
        return _by_effect(found)
    lines = (
        phrase("{}. {}", Redacted(str(number)), join("; ", tuple(map(_sentence, one))))
        for number, one in enumerate(found, 1)
    )
    return join("\n", tuple(lines))


def shortened(text: Redacted, limit: int) -> Redacted:
    """Return a text of at most ``limit`` units, or its beginning and how much was left out."""
    # No command can contain this mark: "…" is always escaped in text that is not ours.
    head, rest = cut(text.text, limit)
    return Redacted(f"{head} […{units(rest):,} more]" if rest else head)


def clause(plan: ExecPlan, evaluation: Evaluation) -> Redacted:
    """Describe in a clause why a person is asked, and which of several commands it is about."""
    asking = [
        (number, segment)
        for number, segment in enumerate(evaluation.segments, 1)
        if segment.decision is not Decision.ALLOW
    ]
    words = _clause(plan, evaluation, asking)
    if len(evaluation.segments) == 1 or not asking:
        return words
    if mixed(evaluation):
        words = Redacted("each for a reason of its own")
    numbers = _numbers([number for number, _ in asking])
    count = Redacted(str(len(evaluation.segments)))
    noun = "command" if len(asking) == 1 else "commands"
    return phrase(f"{noun} {{}} of {{}}: {{}}", numbers, count, words)


def clause_of_prompt(plan: ExecPlan, evaluation: Evaluation) -> Redacted:
    """Return ``clause`` without what the statement about the shell above it already says."""
    if plan.unreadable is not None and evaluation.reason is Reason.UNREADABLE:
        return Redacted("the line cannot be parsed with certainty")
    return clause(plan, evaluation)


def beyond(plan: ExecPlan, evaluation: Evaluation) -> tuple[Redacted, ...]:
    """Return what the commands do beyond their words, apart from those asked about for that."""
    said = {one.argv for one in evaluation.segments if one.reason is Reason.STEERED}
    unsaid = (one for one in plan.commands if one.argv not in said)
    found = (one.steered or one.unsettled for each in unsaid for one in each.all_of_it)
    return tuple(redact(one) for one in dict.fromkeys(filter(None, found)))


def is_plain(plan: ExecPlan, evaluation: Evaluation) -> bool:
    """Return whether a person is asked only because of a list, about the programs they see.

    Every other reason warns of something that the line itself does not show.
    """
    asking = [one for one in evaluation.segments if one.decision is not Decision.ALLOW]
    reasons = {evaluation.reason, *(one.reason for one in asking)}
    seen = plan.unreadable is None and not any(command.inner for command in plan.commands)
    seen = seen and not beyond(plan, evaluation)
    return seen and reasons <= {Reason.NOT_LISTED, Reason.ASK_ALWAYS}


def mixed(evaluation: Evaluation) -> bool:
    """Return whether a person is asked about several commands for different reasons."""
    asking = (one for one in evaluation.segments if one.decision is not Decision.ALLOW)
    return len({one.reason for one in asking}) > 1


def _sentence(one: Summary) -> Redacted:
    effects = ", ".join(one.effects)
    said = phrase(one.words, *(_operands(one.argv, places) for places in one.operands))
    words = ", ".join(part for part in (said.text, *one.added) if part)
    return Redacted(" · ".join(part for part in (words, effects) if part))


def _operands(argv: tuple[str, ...], places: tuple[int, ...]) -> Redacted:
    shown = [shortened(show_argument(argv, at), _LONGEST_OPERAND) for at in places[:_MOST_NAMED]]
    left = len(places) - len(shown)
    if left:
        return phrase("{} and {} more", join(", ", tuple(shown)), Redacted(str(left)))
    return join(" and ", tuple(shown))


def _by_effect(found: list[tuple[Summary, ...]]) -> Redacted:
    """List each effect with the numbers of its commands, the harmless and unknown ones last."""
    numbers: dict[str, list[int]] = {}
    for number, one in enumerate(found, 1):
        for effect in dict.fromkeys(chain.from_iterable(_effects(summary) for summary in one)):
            numbers.setdefault(effect, []).append(number)
    ordered = sorted(numbers, key=lambda effect: _LAST.index(effect) if effect in _LAST else -1)
    parts = (phrase("{}: {}", Redacted(effect), _numbers(numbers[effect])) for effect in ordered)
    return phrase("{} commands · {}", Redacted(str(len(found))), join(" · ", tuple(parts)))


def _effects(one: Summary) -> tuple[str, ...]:
    return (*one.effects, *one.added) or (one.words,)


def _numbers(found: list[int]) -> Redacted:
    words = ", ".join(map(str, found[:_MOST_NUMBERS]))
    left = len(found) - _MOST_NUMBERS
    return Redacted(f"{words} and {left} more" if left > 0 else words)


def _clause(
    plan: ExecPlan, evaluation: Evaluation, asking: list[tuple[int, SegmentVerdict]]
) -> Redacted:
    # With a wrapper, what it runs is not listed, and the sentence names that.
    wrappers = {number for number, command in enumerate(plan.commands, 1) if command.inner}
    plain = wrappers.isdisjoint(number for number, _ in asking)
    if evaluation.reason is Reason.NOT_LISTED and asking and plain:
        return _not_listed(plan, [segment for _, segment in asking])
    if evaluation.reason is Reason.ASK_ALWAYS:
        return Redacted("the policy asks about every command")
    return _of_sentence(evaluation.why)


def _not_listed(plan: ExecPlan, missing: list[SegmentVerdict]) -> Redacted:
    names = tuple(dict.fromkeys(_called(one) for one in missing))
    verb = "is" if len(names) == 1 else "are"
    shown = names[:_MOST_NAMED]
    more = len(names) - len(shown)
    listed = join(", " if more else " and ", shown)
    rest = Redacted(f" and {more} more" if more else "")
    agent = redact(plan.agent, strict=True) if plan.agent else Redacted("the agent")
    return phrase(f"{{}}{{}} {verb} not on {{}}'s allowlist", listed, rest, agent)


def _called(segment: SegmentVerdict) -> Redacted:
    """Return the program's name, with the subcommand if its tables know subcommands."""
    argv = segment.argv
    name = shortened(redact(argv[0].rpartition("/")[2], strict=True), _LONGEST_OPERAND)
    profile = profile_for(segment.resolved) if segment.resolved else None
    if profile is None or not profile.commands or len(argv) == 1:
        return name
    known = _SUBCOMMAND.fullmatch(argv[1])
    return phrase("{} {}", name, redact(argv[1], strict=True)) if known else name


def _of_sentence(why: str) -> Redacted:
    words = why.rstrip(".")
    if _SENTENCE.match(words):
        words = words[0].lower() + words[1:]
    return shortened(redact(words), _LONGEST_CLAUSE)
