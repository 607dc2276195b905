"""Match argument vectors element by element: as many words as elements, each a whole word."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from core.errors import ConfigError
from core.policy.elements import (
    Element,
    ElementKind,
    Surroundings,
    listed_word_fits,
    of_list,
    of_rule,
    word_fits,
    word_may_fit,
)

_META = re.compile(r"[;|&><`$\n\0]")
"""S4: each request token is checked for these as defence in depth."""


@dataclass(frozen=True, slots=True)
class ArgvTemplate:
    """One allowed vector, its elements as written in the list."""

    elements: tuple[str, ...]
    _known: tuple[Element, ...] = field(repr=False, compare=False)

    @classmethod
    def parse(cls, elements: Sequence[str]) -> "ArgvTemplate":
        """Read a vector of an access list, which knows S4's two templates only.

        Raises:
            ConfigError: the vector is empty, or an element is no text or an unknown template.
        """
        if not elements or not all(isinstance(one, str) for one in elements) or not elements[0]:
            raise ConfigError("An ACL vector must list the program and its arguments as strings.")
        return cls(tuple(elements), tuple(of_list(one) for one in elements))

    @classmethod
    def of_rule(
        cls,
        elements: Sequence[str],
        roots: Mapping[str, str] | None = None,
        real: Callable[[str], str] = str,
    ) -> "ArgvTemplate":
        """Read a vector, or the arguments alone, of a rule or an allowlist entry.

        ``roots`` maps the names of ``<PATH:name>`` to folders, ``real`` those to their real paths.

        Raises:
            ConfigError: an element is an unknown template, or names no root.
        """
        return cls(tuple(elements), tuple(of_rule(one, roots or {}, real) for one in elements))

    def matches(self, argv: Sequence[str], *, strict: bool = False) -> bool:
        """Tell whether each element of a request fits; ``strict`` also refuses ``//`` in a path.

        A double slash is inside S4's alphabet, yet proxies may read an authority after it.
        """
        if len(argv) != len(self._known) or any(_META.search(word) for word in argv):
            return False
        pairs = zip(self._known, argv, strict=True)
        return all(listed_word_fits(element, word, strict=strict) for element, word in pairs)

    def fits(self, words: Sequence[str], at: Surroundings, *, start: int = 0) -> bool:
        """Tell whether the words from ``start`` fit, each template as narrowly as it can be read.

        No shell reads a vector, so a literal may hold any character.
        """
        if len(words) != len(self._known):
            return False
        pairs = zip(self._known[start:], words[start:], strict=True)
        return all(word_fits(element, word, at) for element, word in pairs)

    def may_fit(self, words: Sequence[str], at: Surroundings, *, start: int = 0) -> bool:
        """Tell whether the words might be meant, for rules that forbid or ask.

        An odd spelling must not slip past those: each template takes any word, a path any spelling
        of one that lies below its folder.
        """
        if len(words) != len(self._known):
            return False
        pairs = zip(self._known[start:], words[start:], strict=True)
        return all(word_may_fit(element, word, at) for element, word in pairs)

    @property
    def literal(self) -> bool:
        """Tell whether no element is a template."""
        return all(element.kind is ElementKind.LITERAL for element in self._known)

    def literal_at(self, place: int) -> str | None:
        """Return the element at a place, ``None`` where that is missing or a template."""
        found = self._known[place : place + 1]
        return found[0].text if found and found[0].kind is ElementKind.LITERAL else None

    def __str__(self) -> str:
        return " ".join(self.elements)
