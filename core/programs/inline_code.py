"""Find code, or a program to run, in arguments: it prompts under either trust.

``data`` has three kinds of knowledge: options that carry code (``carriers.toml``, ``[inline]``),
patterns of whole vectors (``inline.toml``, ``[patterns]``), and for programs whose first operand is
a script (awk, sed) a profile of the arguments whose code starts no other programs.
"""

import re
from collections.abc import Sequence
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
    """

    options: tuple[tuple[str, str], ...]
    patterns: tuple[tuple[str, re.Pattern[str]], ...]
    scripts: tuple[tuple[str, Profile], ...]

    def problem(self, arguments: Sequence[str]) -> str | None:
        """Name the argument that carries code or a program to run, ``None`` if there is none."""
        return _problem(self, tuple(arguments))

    def looked_for(self, arguments: Sequence[str]) -> str | None:
        """Return the same, without the cache."""
        found = inline_code(self.options, arguments) if self.options else None
        return found or self._by_pattern(arguments) or self._by_script(arguments)

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
    return Inline(options, patterns, scripts) if options or patterns or scripts else None


@cache
def _patterns() -> dict[str, tuple[re.Pattern[str], ...]]:
    """Return the patterns of each program; ``<NAME>`` in one means that piece.

    Raises:
        KeyError: a pattern names a piece that does not exist.
    """
    holder = table("inline")
    pieces = section(holder, "pieces")
    found: dict[str, tuple[re.Pattern[str], ...]] = {}
    known = section(holder, "patterns")
    for names in known:
        texts = [
            _PLACEHOLDER.sub(lambda piece: "".join(words(pieces, piece[1])), one)
            for one in words(known, names)
        ]
        built = tuple(re.compile(one) for one in texts)
        for name in names.split():
            found[name] = found.get(name, ()) + built
    return found


@cache
def _scripts() -> dict[str, tuple[Profile, ...]]:
    known = section(table("inline"), "scripts")
    found: dict[str, tuple[Profile, ...]] = {}
    for names in known:
        built = profile_of(section(known, names))
        found |= dict.fromkeys(names.split(), (built,))
    return found
