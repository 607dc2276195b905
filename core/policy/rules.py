"""Decide about single commands by the owner's rules; of all that match the strictest counts.

Rules are compiled once for a configuration. For each program the few rules that can concern it are
found by name and path, sorted so that the first match wins, and kept: a thousand rules about other
programs cost nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from core.model.command import PinnedFile
from core.model.decision import Decision, Tier
from core.policy.path_index import PathIndex, fold
from core.policy.rule_matching import Called, EffectMatch, GlobMatch, VectorMatch
from core.policy.templates import Surroundings

_MOST_KEPT = 16_384
Match = VectorMatch | GlobMatch | EffectMatch


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``place`` is where it stands, such as ``tools.exec.rules[2]``.

    ``number`` is its place among all rules of the agent.
    """

    place: str
    number: int
    match: Match
    decide: Decision
    tier: Tier = Tier.ROUTINE
    reason: str | None = None

    @property
    def words(self) -> str:
        """Return the rule as a verdict names it: its reason, if it has one, and its place."""
        return self.place if self.reason is None else f"{self.reason.rstrip('.')} ({self.place})"

    @property
    def exact(self) -> bool:
        """Tell whether an allow is meant for these very arguments, hence for carriers too."""
        return not isinstance(self.match, GlobMatch)

    def of(self, program: Called) -> bool:
        """Tell whether the rule can concern a program, whatever its arguments."""
        return isinstance(self.match, EffectMatch) or self.match.names(program)

    def on(self, argv: Sequence[str], program: Called, at: Surroundings) -> Decision | None:
        """Return what the rule decides about a command of a program that it can concern."""
        match self.match:
            case VectorMatch() as vector:
                return self.decide if vector.on(argv, at) else None
            case EffectMatch() as effect:
                return effect.decide(argv, program, self.decide)
            case GlobMatch():
                return self.decide


class Ruling(NamedTuple):
    """What a rule decided about one command."""

    decision: Decision
    rule: Rule


class Looked(NamedTuple):
    """A rule that was looked at, and what it decides about the command; ``None``: nothing."""

    rule: Rule
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class _Concerning:
    """The rules that can concern one program, the strictest first in each list.

    ``shaped`` holds vectors by their length and second element, ``None`` for a template there.
    """

    always: tuple[Rule, ...]
    shaped: dict[tuple[int, str | None], tuple[Rule, ...]] = field(default_factory=dict)

    def about(self, argv: Sequence[str]) -> Iterable[tuple[Rule, ...]]:
        """Return the lists that may hold a rule about a vector."""
        length = len(argv)
        lists = [self.always, self.shaped.get((length, None), ())]
        if length > 1:
            lists.append(self.shaped.get((length, argv[1]), ()))
        return lists

    @property
    def narrows(self) -> bool:
        """Tell whether a rule that asks or denies depends on the arguments."""
        return any(one.decide > Decision.ALLOW for rules in self.shaped.values() for one in rules)


class Rules:
    """An agent's rules, compiled; ``restrict`` tells whether any of them asks or denies."""

    __slots__ = (
        "_by_name",
        "_by_path",
        "_covered",
        "_effects",
        "_globs",
        "_kept",
        "restrict",
        "rules",
    )

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self.restrict = any(rule.decide > Decision.ALLOW for rule in self.rules)
        self._effects: list[Rule] = []
        self._globs: PathIndex[list[Rule]] = PathIndex()
        self._covered: dict[str, list[Rule]] = {}
        self._by_path: dict[str, list[Rule]] = {}
        self._by_name: dict[str, list[Rule]] = {}
        self._kept: dict[Called, _Concerning] = {}
        for rule in self.rules:
            self._index(rule)

    def ruling(
        self, argv: Sequence[str], file: PinnedFile, at: Surroundings, *, whole: bool = True
    ) -> Ruling | None:
        """Return what the strictest rule says about a command, ``None`` where none matches.

        Not ``whole``: a wrapper, whose effects are those of what it runs.
        """
        if not self.rules:
            return None
        program = Called.of(argv, file)
        best: Ruling | None = None
        for rules in self._concerning(program).about(argv):
            for rule in rules:
                if best is not None and _rank(rule, rule.decide) >= _rank(best.rule, best.decision):
                    break
                if not whole and isinstance(rule.match, EffectMatch):
                    continue
                decision = rule.on(argv, program, at)
                if decision is not None:
                    best = _stricter(best, Ruling(decision, rule))
        return best

    def narrows(self, argv: Sequence[str], file: PinnedFile) -> bool:
        """Tell whether more arguments could make a rule ask about or deny a command."""
        return bool(self.rules) and self._concerning(Called.of(argv, file)).narrows

    def looked_at(
        self, argv: Sequence[str], file: PinnedFile, at: Surroundings
    ) -> tuple[Looked, ...]:
        """Return each rule in its order with what it decides about a command, for people."""
        program = Called.of(argv, file)
        return tuple(
            Looked(rule, rule.on(argv, program, at) if rule.of(program) else None)
            for rule in self.rules
        )

    def _index(self, rule: Rule) -> None:
        match rule.match:
            case VectorMatch(head=head):
                index = self._by_path if "/" in head else self._by_name
                index.setdefault(head if "/" in head else head.lower(), []).append(rule)
                if head.startswith(("/bin/", "/sbin/")):
                    self._by_path.setdefault(f"/usr{head}", []).append(rule)
            case GlobMatch(pattern=pattern):
                # Where /bin is a link, plans say /usr/bin; the longer one first, for an index
                # keeps the first of two alike and has the alias itself.
                if pattern.startswith(("/bin/", "/sbin/")):
                    self._cover(f"/usr{pattern}", rule)
                self._cover(pattern, rule)
            case EffectMatch():
                self._effects.append(rule)

    def _cover(self, pattern: str, rule: Rule) -> None:
        known = self._covered.get(fold(pattern))
        if known is not None:
            known.append(rule)
            return
        self._covered[fold(pattern)] = alike = [rule]
        self._globs.add(pattern, alike)

    def _concerning(self, program: Called) -> _Concerning:
        found = self._kept.get(program)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[program] = self._find(program)
        return found

    def _find(self, program: Called) -> _Concerning:
        paths = (program.path, program.realpath)
        listed = [rules for path in paths for rules in self._globs.every(path)]
        always = {rule.number: rule for rules in (*listed, self._effects) for rule in rules}
        named = [self._by_path.get(path, []) for path in paths]
        named += [self._by_name.get(name, []) for name in (*program.names, program.word.lower())]
        shaped: dict[tuple[int, str | None], list[Rule]] = {}
        for rule in {rule.number: rule for rules in named for rule in rules}.values():
            if isinstance(rule.match, VectorMatch) and rule.match.names(program):
                template = rule.match.template
                key = (len(template.elements), template.leading)
                shaped.setdefault(key, []).append(rule)
        return _Concerning(
            _sorted(always.values()), {key: _sorted(rules) for key, rules in shaped.items()}
        )


def _rank(rule: Rule, decision: Decision) -> tuple[int, int, bool, int]:
    """Return a key that sorts the strictest and heaviest rule first; an exact allow lifts more."""
    return -decision, -rule.tier.weight, not rule.exact, rule.number


def _sorted(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(rules, key=lambda rule: _rank(rule, rule.decide)))


def _stricter(one: Ruling | None, other: Ruling) -> Ruling:
    if one is None or _rank(other.rule, other.decision) < _rank(one.rule, one.decision):
        return other
    return one


NO_RULES = Rules(())
