"""Find code, or a program to run, in arguments: it prompts under either trust.

``data`` has three kinds of knowledge: options that carry code (``carriers.toml``, ``[inline]``),
patterns of whole vectors (``inline.toml``, ``[patterns]``), and for programs whose first operand is
a script (awk, sed) a profile of the arguments whose code starts no other programs. What a program
starts by a name among its arguments (``[starts]``) is looked at as if it were called itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple, TypeVar

from core.programs.carriers import inline_code, inline_options
from core.programs.profiles.load_profiles import profile_of
from core.programs.profiles.profile import Profile
from core.programs.profiles.tables import section, table, words
from core.programs.started import Start, Starter, names_started

_PLACEHOLDER = re.compile(r"<([A-Za-z_]+)>")
_Built = TypeVar("_Built")
_ANYTHING = "<any>"
_BRACKETS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|<any>|[()|]", re.DOTALL)
_TEXT = re.compile(r"[\s;&|`$()<>\"'\\]")
DEEPEST_START = 4
"""How many programs that start each other are looked at."""

MOST_NAMES = 64
"""How many words that may be the name of what a program starts are looked at."""

_MOST_COMMANDS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Patterns that have to be found one after the other, with any words in between.

    As one pattern, its end would be looked for again from each of its beginnings.
    """

    first: re.Pattern[str]
    others: tuple[re.Pattern[str], ...]

    def text(self, begun: re.Match[str]) -> str | None:
        """Return the text from a match of the first to the last, ``None`` if one is missing."""
        end = begun.end()
        for link in self.others:
            found = link.search(begun.string, end)
            if found is None:
                return None
            end = found.end()
        return begun.string[begun.start() : end]


@dataclass(frozen=True, slots=True, eq=False)
class Inline:
    """What is known about the code that one program takes, under each of its names.

    ``patterns`` are searched in the arguments with a NUL before, between and after them.
    ``modes`` are the first operands that are not a script, ``None`` if a script does not end the
    program's own options. ``leading`` is the subcommand in the program's name: `git-rebase`.
    """

    options: tuple[tuple[str, str], ...]
    patterns: tuple[tuple[str, Chain], ...]
    scripts: tuple[tuple[str, Profile], ...]
    starters: tuple[tuple[str, Starter], ...]
    modes: frozenset[str] | None
    leading: tuple[str, ...]

    def problem(self, arguments: Sequence[str]) -> str | None:
        """Name the argument that carries code or a program to run, ``None`` if there is none."""
        return _problem(self, tuple(arguments))

    def looked_for(self, arguments: Sequence[str], depth: int = 0) -> str | None:
        """Return the same, without the cache; ``depth`` programs start each other around it."""
        arguments = (*self.leading, *arguments)
        own = arguments[:1] if self.ends_at_script(arguments) else arguments
        found = inline_code(self.options, own) if self.options else None
        found = found or self._by_pattern(own) or self._by_script(own)
        return found or (self._by_started(arguments, depth) if self.starters else None)

    def ends_at_script(self, arguments: Sequence[str]) -> bool:
        """Return whether the first argument is a script, which gets all others: `node x.js -e`."""
        if self.modes is None or not arguments:
            return False
        return arguments[0][:1] not in {"", "-"} and arguments[0] not in self.modes

    def _by_pattern(self, arguments: Sequence[str]) -> str | None:
        if not self.patterns:
            return None
        joined = "\0".join(("", *arguments, ""))
        for name, pattern in self.patterns:
            begun = pattern.first.search(joined)
            found = None if begun is None else pattern.text(begun)
            if found is not None:
                words_of = found.strip("\0").replace("\0", " ")
                return f"{name} takes code or a program from its argument {words_of!r}"
        return None

    def _by_script(self, arguments: Sequence[str]) -> str | None:
        for name, profile in self.scripts:
            problem = profile.problem(arguments)
            if problem is not None:
                return f"{name} takes code from its arguments: {problem}"
        return None

    def commands(self, arguments: Sequence[str]) -> Iterator[tuple[Start, tuple[str, ...]]]:
        """Yield each command that the program may start, by a name among its arguments."""
        for _, starter in self.starters:
            for name, rest in islice(starter.started(arguments), MOST_NAMES):
                yield starter.kind, (name, *rest)

    def _by_started(self, arguments: Sequence[str], depth: int) -> str | None:
        if depth > DEEPEST_START:
            return "more programs start each other than are looked at"
        for name, starter in self.starters:
            for count, (started, rest) in enumerate(starter.started(arguments)):
                found = _of_started(starter, started, rest, depth)
                if count == MOST_NAMES:
                    found = "more words may be its name than are looked at"
                if found is not None:
                    return f"{name} starts a program: {found}"
        return None


class Started(NamedTuple):
    """A command that a program may start: its name and its words. ``by`` is the program's name."""

    by: str
    kind: Start
    command: tuple[str, ...]


@lru_cache(maxsize=256)  # a plan asks several times
def commands_started(argv: tuple[str, ...]) -> tuple[Started, ...]:
    """Return each command that a command, or one that it starts, may start by a name: `uv run x`.

    Each word is the name of one of them at most for each program that starts it.
    """
    seen: set[tuple[str, Start, int]] = set()
    level, started = [argv], list[Started]()
    for _ in range(DEEPEST_START + 1):
        found = [one for outer in level for one in _started_by(outer, seen)]
        started += found
        level = [one.command for one in found]
    return tuple(started)


def _started_by(argv: Sequence[str], seen: set[tuple[str, Start, int]]) -> Iterator[Started]:
    inline = inline_of(names_started(argv[0])) if argv[0] else None
    for kind, command in () if inline is None else inline.commands(argv[1:]):
        key = (argv[0], kind, len(command))
        if key not in seen and len(seen) < _MOST_COMMANDS:
            seen.add(key)
            yield Started(argv[0], kind, command)


@lru_cache(maxsize=1024)
def is_starter(path: str) -> bool:
    """Return whether a program may start another that is named among its arguments."""
    inline = inline_of(names_started(path))
    return inline is not None and bool(inline.starters)


def _of_started(starter: Starter, name: str, rest: Sequence[str], depth: int) -> str | None:
    if starter.kind is Start.PROGRAM and _TEXT.search(name):
        return f"{name!r} may be a text for a shell"
    kind = starter.wrapper(name, len(rest))
    if kind is not None:
        return kind
    inline = inline_of(names_started(name))
    return None if inline is None else inline.looked_for(rest, depth + 1)


@lru_cache(maxsize=4096)  # agents repeat themselves, and a pattern takes as long as a parse
def _problem(inline: Inline, arguments: tuple[str, ...]) -> str | None:
    return inline.looked_for(arguments)


@cache  # one for each set of names, so that two of them are the same object
def inline_of(names: frozenset[str]) -> Inline | None:
    """Return what is known about a program's code by its names, ``None`` if it takes none."""
    behind = sorted(one.removeprefix("git-") for one in names if one.startswith("git-"))
    names |= frozenset(("git",)) if behind else frozenset()
    replaced = words(table("inline"), "positional")
    options = tuple(one for one in inline_options(names) if one[0] not in replaced)
    patterns = _each_once(names, lambda name: map(_chained, _texts("patterns").get(name, ())))
    scripts = tuple((name, one) for name in sorted(names) for one in _scripts().get(name, ()))
    starters = _each_once(names, _starters_of)
    known = frozenset(one[0] for one in (*options, *patterns, *scripts, *starters))
    if not known:
        return None
    return Inline(options, patterns, scripts, starters, _modes_of(known), tuple(behind[:1]))


def _each_once(
    names: frozenset[str], known: Callable[[str], Iterable[_Built]]
) -> tuple[tuple[str, _Built], ...]:
    """Return what is known under any of the names, with the first; `python3` is python as well."""
    found: dict[_Built, str] = {}
    for name in sorted(names):
        for one in known(name):
            found.setdefault(one, name)
    return tuple((name, one) for one, name in found.items())


def _modes_of(names: frozenset[str]) -> frozenset[str] | None:
    found = [_modes().get(name) for name in names]
    return None if None in found else frozenset(mode for one in found for mode in one or ())


@cache
def _modes() -> dict[str, tuple[str, ...]]:
    known = section(table("inline"), "ends_at_script")
    return {name: words(known, names) for names in known for name in names.split()}


@cache
def _texts(holder: str) -> Mapping[str, tuple[str, ...]]:
    """Return the patterns of each program as they are written; compiling all takes 80 ms."""
    known = section(table("inline"), holder)
    found: dict[str, tuple[str, ...]] = {}
    for names in known:
        for name in names.split():
            found[name] = found.get(name, ()) + words(known, names)
    return found


def _starters_of(name: str) -> Iterator[Starter]:
    for kind in Start:
        yield from (_starter(kind, head) for head in _texts(kind).get(name, ()))


@cache
def _starter(kind: Start, head: str) -> Starter:
    return Starter(kind, re.compile(_filled(head)))


@cache
def _chained(pattern: str) -> Chain:
    """Cut a pattern where any words may stand, except within its brackets and alternatives.

    ``<NAME>`` in it, or in a piece, means that piece.

    Raises:
        KeyError: it names a piece that does not exist.
    """
    text = _filled(pattern, kept=_ANYTHING)
    depth, cuts = 0, [0]
    for one in _BRACKETS.finditer(text):
        depth += {"(": 1, ")": -1}.get(one[0], 0)
        if one[0] == "|" and not depth:
            cuts = [0]
            break
        if one[0] == _ANYTHING and not depth:
            cuts += [one.start(), one.end()]
    cuts.append(len(text))
    links = [text[start:end] for start, end in zip(cuts[::2], cuts[1::2], strict=True)]
    first, *others = (_filled(one) for one in links)
    return Chain(re.compile(first), tuple(re.compile(f"(?<=\0)(?:{one})") for one in others))


def _filled(pattern: str, kept: str = "") -> str:
    """Return a pattern with its pieces filled in, except for one that is kept as it is."""
    pieces = section(table("inline"), "pieces")

    def piece(one: re.Match[str]) -> str:
        return one[0] if one[0] == kept else _filled("".join(words(pieces, one[1])), kept)

    return _PLACEHOLDER.sub(piece, pattern)


@cache
def _scripts() -> dict[str, tuple[Profile, ...]]:
    known = section(table("inline"), "scripts")
    found: dict[str, tuple[Profile, ...]] = {}
    for names in known:
        built = profile_of(section(known, names))
        found |= dict.fromkeys(names.split(), (built,))
    return found
