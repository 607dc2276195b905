"""Decide about single commands by the owner's rules; of all that match the strictest counts.

Rules are compiled once for a configuration. For each program the few rules that can concern it are
found by name and path, sorted so that the first match wins, and kept: a thousand rules about other
programs cost nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from core.model.command import PinnedFile
from core.model.decision import Decision, Tier
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.matchers import Called, EffectMatch, Folder, GlobMatch, VectorMatch
from core.policy.matching.path_patterns import PathIndex, fold
from core.policy.matching.template_element import Surroundings
from core.policy.matching.word_pattern import WordsMatch
from core.policy.rules.file_denials import ReadsMatch
from core.programs.implicit_reads import Contents, contents_of

_MOST_KEPT = 16_384
Match = VectorMatch | GlobMatch | EffectMatch | ReadsMatch | WordsMatch


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``place`` is its location, such as ``tools.exec.rules[2]``.

    ``number`` is its place among all rules of the agent; ``within`` is the folder it is bound to.
    """

    place: str
    number: int
    match: Match
    decide: Decision
    tier: Tier = Tier.ROUTINE
    reason: str | None = None
    within: Folder | None = None

    @property
    def words(self) -> str:
        """Return the rule as a verdict names it: its reason, if it has one, and its place."""
        return self.place if self.reason is None else f"{self.reason.rstrip('.')} ({self.place})"

    @property
    def exact(self) -> bool:
        """Return whether an allow is meant for these very arguments, and so for carriers too."""
        return not isinstance(self.match, GlobMatch)

    def of(self, program: Called) -> bool:
        """Return whether the rule can concern a program, whatever its arguments."""
        match = self.match
        return isinstance(match, EffectMatch | ReadsMatch | WordsMatch) or match.names(program)

    @property
    def worded(self) -> bool:
        """Return whether it is about the words of a command, not about what they do."""
        return isinstance(self.match, VectorMatch | WordsMatch)

    @property
    def open(self) -> bool:
        """Return whether an allow is meant for these arguments whatever is added to them."""
        return isinstance(self.match, VectorMatch) and self.match.template.open

    def on(
        self,
        argv: tuple[str, ...],
        program: Called,
        at: Surroundings,
        *,
        whole: bool = True,
        strict: bool = True,
    ) -> Decision | None:
        """Return what the rule decides about a command of a program that it can concern.

        ``whole`` as in ``Rules.ruling``, ``strict`` as in ``VectorMatch.on``.
        """
        if self.within is not None and not self.within.holds(
            at.cwd, allows=self.decide is Decision.ALLOW
        ):
            return None
        match self.match:
            case VectorMatch() as vector:
                return self.decide if vector.on(argv, program, at, strict=strict) else None
            case EffectMatch() as effect:
                return effect.decide(argv, program, self.decide) if whole else None
            case ReadsMatch() as reads:
                paths = (program.path, program.realpath) if whole else ()
                return reads.decide(argv, paths, at, self.decide)
            case WordsMatch() as pattern:
                return self.decide if pattern.on(argv, program.spellings) else None
            case GlobMatch():
                return self.decide


class Ruling(NamedTuple):
    """What a rule decided about one command."""

    decision: Decision
    rule: Rule


class Looked(NamedTuple):
    """A rule that was checked, and what it decides about the command; ``None``: nothing."""

    rule: Rule
    decision: Decision | None


_Rank = tuple[int, int, bool, int]
_Ranked = tuple[_Rank, Rule]
_Ruled = tuple[_Rank, Ruling]


class _Concerning:
    """The rules that can concern one program, in each list the strictest first.

    Vectors without templates are found by their arguments, others, and those bound to a folder, by
    their length and as much of their first two arguments as is literal.
    """

    __slots__ = (
        "_always",
        "_literal",
        "_program",
        "_reads",
        "_typed",
        "_vectors_narrow",
        "_worded",
    )

    def __init__(self, program: Called, always: Iterable[Rule], vectors: Sequence[Rule]) -> None:
        self._program = program
        self._always = _sorted(always)
        self._literal: dict[tuple[str, ...], _Ranked] = {}
        typed: dict[_Shape, list[Rule]] = {}
        for rank, rule in _sorted(vectors):
            if isinstance(rule.match, VectorMatch):
                template = rule.match.template
                if template.literal and rule.within is None:
                    self._literal.setdefault(template.elements[1:], (rank, rule))
                else:
                    typed.setdefault(_shape(template), []).append(rule)
        self._typed = {shape: _sorted(rules) for shape, rules in typed.items()}
        self._worded = tuple(one for one in self._always if one[1].worded)
        self._vectors_narrow = bool(self._worded) or any(
            rule.decide > Decision.ALLOW for rule in vectors
        )
        self._reads = any(isinstance(rule.match, ReadsMatch) for _, rule in self._always)

    def narrows(self, argv: tuple[str, ...]) -> bool:
        """Return whether more arguments could make a rule ask about or deny a vector."""
        if self._vectors_narrow or not self._reads:
            return self._vectors_narrow
        program = self._program
        return contents_of(argv, program.path, program.realpath) is not Contents.NONE

    def ruling(
        self, argv: tuple[str, ...], at: Surroundings, *, whole: bool, strict: bool
    ) -> Ruling | None:
        """Return what the strictest of the rules says about a vector, in each of its spellings."""
        best = self._best(argv, self._always, at, None, whole=whole, strict=strict)
        for spelling in at.spellings:
            best = self._best(spelling, self._worded, at, best, whole=whole, strict=strict)
        return None if best is None else best[1]

    def _best(
        self,
        argv: tuple[str, ...],
        always: tuple[_Ranked, ...],
        at: Surroundings,
        best: _Ruled | None,
        *,
        whole: bool,
        strict: bool,
    ) -> _Ruled | None:
        found = self._literal.get(argv[1:]) if self._literal else None
        if found is not None and (best is None or found[0] < best[0]):
            best = found[0], Ruling(found[1].decide, found[1])
        for rules in (always, *(self._shaped(argv) if self._typed else ())):
            for rank, rule in rules:
                if best is not None and rank >= best[0]:
                    break
                decision = rule.on(argv, self._program, at, whole=whole, strict=strict)
                if decision is None:
                    continue
                own = rank if decision is rule.decide else _rank(rule, decision)
                if best is None or own < best[0]:
                    best = own, Ruling(decision, rule)
        return best

    def _shaped(self, argv: tuple[str, ...]) -> Iterator[tuple[_Ranked, ...]]:
        typed = self._typed
        for length in (len(argv), None):
            for second in (None, *argv[1:2]):
                for third in (None, *argv[2:3]):
                    found = typed.get((length, second, third))
                    if found is not None:
                        yield found


_Shape = tuple[int | None, str | None, str | None]


def _shape(template: ArgvTemplate) -> _Shape:
    return template.length, template.literal_at(1), template.literal_at(2)


def _rank(rule: Rule, decision: Decision) -> _Rank:
    """Return a key that sorts the strictest and heaviest rule first; an exact allow lifts more."""
    return -decision, -rule.tier.weight, not rule.exact, rule.number


def _sorted(rules: Iterable[Rule]) -> tuple[_Ranked, ...]:
    return tuple(sorted(((_rank(rule, rule.decide), rule) for rule in rules), key=itemgetter(0)))


class Rules:
    """An agent's rules, compiled; ``restrict``: whether any of them asks or denies."""

    __slots__ = (
        "_by_name",
        "_by_path",
        "_covered",
        "_every",
        "_globs",
        "_kept",
        "_unasked",
        "restrict",
        "rules",
    )

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self.restrict = any(rule.decide > Decision.ALLOW for rule in self.rules)
        self._every: list[Rule] = []
        self._globs: PathIndex[list[Rule]] = PathIndex()
        self._covered: dict[str, list[Rule]] = {}
        self._by_path: dict[str, list[Rule]] = {}
        self._by_name: dict[str, list[Rule]] = {}
        self._kept: dict[tuple[str, str, str], _Concerning] = {}
        self._unasked: Rules | None = None
        for rule in self.rules:
            self._index(rule)

    def unasked(self) -> "Rules":
        """Return the rules that hold where approvals are skipped: all but those that ask."""
        if self._unasked is None:
            kept = [rule for rule in self.rules if rule.decide is not Decision.ASK]
            self._unasked = self if len(kept) == len(self.rules) else Rules(kept)
        return self._unasked

    def ruling(
        self,
        argv: tuple[str, ...],
        file: PinnedFile,
        at: Surroundings,
        *,
        whole: bool = True,
        strict: bool = True,
    ) -> Ruling | None:
        """Return what the strictest rule says about a command, ``None`` where none matches.

        Not ``whole``: a wrapper, whose effects are those of what it runs. ``strict``: under strict
        trust.
        """
        if not self.rules:
            return None
        return self._concerning(argv, file).ruling(argv, at, whole=whole, strict=strict)

    def narrows(self, argv: tuple[str, ...], file: PinnedFile) -> bool:
        """Return whether more arguments could make a rule ask about or deny a command."""
        return bool(self.rules) and self._concerning(argv, file).narrows(argv)

    def looked_at(
        self,
        argv: tuple[str, ...],
        file: PinnedFile,
        at: Surroundings,
        *,
        whole: bool = True,
        strict: bool = True,
    ) -> tuple[Looked, ...]:
        """Return each rule in its order with what it decides about a command, for people.

        ``whole`` and ``strict`` as in ``ruling``.
        """
        program = Called.of(argv, file)

        def decided(rule: Rule) -> Decision | None:
            spellings = (argv, *(at.spellings if rule.worded else ()))
            found = (rule.on(one, program, at, whole=whole, strict=strict) for one in spellings)
            return next((one for one in found if one is not None), None)

        return tuple(
            Looked(rule, decided(rule) if rule.of(program) else None) for rule in self.rules
        )

    def _index(self, rule: Rule) -> None:
        match rule.match:
            case VectorMatch(head=head):
                index = self._by_path if "/" in head else self._by_name
                index.setdefault(head if "/" in head else head.lower(), []).append(rule)
                if head.startswith(("/bin/", "/sbin/")):
                    self._by_path.setdefault(f"/usr{head}", []).append(rule)
            case GlobMatch(pattern=pattern):
                # Where /bin is a link, plans say /usr/bin; the longer one first, because an index
                # keeps the first of two equal ones and holds the alias itself.
                if pattern.startswith(("/bin/", "/sbin/")):
                    self._cover(f"/usr{pattern}", rule)
                self._cover(pattern, rule)
            case EffectMatch() | ReadsMatch() | WordsMatch():
                self._every.append(rule)

    def _cover(self, pattern: str, rule: Rule) -> None:
        known = self._covered.get(fold(pattern))
        if known is not None:
            known.append(rule)
            return
        self._covered[fold(pattern)] = alike = [rule]
        self._globs.add(pattern, alike)

    def _concerning(self, argv: tuple[str, ...], file: PinnedFile) -> _Concerning:
        key = (argv[0], file.path, file.realpath)
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[key] = self._find(Called(*key))
        return found

    def _find(self, program: Called) -> _Concerning:
        paths = (program.path, program.realpath)
        listed = [rules for path in paths for rules in self._globs.every(path)]
        named = [self._by_path.get(path, []) for path in paths]
        named += [self._by_name.get(name, []) for name in (*program.names, program.word.lower())]
        vectors = [rule for rule in _once(named) if rule.of(program)]
        return _Concerning(program, _once([*listed, self._every]), vectors)


def _once(lists: Iterable[list[Rule]]) -> list[Rule]:
    return list({rule.number: rule for rules in lists for rule in rules}.values())


NO_RULES = Rules(())
