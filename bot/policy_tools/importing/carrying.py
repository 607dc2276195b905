"""Turn what another product states into allowlist entries and rules, never looser than it was.

- An exact command that was allowed becomes an entry with exactly these arguments.
- A prefix that was allowed becomes the prefix alone, and with up to two more words ``<ANY>`` (no
  options) where the tables know that the program then runs no other one. A bare program becomes its
  path, under which strict trust still asks about what it does not know.
- What was asked about or denied becomes a rule: a pattern of paths for a bare program, else vectors
  of up to twelve words.
- Shells, wrappers and interpreters are never listed with open arguments.
- What narrows and could not be carried over takes the allows with it that it might be about.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bot.policy_tools.entries import is_interpreter
from bot.policy_tools.importing.statements import Stated, Statement, Unstated
from core.model.command import PinnedFile
from core.model.decision import Decision, Promise
from core.model.identity import AgentId
from core.policy.carrier_profiles import Effect
from core.policy.carriers import effects
from core.policy.elements import looks_typed
from core.policy.entry_lint import never_counts
from core.policy.path_index import complaint, is_glob
from core.policy.wrappers import names_of, wrapper_kind

LONGEST = 12
"""Words of the longest vector that a rule for a prefix is written for."""
_MORE = 2
_ANY = "<ANY>"
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-")
Find = Callable[[str], PinnedFile | None]


@dataclass(frozen=True, slots=True)
class ImportedRule:
    """A rule that asks or denies; exactly one of ``argv`` and ``glob`` is set."""

    decide: Decision
    reason: str
    argv: tuple[str, ...] | None = None
    glob: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """An allowlist entry of one agent."""

    agent: AgentId
    entry: Promise


@dataclass(frozen=True, slots=True)
class Left:
    """What was not carried over, or not wholly, and why."""

    place: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What came over, and what did not."""

    rules: tuple[ImportedRule, ...]
    entries: tuple[ImportedEntry, ...]
    left: tuple[Left, ...]


def carried(statements: Sequence[Statement], name: str, find: Find, home: str) -> Imported:
    """Carry statements over.

    ``find`` looks a program up on the search path; ``home`` is what ``~`` stands for.
    """
    carrier = _Carrier(name, find, home)
    for one in statements:
        carrier.narrow(one)
    for one in statements:
        if isinstance(one, Stated) and one.decide is Decision.ALLOW:
            carrier.allow(one)
    return carrier.imported()


class _Carrier:
    def __init__(self, name: str, find: Find, home: str) -> None:
        self._name, self._find, self._home = name, find, home
        self._rules: dict[ImportedRule, None] = {}
        self._entries: dict[ImportedEntry, None] = {}
        self._left: dict[Left, None] = {}
        self._blocks: list[Unstated] = []
        self._narrowed: set[str] = set()

    def imported(self) -> Imported:
        """Return what was carried so far."""
        return Imported(tuple(self._rules), tuple(self._entries), tuple(self._left))

    def narrow(self, one: Statement) -> None:
        """Carry what asks or denies, and remember what cannot be."""
        if isinstance(one, Unstated):
            self._leave(one, one.why)
            if one.narrows:
                self._blocks.append(one)
            return
        if one.decide is Decision.ALLOW:
            return
        problem = self._unwritable(one)
        if problem is not None:
            self._leave(one, problem)
            self._blocks.append(Unstated(one.place, one.text, problem, narrows=True, rank=one.rank))
            return
        reason = one.reason or f"from {self._name}, {one.place}"
        for rule in _rules(one, reason):
            self._rules[rule] = None
        if one.prefix and len(one.words) > 1:
            self._narrowed |= names_of(one.words[0])
            why = f"carried over for up to {LONGEST} words; a longer command asks unless listed"
            self._leave(one, why)

    def allow(self, one: Stated) -> None:
        """Carry what allows, as far as nothing that narrows was lost."""
        problem = self._blocked(one)
        found = problem or (self._of_pattern(one) if one.pattern else self._of_words(one))
        if isinstance(found, str):
            self._leave(one, found)
            return
        for entry in found:
            why = never_counts(entry.pattern, entry.argv)
            if why is None:
                self._entries[ImportedEntry(one.agent, entry)] = None
            else:
                self._leave(one, why)

    def _leave(self, one: Statement, why: str) -> None:
        self._left[Left(one.place, one.text, why)] = None

    def _unwritable(self, one: Stated) -> str | None:
        head = one.words[0]
        if "/" in head and not head.startswith("/"):
            return "a rule cannot name a program by a relative path"
        if "/" in head and complaint(head, self._home) is not None:
            return "no program is ever found under such a path, so its rule would never match"
        if not set(head) <= _NAME | {"/"} or any(map(looks_typed, one.words)):
            return "a word of it means something else in a rule"
        if head == "cd":
            return "cd is a step of Sayso's own, which no rule sees"
        longest = LONGEST - 1 if one.prefix else LONGEST
        return f"it has more than {LONGEST} words" if len(one.words) > longest else None

    def _blocked(self, one: Stated) -> str | None:
        for block in self._blocks:
            about = block.program is None or not names_of(block.program).isdisjoint(
                names_of(one.words[0])
            )
            if about and block.rank >= one.rank:
                return f"{block.place} may narrow it and could not be carried over"
        return None

    def _of_pattern(self, one: Stated) -> tuple[Promise, ...] | str:
        (pattern,) = one.words
        why = complaint(pattern, self._home)
        if why is not None:
            return why
        names = names_of(pattern)
        if not is_glob(pattern.rpartition("/")[2]):
            why = _unlistable(names, open_ended=True)
        lost = bool(self._narrowed) if is_glob(pattern) else not self._narrowed.isdisjoint(names)
        if lost:
            why = "another rule narrows the program"
        return (Promise(pattern),) if why is None else why

    def _of_words(self, one: Stated) -> tuple[Promise, ...] | str:
        file = self._file(one.words[0])
        if file is None:
            return f"{one.words[0]!r} is not found on tools.exec.searchPath"
        if one.paths and file.path not in one.paths:
            return f"{file.path} is none of the files that the name may stand for"
        if any(map(looks_typed, one.words)):
            return "a word of it means something else in an entry"
        names = names_of(one.words[0]) | names_of(file.path) | names_of(file.realpath)
        problem = _unlistable(names, open_ended=one.prefix)
        if problem is not None:
            return problem
        return self._prefixed(one, file) if one.prefix else self._exact(one, file)

    def _file(self, word: str) -> PinnedFile | None:
        return None if "/" in word and not word.startswith("/") else self._find(word)

    def _exact(self, one: Stated, file: PinnedFile) -> tuple[Promise, ...] | str:
        if len(one.words) > LONGEST and not self._narrowed.isdisjoint(names_of(one.words[0])):
            return "it is longer than the rules that narrow its program"
        return (Promise(file.path, one.words[1:]),)

    def _prefixed(self, one: Stated, file: PinnedFile) -> tuple[Promise, ...] | str:
        arguments = one.words[1:]
        if not arguments:
            if self._narrowed.isdisjoint(names_of(one.words[0])):
                return (Promise(file.path),)
            return "another rule narrows the program, so that its path alone would be too much"
        if len(one.words) + _MORE > LONGEST:
            return f"it has more than {LONGEST - _MORE} words"
        exact = Promise(file.path, arguments)
        if _may_run_others(file, arguments):
            self._leave(one, "with more words it may run other programs; only alone carried over")
            return (exact,)
        self._leave(one, f"carried over with up to {_MORE} more words and no options; else it asks")
        open_ended = (
            Promise(file.realpath, (*arguments, *[_ANY] * n)) for n in range(1, _MORE + 1)
        )
        return (exact, *open_ended)


def _may_run_others(file: PinnedFile, arguments: tuple[str, ...]) -> bool:
    """Tell whether the program may run others, under its invoked or its real name."""
    known = [effects((path, *arguments)) for path in (file.path, file.realpath)]
    return any(one is None or Effect.RUNS in one for one in known)


def _unlistable(names: frozenset[str], *, open_ended: bool) -> str | None:
    if wrapper_kind(names, 0) or wrapper_kind(names, 1):
        return "it is a wrapper, shell or builtin; what it runs is judged instead"
    if open_ended and is_interpreter(names):
        return "an interpreter with open arguments runs anything; a person is asked"
    return None


def _rules(one: Stated, reason: str) -> Iterable[ImportedRule]:
    head = one.words[0]
    if not one.prefix:
        return (ImportedRule(one.decide, reason, argv=one.words),)
    if len(one.words) == 1:
        glob = head if head.startswith("/") else f"/**/{head}"
        return (ImportedRule(one.decide, reason, glob=glob),)
    more = range(LONGEST - len(one.words) + 1)
    return tuple(ImportedRule(one.decide, reason, argv=(*one.words, *[_ANY] * n)) for n in more)
