"""Match the commands that one rule is about: a vector, a pattern of paths, or an effect.

Each kind reads a rule that allows as narrowly, and a rule that asks or denies as widely, as its
words can be meant (invariant 4).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.model.command import PinnedFile, PlannedCommand
from core.model.decision import Decision
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.path_patterns import PathIndex
from core.policy.matching.template_element import Surroundings, below
from core.programs.carriers import bounded, effects, harmless, in_system_directory
from core.programs.profiles.carrier_profile import Effect
from core.programs.required_operands import required_of
from core.programs.wrappers import names_of

# A member looked up on its class costs ten times as much as a module's name.
_READS, _RUNS = Effect.READS, Effect.RUNS


@dataclass(frozen=True, slots=True)
class Called:
    """A program: the word that named it, its invoked and its real path."""

    word: str
    path: str
    realpath: str

    @classmethod
    def of(cls, argv: Sequence[str], file: PinnedFile) -> "Called":
        """Return the program of a vector."""
        return cls(argv[0], file.path, file.realpath)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Return every name and path that it may be called by."""
        return (self.word, self.path, self.realpath, *self.names)

    @property
    def names(self) -> frozenset[str]:
        """Return every name that it may be known by."""
        return names_of(self.word) | names_of(self.path) | names_of(self.realpath)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that a rule is bound to, as it is written and by its real path."""

    path: str
    real: str

    def holds(self, cwd: str, *, allows: bool) -> bool:
        """Return whether a command in a folder, given by its real path, is bound by the rule."""
        return below(self.real, cwd) or (not allows and below(self.path, cwd))


@dataclass(frozen=True, slots=True)
class VectorMatch:
    """A program, named by its path or as it is typed, with exactly these arguments."""

    template: ArgvTemplate
    allows: bool

    @property
    def head(self) -> str:
        """Return the program as the rule names it."""
        return self.template.elements[0]

    def names(self, program: Called) -> bool:
        """Return whether a program is the one that the rule names.

        A bare name is what the fixed search path finds for it. To forbid, any program counts that
        may be known by the name: versions, links, copies elsewhere.
        """
        head = self.head
        if "/" in head:
            paths = {program.path, program.realpath}
            return head in paths or (
                head.startswith(("/bin/", "/sbin/")) and f"/usr{head}" in paths
            )
        if not self.allows:
            return head.lower() in program.names
        place, _, name = program.path.rpartition("/")
        return head == program.word or (head == name and in_system_directory(f"{place}/"))

    def on(
        self, argv: Sequence[str], program: Called, at: Surroundings, *, strict: bool = True
    ) -> bool:
        """Return whether the arguments are those of the rule.

        ``strict``: what a rule that allows leaves to the program's profile must be harmless by it.
        """
        if not self.allows:
            return self.template.may_fit(argv, at, start=1)
        if not self.template.fits(argv, at, start=1):
            return False
        by_profile = strict and self.template.by_profile
        return not by_profile or _passes(program, tuple(argv[1:]))


def _passes(program: Called, arguments: tuple[str, ...]) -> bool:
    """Return whether strict trust takes these arguments of a program that a rule names."""
    required = required_of(program.path.rpartition("/")[2].lower())
    lacking = None if required is None else required.problem(arguments)
    return lacking is None and harmless((program.path, program.realpath), arguments)


@dataclass(frozen=True, slots=True)
class GlobMatch:
    """Any command of the programs that a pattern covers, as in an allowlist; ``~`` is expanded."""

    pattern: str

    def names(self, program: Called) -> bool:
        """Return whether the pattern covers a program."""
        index: PathIndex[bool] = PathIndex()
        index.add(self.pattern, found=True)
        return index.match((program.path, program.realpath)) is not None


@dataclass(frozen=True, slots=True)
class EffectMatch:
    """Any command that can do something, as far as the shipped tables know."""

    effect: Effect

    def decide(self, argv: tuple[str, ...], program: Called, decision: Decision) -> Decision | None:
        """Return what follows for a command, ``None`` if the rule is not about it.

        To allow, nothing beyond reading and this one effect may be possible. To deny, the effect
        must be known; where it is not, or another program would run, a person is asked.
        """
        known, can = _reach(argv[1:], program.path, program.realpath)
        if decision is Decision.ALLOW:
            return decision if known and can <= {_READS, self.effect} else None
        if self.effect in can:
            return decision
        return None if known and _RUNS not in can else Decision.ASK


@lru_cache(maxsize=16_384)
def _reach(arguments: tuple[str, ...], path: str, realpath: str) -> tuple[bool, frozenset[Effect]]:
    """Return what a command can do under both its names, and whether that is surely all.

    The tables describe the system's programs; another one of the same name may do anything.
    """
    paths = dict.fromkeys((path, realpath))
    found = [effects((one, *arguments)) for one in paths]
    can = frozenset().union(*(one for one in found if one is not None))
    surely = None not in found and all(bounded((one, *arguments)) for one in paths)
    return surely and all(map(in_system_directory, paths)), can


def surroundings(command: PlannedCommand, folder: str) -> Surroundings:
    """Return where a command of a plan in ``folder`` runs, and where what it names leads."""
    place = folder if command.cwd is None else command.cwd.path
    spellings = _spellings(command.argv, folder, place) if place != folder else ()
    if not command.operands and not command.links and not spellings:
        return _bare(place)
    bound = {one.path: one.realpath for one in command.operands}
    return Surroundings(place, {**bound, **dict(command.links)}, spellings)


def _spellings(argv: Sequence[str], folder: str, place: str) -> tuple[tuple[str, ...], ...]:
    """Return a command of git in another folder as ``-C`` says it, absolute and relative."""
    if "git" not in names_of(argv[0]):
        return ()
    named = (place, os.path.relpath(place, folder))
    return tuple((argv[0], "-C", one, *argv[1:]) for one in named)


@lru_cache(maxsize=1024)
def _bare(place: str) -> Surroundings:
    return Surroundings(place)
