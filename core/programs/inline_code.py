"""Find code, or a program to run, in arguments: it prompts under either trust.

``data`` has three kinds of knowledge: options that carry code (``carriers.toml``, ``[inline]``),
patterns of whole vectors (``inline.toml``, ``[patterns]``), and for programs whose first operand is
a script (awk, sed) a profile of the arguments whose code starts no other programs.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from core.programs.carriers import inline_code, inline_options
from core.programs.profiles.load_profiles import profile_of
from core.programs.profiles.profile import Profile
from core.programs.profiles.tables import section, table, words

_PLACEHOLDER = re.compile(r"<([A-Za-z_]+)>")


@dataclass(frozen=True, slots=True, eq=False)
class Inline:
    """What is known about the code that one program takes, under each of its names.

    ``patterns`` are searched in the arguments with a NUL before, between and after them.
    ``modes`` are the first operands that are not a script, ``None`` if a script does not end the
    program's own options.
    """

    options: tuple[tuple[str, str], ...]
    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    scripts: tuple[tuple[str, Profile], ...]
    modes: frozenset[str] | None

    def problem(self, arguments: Sequence[str]) -> str | None:
        """Name the argument that carries code or a program to run, ``None`` if there is none."""
        return _problem(self, tuple(arguments))

    def looked_for(self, arguments: Sequence[str]) -> str | None:
        """Return the same, without the cache."""
        own = arguments[:1] if self.ends_at_script(arguments) else arguments
        found = inline_code(self.options, own) if self.options else None
        return found or self._by_pattern(own) or self._by_script(own)

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
            found = pattern.search(joined)
            if found is not None:
                words_of = found[0].strip("\0").replace("\0", " ")
                return f"{name} takes code or a program from its argument {words_of!r}"
        return None

    def _by_script(self, arguments: Sequence[str]) -> str | None:
        for name, profile in self.scripts:
            problem = profile.problem(arguments)
            if problem is not None:
                return f"{name} takes code from its arguments: {problem}"
        return None


@lru_cache(maxsize=4096)  # agents repeat themselves, and a pattern takes as long as a parse
def _problem(inline: Inline, arguments: tuple[str, ...]) -> str | None:
    return inline.looked_for(arguments)


@cache  # one for each set of names, so that two of them are the same object
def inline_of(names: frozenset[str]) -> Inline | None:
    """Return what is known about a program's code by its names, ``None`` if it takes none."""
    replaced = words(table("inline"), "positional")
    options = tuple(one for one in inline_options(names) if one[0] not in replaced)
    patterns = tuple((name, one) for name in sorted(names) for one in _patterns().get(name, ()))
    scripts = tuple((name, one) for name in sorted(names) for one in _scripts().get(name, ()))
    known = frozenset(one[0] for one in (*options, *patterns, *scripts))
    return Inline(options, patterns, scripts, _modes_of(known)) if known else None


def _modes_of(names: frozenset[str]) -> frozenset[str] | None:
    found = [_modes().get(name) for name in names]
    return None if None in found else frozenset(mode for one in found for mode in one or ())


@cache
def _modes() -> dict[str, tuple[str, ...]]:
    known = section(table("inline"), "ends_at_script")
    return {name: words(known, names) for names in known for name in names.split()}


@cache
def _patterns() -> dict[str, tuple[re.Pattern[str], ...]]:
    """Return the patterns of each program; ``<NAME>`` in one, or in a piece, means that piece.

    Raises:
        KeyError: a pattern names a piece that does not exist.
    """
    holder = table("inline")
    pieces = section(holder, "pieces")
    found: dict[str, tuple[re.Pattern[str], ...]] = {}
    known = section(holder, "patterns")
    for names in known:
        built = tuple(re.compile(_filled(one, pieces)) for one in words(known, names))
        for name in names.split():
            found[name] = found.get(name, ()) + built
    return found


def _filled(pattern: str, pieces: Mapping[str, object]) -> str:
    return _PLACEHOLDER.sub(lambda one: _filled("".join(words(pieces, one[1])), pieces), pattern)


@cache
def _scripts() -> dict[str, tuple[Profile, ...]]:
    known = section(table("inline"), "scripts")
    found: dict[str, tuple[Profile, ...]] = {}
    for names in known:
        built = profile_of(section(known, names))
        found |= dict.fromkeys(names.split(), (built,))
    return found
