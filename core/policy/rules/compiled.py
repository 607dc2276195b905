"""Compile the rules and lists of each agent once, and report every mistake in them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.errors import ConfigError
from core.model.command import PinnedFile
from core.model.decision import Decision
from core.model.identity import AgentId
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.matchers import EffectMatch, Folder, GlobMatch, VectorMatch
from core.policy.matching.option_sets import option_set, shipped_sets
from core.policy.matching.path_patterns import at_home, complaint, is_glob
from core.policy.matching.template_element import OptionSet, Surroundings, below
from core.policy.matching.word_pattern import WordsMatch
from core.policy.rules.capabilities import Capabilities
from core.policy.rules.file_denials import ReadsMatch
from core.policy.rules.rules import NO_RULES, Match, Rule, Rules
from core.policy.rules.skills import NO_SKILLS, Find, Skills, skills_of
from core.programs.profiles.carrier_profile import Effect
from core.programs.safe_bins import profiled
from core.settings import CoreSettings
from core.settings.rules import (
    CapabilitiesSection,
    MatchSection,
    OptionSetSection,
    RootEntry,
    RuleSection,
)

KeyPath = tuple[str | int, ...]
Real = Callable[[str], str]
"""Returns the real path of a folder; ``str`` takes each as its own."""
EXAMPLE_FOLDER = "/workspace"
"""Where the vectors of examples are said to run; their programs are in /usr/bin."""


class BadRule(ConfigError):
    """A rule cannot be used. ``path`` leads to it in the configuration, the text says why."""

    def __init__(self, path: KeyPath, message: str) -> None:
        self.path = path
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Provisions:
    """What one agent's commands are held to besides policy and allowlist."""

    rules: Rules = NO_RULES
    capabilities: Capabilities | None = None
    skills: Skills = NO_SKILLS


NO_PROVISIONS = Provisions()


@dataclass(frozen=True, slots=True)
class Compiled:
    """The provisions of all agents; those that the configuration does not name share one."""

    everyone: Provisions = NO_PROVISIONS
    agents: Mapping[AgentId, Provisions] = field(default_factory=dict)
    skills: Skills = NO_SKILLS

    def of(self, agent: AgentId, *, skilled: bool = False) -> Provisions:
        """Return an agent's provisions; ``skilled`` where its ``autoAllowSkills`` is on."""
        found = self.agents.get(agent, self.everyone)
        return replace(found, skills=self.skills) if skilled else found


NO_COMPILED = Compiled()


def compiled(
    settings: CoreSettings, home: str, find: Find | None = None, real: Real = str
) -> Compiled:
    """Compile the rules, capabilities and skills of a configuration.

    ``home`` is the folder that ``~`` means; ``find`` resolves the programs of skills, without
    it there are none. ``real`` returns the real path of a root, which may be behind a link.

    Raises:
        BadRule: a rule is malformed, one of its examples fails, or a safe bin has no
            profile.
    """
    _check_safe_bins(settings)
    reader = _Reader(settings.tools.exec.roots, home, real, settings.tools.exec.option_sets)
    path: KeyPath = ("tools", "exec", "rules")
    shared = reader.rules(settings.tools.exec.rules, path, "tools.exec.rules")
    agents = {}
    for number, entry in enumerate(settings.agents.entries):
        path = ("agents", "list", number, "tools", "exec", "rules")
        label = f"agents.list[{entry.id}].tools.exec.rules"
        own = reader.rules(entry.tools.exec.rules, path, label)
        agents[entry.id] = Provisions(
            _numbered((*own, *shared)), reader.granted(entry.capabilities)
        )
    skills = NO_SKILLS if find is None else skills_of(settings.skills.bins, find)
    return Compiled(Provisions(_numbered(shared)), agents, skills)


def _check_safe_bins(settings: CoreSettings) -> None:
    """Refuse a safe bin without a profile: it would have no effect (S1 "Safe bins")."""
    shared: KeyPath = ("tools", "exec", "safeBins")
    places: list[tuple[KeyPath, Iterable[str]]] = [(shared, settings.tools.exec.safe_bins)]
    for number, entry in enumerate(settings.agents.entries):
        path: KeyPath = ("agents", "list", number, *shared)
        places.append((path, entry.tools.exec.safe_bins or ()))
    for path, names in places:
        unknown = next((name for name in names if name not in profiled()), None)
        if unknown is not None:
            known = ", ".join(sorted(profiled()))
            raise BadRule(
                path,
                f"{unknown!r} cannot be a safe bin: nothing is known about what it does with "
                f"its arguments. Those that can are {known}; let others run by an allowlist entry "
                "or rule.",
            )


def rule_mistakes(
    rules: Iterable[tuple[KeyPath, RuleSection]],
    roots: Iterable[RootEntry],
    home: str,
    sets: Mapping[str, OptionSetSection] | None = None,
) -> tuple[BadRule, ...]:
    """Return what is wrong with rules, one mistake for each; they are at these paths."""
    found: list[BadRule] = []
    try:
        reader = _Reader(roots, home, str, sets or {})
    except BadRule as error:
        return (error,)
    for path, section in rules:
        try:
            reader.rule(section, path, "")
        except BadRule as error:
            found.append(error)
    return tuple(found)


def _numbered(rules: Iterable[Rule]) -> Rules:
    return Rules([replace(rule, number=number) for number, rule in enumerate(rules)])


class _Reader:
    """Read the sections of one configuration."""

    def __init__(
        self,
        roots: Iterable[RootEntry],
        home: str,
        real: Real,
        sets: Mapping[str, OptionSetSection],
    ) -> None:
        self._home = home
        self._real = real
        self._roots = {root.name: self._folder(root.path) for root in roots}
        self._sets = {**shipped_sets(), **{name: self._set(name, sets[name]) for name in sets}}

    def _set(self, name: str, section: OptionSetSection) -> OptionSet:
        path: KeyPath = ("tools", "exec", "optionSets", name)
        if name in shipped_sets():
            raise BadRule(path, f"The option set {name!r} is shipped. Give yours another name.")
        values = {
            option: (taken,) if isinstance(taken, str) else taken
            for option, taken in section.values.items()
        }
        try:
            return option_set(
                name, section.flags, values, clusters=section.clusters, roots=self._roots
            )
        except ConfigError as error:
            raise BadRule(path, str(error)) from error

    def granted(self, section: CapabilitiesSection | None) -> Capabilities | None:
        """Return an agent's capabilities, ``None`` where it is not limited."""
        if section is None:
            return None
        write = tuple(map(self._folder, section.files.write))
        return Capabilities(
            tools=frozenset(section.tools),
            read=self._both_names(tuple(map(self._folder, section.files.read)), write),
            write=self._both_names(write, write),
        )

    def _both_names(self, roots: tuple[str, ...], write: tuple[str, ...]) -> tuple[str, ...]:
        """Return folders and their real paths; not for one that the agent could make a link."""
        fixed = (
            root for root in roots if not any(one != root and below(one, root) for one in write)
        )
        return tuple(dict.fromkeys((*roots, *map(self._real, fixed))))

    def rules(self, sections: Sequence[RuleSection], path: KeyPath, label: str) -> tuple[Rule, ...]:
        """Return the rules of one list, their examples checked.

        Raises:
            BadRule: see ``compiled``.
        """
        return tuple(
            self.rule(section, (*path, number), f"{label}[{number}]")
            for number, section in enumerate(sections)
        )

    def rule(self, section: RuleSection, path: KeyPath, place: str) -> Rule:
        """Return one rule, its examples checked.

        Raises:
            BadRule: see ``compiled``.
        """
        decide = Decision[section.decide.upper()]
        try:
            match = self._match(section.match, decide)
        except ConfigError as error:
            raise BadRule((*path, "match"), str(error)) from error
        cwd = section.match.cwd
        within = None if cwd is None else self._bound(self._folder(cwd))
        rule = Rule(place, 0, match, decide, section.tier, section.reason, within)
        for key, wanted in (("match", True), ("miss", False)):
            for number, argv in enumerate(getattr(section.examples, key)):
                if _about(rule, argv) is not wanted:
                    where = (*path, "examples", key, number)
                    what = "is not matched by its rule" if wanted else "is matched by its rule"
                    raise BadRule(where, f"the example {list(argv)} {what}; correct one of the two")
        return rule

    def _match(self, section: MatchSection, decide: Decision) -> Match:
        if section.argv is not None:
            template = ArgvTemplate.of_rule(section.argv, self._roots, self._real, self._sets)
            _check_program(section.argv[0])
            return VectorMatch(template, allows=decide is Decision.ALLOW)
        if section.glob is not None:
            why = complaint(section.glob, self._home)
            if why is not None:
                raise ConfigError(f"The pattern {section.glob!r} can never match: {why}.")
            return GlobMatch(at_home(section.glob, self._home))
        if section.reads is not None:
            return self._reads(section.reads, decide)
        if section.words is not None:
            return _words(section.words, decide)
        effect = Effect(str(section.effect))
        if decide is Decision.ALLOW and effect is Effect.RUNS:
            raise ConfigError("A rule cannot allow the effect runs: that would allow everything.")
        return EffectMatch(effect)

    def _reads(self, pattern: str, decide: Decision) -> ReadsMatch:
        if decide is Decision.ALLOW:
            raise ConfigError(
                "match.reads asks or denies: write decide: ask or deny. What may be read without a "
                "question is said by match.argv with <PATH:root>."
            )
        why = complaint(pattern, self._home)
        if why is not None:
            raise ConfigError(f"The path {pattern!r} under match.reads can never match: {why}.")
        path = at_home(pattern, self._home)
        return ReadsMatch(tuple(dict.fromkeys((path, self._real_of(path)))), self._home.rstrip("/"))

    def _real_of(self, pattern: str) -> str:
        """Return a pattern whose literal beginning is replaced by its real path."""
        parts = pattern.split("/")
        wild = next((i for i, part in enumerate(parts) if is_glob(part)), len(parts))
        real = self._real("/".join(parts[:wild]) or "/")
        return "/".join((real.rstrip("/"), *parts[wild:])) or "/"

    def _bound(self, path: str) -> Folder:
        return Folder(path, self._real(path))

    def _folder(self, path: str) -> str:
        home = self._home.rstrip("/")
        return (home or "/") if path == "~" else at_home(path, home)


def _words(pattern: str, decide: Decision) -> WordsMatch:
    if decide is Decision.ALLOW:
        raise ConfigError(
            "match.words asks or denies: write decide: ask or deny. Words that may be used are "
            "said one by one by match.argv."
        )
    return WordsMatch(pattern)


def _check_program(word: str) -> None:
    if "<" in word or ("/" in word and not word.startswith("/")):
        raise ConfigError(
            f"The program {word!r} must be named by a bare name or an absolute path, not by a "
            "template or a relative path."
        )
    why = _unmeant(word)
    if why is not None:
        raise ConfigError(f"The program {word!r} can never match: {why}.")


def _unmeant(word: str) -> str | None:
    """Return why no program ever has this name, ``None`` if one may."""
    if is_glob(word):
        return "a pattern belongs under `glob`"
    if "/" in word:
        return complaint(word, "/")
    if any(character.isspace() for character in word):
        return f"it holds a blank; write each word separately: {json.dumps(word.split())}"
    return None


def _about(rule: Rule, argv: Sequence[str]) -> bool:
    """Return whether a rule is about an example."""
    path = argv[0] if argv[0].startswith("/") else f"/usr/bin/{argv[0]}"
    file = PinnedFile(path, path, 0, 0, 0, "")
    folder = EXAMPLE_FOLDER if rule.within is None else rule.within.real
    (looked,) = Rules([rule]).looked_at(tuple(argv), file, Surroundings(folder))
    return looked.decision is not None
