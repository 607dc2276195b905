"""Find rules that allow more than their words seem to say, or that never do what they say."""

from collections.abc import Iterable, Iterator

from core.model.decision import Decision
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.matchers import EffectMatch, GlobMatch, VectorMatch
from core.policy.matching.template_element import ElementKind, looks_typed
from core.policy.rules.compiled import Compiled
from core.policy.rules.lint_entries import never_counts
from core.policy.rules.rules import Rule
from core.programs.carriers import effects, is_judged
from core.programs.profiles.carrier_profile import Effect

_PATH = "<PATH>"
_PATHS = frozenset((_PATH, f"{_PATH}…", f"{_PATH}..."))
_EXAMPLE = "file"
"""What replaces a template while effects are looked up."""
_UNBOUNDED = {
    Effect.WRITES: "that only reads and writes files: `rm -rf x` and `dd of=/dev/sda` run unasked",
    Effect.NETWORK: "that only reads and uses the network, so any file may be sent anywhere",
}
_WHOLE = "Name the programs, or give each agent that has the rule agents.list[].capabilities.files."


def lint(compiled: Compiled) -> tuple[str, ...]:
    """Return a sentence for each rule that its owner should check."""
    return (
        *open_paths(compiled),
        *open_rests(compiled),
        *open_effects(compiled),
        *idle_rules(compiled),
    )


def open_paths(compiled: Compiled) -> tuple[str, ...]:
    """Return which rules let an agent write wherever it likes: it chooses its own folder.

    So ``<PATH>``, which means below the working directory, is no limit for a program that writes,
    that runs others, or about which nothing is known.
    """
    return tuple(_described(_rules(compiled)))


def open_rests(compiled: Compiled) -> tuple[str, ...]:
    """Return which rules allow a program that can run others whatever it is given."""
    return tuple(
        f"{rule.place} allows every command of {rule.match.head}, which can run other programs. "
        "Write <REST>, so that its profile judges the words, or a subcommand before <REST:any>."
        for rule in _rules(compiled)
        if rule.decide is Decision.ALLOW
        and isinstance(rule.match, VectorMatch)
        and rule.match.template.elements[1:] == (ElementKind.REST_ANY,)
        and _may_run(rule.match.head)
    )


def _may_run(head: str) -> bool:
    found = effects((head, _EXAMPLE))
    return found is None or Effect.RUNS in found


def open_effects(compiled: Compiled) -> tuple[str, ...]:
    """Return which rules allow an effect to an agent whose files no capabilities limit."""
    every = (compiled.everyone, *compiled.agents.values())
    open_rules = {
        rule.place: rule
        for provisions in every
        if provisions.capabilities is None
        for rule in provisions.rules.rules
    }
    return tuple(
        f"{rule.place} allows every command {_UNBOUNDED[rule.match.effect]}. {_WHOLE}"
        for rule in open_rules.values()
        if rule.decide is Decision.ALLOW and isinstance(rule.match, EffectMatch)
    )


def idle_rules(compiled: Compiled) -> tuple[str, ...]:
    """Return which rules can never do what they say."""
    return tuple(
        f"{rule.place} never takes effect: {why}."
        for rule in _rules(compiled)
        if (why := _idle(rule)) is not None
    )


def _rules(compiled: Compiled) -> Iterable[Rule]:
    every = (compiled.everyone, *compiled.agents.values())
    return {rule.place: rule for one in every for rule in one.rules.rules}.values()


def _idle(rule: Rule) -> str | None:
    match rule.match:
        case VectorMatch(head="cd"):
            return "cd is a step of Sayso's own, which no rule sees"
        case VectorMatch() as vector if rule.decide is Decision.ALLOW:
            hidden = never_counts(vector.head, _sample(vector.template))
            return hidden or (_unjudged(vector.head) if vector.template.by_profile else None)
        case GlobMatch(pattern=pattern) if rule.decide is Decision.ALLOW:
            return never_counts(pattern, ())
    return None


def _sample(template: ArgvTemplate) -> tuple[str, ...]:
    """Return arguments that a template may take: further words count as one plain word."""
    words = template.elements[1:]
    return (*(word for word in words if not looks_typed(word)), "x") if template.open else words


def _unjudged(head: str) -> str | None:
    """Return why <REST> takes nothing for a program under strict trust, ``None`` if it may."""
    if is_judged(head):
        return None
    return (
        f"no profile says which words of {head} are harmless, so under strict trust <REST> matches "
        "none; write <REST:any> to allow whatever follows"
    )


def _described(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        match = rule.match
        if rule.decide is not Decision.ALLOW or not isinstance(match, VectorMatch):
            continue
        elements = match.template.elements
        if rule.within is None and not _PATHS.isdisjoint(elements) and _may_write(elements):
            yield (
                f"{rule.place} allows {' '.join(elements)!r}, and an agent chooses its working "
                f"directory itself, so {_PATH} means any folder. Name one in tools.exec.roots and "
                "write <PATH:name>."
            )


def _may_write(elements: tuple[str, ...]) -> bool:
    argv = [_EXAMPLE if "<" in one else one for one in elements]
    found = effects(argv)
    return found is None or not {Effect.WRITES, Effect.RUNS}.isdisjoint(found)
