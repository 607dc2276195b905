"""Find code, or a program to run, in arguments: it prompts under either trust.

``data`` has three kinds of knowledge: options that carry code (``carriers.toml``, ``[inline]``),
patterns of whole vectors (``inline.toml``, ``[patterns]``), and for programs whose first operand is
a script (awk, sed) a profile of the arguments whose code starts no other programs. What a program
starts by a name among its arguments (``[starts]``) is looked at as if it were called itself.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeVar

from core.programs.carriers import inline_code, inline_options
from core.programs.profiles.load_profiles import profile_of
from core.programs.profiles.profile import Profile
from core.programs.profiles.tables import section, table, words
from core.programs.started import Start, Starter, names_started

_PLACEHOLDER = re.compile(r"<([A-Za-z_]+)>")
_Built = TypeVar("_Built")
_ANYTHING = "<any>"
_BRACKETS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|<any>|[()|]", re.DOTALL)
_DEEPEST = 4


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
    program's own options.
    """

    options: tuple[tuple[str, str], ...]
    patterns: tuple[tuple[str, Chain], ...]
    scripts: tuple[tuple[str, Profile], ...]
    starters: tuple[tuple[str, Starter], ...]
    modes: frozenset[str] | None

    def problem(self, arguments: Sequence[str]) -> str | None:
        """Name the argument that carries code or a program to run, ``None`` if there is none."""
        return _problem(self, tuple(arguments))

    def looked_for(self, arguments: Sequence[str], depth: int = 0) -> str | None:
        """Return the same, without the cache; ``depth`` programs start each other around it."""
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

    def _by_started(self, arguments: Sequence[str], depth: int) -> str | None:
        if depth > _DEEPEST:
            return "more programs start each other than are looked at"
        for name, starter in self.starters:
            for started, rest in starter.started(arguments):
                found = _of_started(starter, started, rest, depth)
                if found is not None:
                    return f"{name} starts a program: {found}"
        return None


def _of_started(starter: Starter, name: str, rest: Sequence[str], depth: int) -> str | None:
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
    replaced = words(table("inline"), "positional")
    options = tuple(one for one in inline_options(names) if one[0] not in replaced)
    patterns = _each_once(names, _patterns())
    scripts = tuple((name, one) for name in sorted(names) for one in _scripts().get(name, ()))
    starters = _each_once(names, _starters())
    known = frozenset(one[0] for one in (*options, *patterns, *scripts, *starters))
    return Inline(options, patterns, scripts, starters, _modes_of(known)) if known else None


def _each_once(
    names: frozenset[str], known: Mapping[str, Iterable[_Built]]
) -> tuple[tuple[str, _Built], ...]:
    """Return what is known under any of the names, with the first; `python3` is python as well."""
    found: dict[_Built, str] = {}
    for name in sorted(names):
        for one in known.get(name, ()):
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
def _patterns() -> dict[str, tuple[Chain, ...]]:
    """Return the patterns of each program; ``<NAME>`` in one, or in a piece, means that piece.

    Raises:
        KeyError: a pattern names a piece that does not exist.
    """
    return _by_name("patterns", _chained)


@cache
def _starters() -> dict[str, tuple[Starter, ...]]:
    found: dict[str, tuple[Starter, ...]] = {}
    for kind in Start:
        for name, heads in _by_name(kind, lambda one: re.compile(_filled(one))).items():
            found[name] = found.get(name, ()) + tuple(Starter(kind, head) for head in heads)
    return found


def _by_name(holder: str, build: Callable[[str], _Built]) -> dict[str, tuple[_Built, ...]]:
    known = section(table("inline"), holder)
    found: dict[str, tuple[_Built, ...]] = {}
    for names in known:
        built = tuple(build(one) for one in words(known, names))
        for name in names.split():
            found[name] = found.get(name, ()) + built
    return found


def _chained(pattern: str) -> Chain:
    """Cut a pattern where any words may stand, except within its brackets and alternatives."""
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
