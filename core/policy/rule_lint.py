"""Find rules that allow more than their words seem to say."""

from collections.abc import Iterable, Iterator

from core.model.decision import Decision
from core.policy.carrier_profiles import Effect
from core.policy.carriers import effects
from core.policy.provisions import Compiled
from core.policy.rule_matching import VectorMatch
from core.policy.rules import Rule

_PATH = "<PATH>"
_EXAMPLE = "file"
"""What stands for a template while effects are looked up."""


def open_paths(compiled: Compiled) -> tuple[str, ...]:
    """Say which rules let an agent write wherever it likes: it chooses its folder by itself.

    So ``<PATH>``, which means below the working directory, is no limit for a program that writes,
    that runs others, or of which nothing is known.
    """
    every = (compiled.everyone, *compiled.agents.values())
    rules = {rule.place: rule for provisions in every for rule in provisions.rules.rules}
    return tuple(_told(rules.values()))


def _told(rules: Iterable[Rule]) -> Iterator[str]:
    for rule in rules:
        match = rule.match
        if rule.decide is not Decision.ALLOW or not isinstance(match, VectorMatch):
            continue
        elements = match.template.elements
        if _PATH in elements and _may_write(elements):
            yield (
                f"{rule.place} allows {' '.join(elements)!r}, and an agent chooses its working "
                f"directory itself, so {_PATH} means any folder. Name one in tools.exec.roots and "
                "write <PATH:name>."
            )


def _may_write(elements: tuple[str, ...]) -> bool:
    argv = [_EXAMPLE if "<" in one else one for one in elements]
    found = effects(argv)
    return found is None or not {Effect.WRITES, Effect.RUNS}.isdisjoint(found)
