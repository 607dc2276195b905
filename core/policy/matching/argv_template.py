"""Match argument vectors element by element, each word as a whole; one element may take several.

Where none does, there are as many words as elements.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from core.errors import ConfigError
from core.policy.matching.match_element import listed_word_fits, word_fits, word_may_fit
from core.policy.matching.option_sets import check_options, operands_of, shipped_sets
from core.policy.matching.template_element import (
    Element,
    ElementKind,
    OptionSet,
    Surroundings,
    of_list,
    of_rule,
)

_One = Callable[[Element, str, Surroundings], bool]
_Several = Callable[[Element, Sequence[str], Surroundings], bool]

_REST = frozenset((ElementKind.REST, ElementKind.REST_ANY))
_META = re.compile(r"[;|&><`$\n\0]")
"""S4: each request token is checked for these as defence in depth."""


@dataclass(frozen=True, slots=True)
class ArgvTemplate:
    """One allowed vector, its elements as written in the list."""

    elements: tuple[str, ...]
    _known: tuple[Element, ...] = field(repr=False, compare=False)
    _options: int | None = field(default=None, repr=False, compare=False)

    @classmethod
    def parse(cls, elements: Sequence[str]) -> "ArgvTemplate":
        """Read a vector of an access list, which knows S4's two templates only.

        Raises:
            ConfigError: the vector is empty, or an element is not text, or is an unknown template.
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
        sets: Mapping[str, OptionSet] | None = None,
    ) -> "ArgvTemplate":
        """Read a vector, or the arguments alone, of a rule or an allowlist entry.

        ``roots`` maps the names of ``<PATH:name>`` to folders, ``real`` those to their real paths;
        ``sets`` are those of ``<OPTS:name>``, without them the shipped ones.

        Raises:
            ConfigError: an element is an unknown template, or names no root or option set.
        """
        sets = shipped_sets() if sets is None else sets
        known = tuple(of_rule(one, roots or {}, real, sets) for one in elements)
        _check_order(known)
        check_options(known)
        options = (place for place, one in enumerate(known) if one.options is not None)
        return cls(tuple(elements), known, next(options, None))

    def matches(self, argv: Sequence[str], *, strict: bool = False) -> bool:
        """Return whether each element of a request fits; ``strict`` also refuses ``//`` in a path.

        A double slash is inside S4's alphabet, yet proxies may read an authority after it.
        """
        if len(argv) != len(self._known) or any(_META.search(word) for word in argv):
            return False
        pairs = zip(self._known, argv, strict=True)
        return all(listed_word_fits(element, word, strict=strict) for element, word in pairs)

    def fits(self, words: Sequence[str], at: Surroundings, *, start: int = 0) -> bool:
        """Return whether the words from ``start`` fit, each template as narrowly as it can be read.

        No shell reads a vector, so a literal may hold any character.
        """
        place = self._options
        if place is None:
            return _match(self._known[start:], words[start:], at, word_fits, _all_fit)
        options = self._known[place].options
        if options is None or not self._begins(words, at, start, word_fits):
            return False
        operands = operands_of(options, words[place:], at)
        behind = self._known[place + 1 :]
        return operands is not None and _match(behind, operands, at, word_fits, _all_fit)

    def may_fit(self, words: Sequence[str], at: Surroundings, *, start: int = 0) -> bool:
        """Return whether the words might be meant, for rules that forbid or ask.

        An odd spelling must not slip past those: each template takes any word, a path any spelling
        of one that is below its folder.
        """
        place = self._options
        if place is None:
            return _match(self._known[start:], words[start:], at, word_may_fit, _any_may_fit)
        left = iter(words[place:])  # what is between the operands may be options and their values
        return self._begins(words, at, start, word_may_fit) and all(
            any(word_may_fit(element, word, at) for word in left)
            for element in self._known[place + 1 :]
        )

    def _begins(self, words: Sequence[str], at: Surroundings, start: int, one: _One) -> bool:
        """Return whether the words before the options fit."""
        head = self._known[start : self._options]
        return len(words) >= start + len(head) and _each(
            head, words[start : self._options], at, one
        )

    @property
    def literal(self) -> bool:
        """Return whether no element is a template."""
        return all(element.kind is ElementKind.LITERAL for element in self._known)

    @property
    def length(self) -> int | None:
        """Return the number of words, ``None`` where an element takes several."""
        return None if any(one.spans for one in self._known) else len(self._known)

    @property
    def open(self) -> bool:
        """Return whether any further words fit, as far as the template says."""
        return bool(self._known) and self._known[-1].kind in _REST

    @property
    def by_profile(self) -> bool:
        """Return whether the program's profile has to judge the words under strict trust."""
        return bool(self._known) and self._known[-1].kind is ElementKind.REST

    def literal_at(self, place: int) -> str | None:
        """Return the word that must be at a place, ``None`` where more than one may."""
        found = self._known[: place + 1]
        if len(found) <= place or any(one.spans for one in found):
            return None
        return found[place].text if found[place].kind is ElementKind.LITERAL else None

    def __str__(self) -> str:
        return " ".join(self.elements)


def _check_order(known: Sequence[Element]) -> None:
    """Check that at most one element takes several words, and that what takes the rest is last.

    Raises:
        ConfigError: another element follows, or there is one too many.
    """
    if any(one.kind in _REST for one in known[:-1]):
        raise ConfigError("<REST> takes every further word. Write it as the last element.")
    if sum(one.spans and one.options is None for one in known) > 1:
        raise ConfigError(
            "Two elements take several words, so it is ambiguous where one ends. Write one of "
            "<PATH:root>…, <REST> or <REST:any>."
        )


def _match(
    elements: Sequence[Element],
    words: Sequence[str],
    at: Surroundings,
    one: _One,
    several: _Several,
) -> bool:
    """Match words, those before and after the element that takes several one by one."""
    place = next((i for i, element in enumerate(elements) if element.spans), None)
    if place is None:
        return len(words) == len(elements) and _each(elements, words, at, one)
    behind = elements[place + 1 :]
    end = len(words) - len(behind)
    return (
        end >= place + elements[place].repeats
        and _each(elements[:place], words[:place], at, one)
        and _each(behind, words[end:], at, one)
        and several(elements[place], words[place:end], at)
    )


def _each(elements: Sequence[Element], words: Sequence[str], at: Surroundings, one: _One) -> bool:
    return all(one(element, word, at) for element, word in zip(elements, words, strict=True))


def _all_fit(element: Element, words: Sequence[str], at: Surroundings) -> bool:
    return all(word_fits(element, word, at) for word in words)


def _any_may_fit(element: Element, words: Sequence[str], at: Surroundings) -> bool:
    """Return whether one of the words may be meant; the rest may be any words."""
    return element.kind in _REST or any(word_may_fit(element, word, at) for word in words)
