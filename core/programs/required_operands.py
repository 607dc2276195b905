"""Count the operands of programs that pass whatever their arguments: they still need some.

A line whose program cannot do what was meant is not one that a person allowed. Options are not
judged here; only those that take the next word as a value must be known, or that word would count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from core.programs.profiles.tables import section, table, words

_SPARING = frozenset(("--help", "--version"))


@dataclass(frozen=True, slots=True)
class Required:
    """What one program needs: ``least`` operands, ``least_then`` with an option of ``sparing``.

    ``values`` are the options that need a value.
    """

    values: frozenset[str]
    least: int
    sparing: frozenset[str]
    least_then: int

    def problem(self, arguments: Sequence[str]) -> str | None:
        """Return what is missing, ``None`` if nothing is."""
        rest = list(reversed(arguments))
        found, spared = 0, False
        while rest:
            word = rest.pop()
            if word == "--":
                found += len(rest)
                break
            if word[:1] != "-" or word == "-":
                found += 1
                continue
            names, valued = self._options(word)
            spared = spared or not self.sparing.isdisjoint(names)
            if valued and not rest:
                return f"option {word} lacks its value"
            if valued:
                rest.pop()
        missing = found < (self.least_then if spared else self.least)
        return "an operand that it needs is missing" if missing else None

    def _options(self, word: str) -> tuple[set[str], bool]:
        """Return the options of a word, and whether the next word is the value of the last one."""
        if word.startswith("--"):
            name, equals, _ = word.partition("=")
            return {name}, not equals and name in self.values
        names: set[str] = set()
        for at, letter in enumerate(word[1:], 2):
            names.add(f"-{letter}")
            if f"-{letter}" in self.values:
                return names, at == len(word)
        return names, False


@cache
def required_of(name: str) -> Required | None:
    """Return what a program listed as plain needs, ``None`` if nothing is known."""
    known = section(table("carriers"), "required")
    if name not in known:
        return None
    holder = section(known, name)
    least, then = holder.get("least", 0), holder.get("least_then", 0)
    if not isinstance(least, int) or not isinstance(then, int):
        msg = f"policy data: least of {name} must be a number"
        raise TypeError(msg)
    sparing = _SPARING | frozenset(words(holder, "sparing"))
    return Required(frozenset(words(holder, "values")), least, sparing, then)
