"""Match argument vectors element by element against exact vectors with typed templates (S4).

``<INT>`` is a number from 1 to 999999, ``<URL_PATH>`` an absolute path of at most 257 characters
from ``A-Za-z0-9/_.-`` without ``..``, alone or after a literal prefix. Anything else in angle
brackets is an error of the list, never a literal.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import ConfigError

_BRACKETS = re.compile(r"<[^<>]*>")
_INT = re.compile(r"[1-9][0-9]{0,5}")
_URL_PATH = re.compile(r"/[A-Za-z0-9/_.-]{0,256}")
_META = re.compile(r"[;|&><`$\n\0]")
"""S4: each request token is checked for these as defence in depth."""

_URL_MARK = "<URL_PATH>"


@dataclass(frozen=True, slots=True)
class ArgvTemplate:
    """One allowed vector, its elements as written in the list."""

    elements: tuple[str, ...]

    @classmethod
    def parse(cls, elements: Sequence[str]) -> "ArgvTemplate":
        """Check a vector's templates.

        Raises:
            ConfigError: the vector is empty, or an element is no text or an unknown template.
        """
        if not elements or not all(isinstance(one, str) for one in elements) or not elements[0]:
            raise ConfigError("An ACL vector must list the program and its arguments as strings.")
        for element in elements:
            _check(element)
        return cls(tuple(elements))

    def matches(self, argv: Sequence[str], *, strict: bool = False) -> bool:
        """Tell whether each element of a request fits; ``strict`` also refuses ``//`` in a path.

        A double slash is inside S4's alphabet, yet proxies may read an authority after it.
        """
        if len(argv) != len(self.elements) or any(_META.search(word) for word in argv):
            return False
        pairs = zip(self.elements, argv, strict=True)
        return all(_fits(element, word, strict=strict) for element, word in pairs)

    def __str__(self) -> str:
        return " ".join(self.elements)


def _check(element: str) -> None:
    marks = _BRACKETS.findall(element)
    known = element == "<INT>" or (marks == [_URL_MARK] and element.endswith(_URL_MARK))
    if marks and not known:
        raise ConfigError(
            f"The ACL element {element!r} holds an unknown template. Write <INT>, <URL_PATH>, or a "
            "literal prefix that ends in <URL_PATH>."
        )


def _fits(element: str, word: str, *, strict: bool) -> bool:
    if element == "<INT>":
        return _INT.fullmatch(word) is not None
    if not element.endswith(_URL_MARK):
        return element == word
    prefix = element.removesuffix(_URL_MARK)
    path = word[len(prefix) :]
    fits = word.startswith(prefix) and _URL_PATH.fullmatch(path) is not None
    return fits and ".." not in path and not (strict and "//" in path)
