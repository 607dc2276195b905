"""Match argument vectors element by element: literals and typed templates, each one whole word.

S4's two stand in access lists: ``<INT>`` is a number from 1 to 999999, ``<URL_PATH>`` an absolute
path of at most 257 characters from ``A-Za-z0-9/_.-`` without ``..``, alone or after a literal
prefix. Rules and allowlist entries know three more: ``<NAME>``, ``<ANY>``, and ``<PATH>`` below the
working directory or ``<PATH:root>`` below a named root. Any other ``<…>`` is an error of the list.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from posixpath import join, normpath

from core.errors import ConfigError

_BRACKETS = re.compile(r"<[^<>]*>")
_INT = re.compile(r"[1-9][0-9]{0,5}")
_URL_PATH = re.compile(r"/[A-Za-z0-9/_.-]{0,256}")
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?!\.)){0,127}")
_ANY = re.compile(r"(?!-)[ -~]{1,4096}")
_PART = r"(?!\.\.(?:/|\Z))[A-Za-z0-9_.,+@% -]{1,255}"
_PATH = re.compile(rf"(?![-+@ ])(?:/|/?{_PART}(?:/{_PART})*/?)")
"""No ``=`` and no ``:``, after which a program may read another path (``of=/x``, ``host:/x``)."""

_META = re.compile(r"[;|&><`$\n\0]")
"""S4: each request token is checked for these as defence in depth."""

_URL_MARK = "<URL_PATH>"
_ROOTED = re.compile(r"<PATH(?::([A-Za-z0-9_-]{1,64}))?>")


class _Kind(StrEnum):
    LITERAL = "literal"
    INT = "<INT>"
    URL_PATH = "<URL_PATH>"
    NAME = "<NAME>"
    ANY = "<ANY>"
    PATH = "<PATH>"


@dataclass(frozen=True, slots=True)
class _Element:
    """One element: ``text`` is the literal, the prefix of a URL path, or the folder of a path.

    A path without a folder of its own lies below the working directory. ``real``: its real path.
    """

    kind: _Kind
    text: str = ""
    real: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a vector would run: the folder, and where the links lead that the words name.

    ``real`` maps an absolute path to its real one where the planner found that it differs.
    """

    cwd: str
    real: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArgvTemplate:
    """One allowed vector, its elements as written in the list."""

    elements: tuple[str, ...]
    _known: tuple[_Element, ...] = field(repr=False, compare=False)

    @classmethod
    def parse(cls, elements: Sequence[str]) -> "ArgvTemplate":
        """Read a vector of an access list, which knows S4's two templates only.

        Raises:
            ConfigError: the vector is empty, or an element is no text or an unknown template.
        """
        if not elements or not all(isinstance(one, str) for one in elements) or not elements[0]:
            raise ConfigError("An ACL vector must list the program and its arguments as strings.")
        return cls(tuple(elements), tuple(_of_list(one) for one in elements))

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
        return cls(tuple(elements), tuple(_of_rule(one, roots or {}, real) for one in elements))

    def matches(self, argv: Sequence[str], *, strict: bool = False) -> bool:
        """Tell whether each element of a request fits; ``strict`` also refuses ``//`` in a path.

        A double slash is inside S4's alphabet, yet proxies may read an authority after it.
        """
        if len(argv) != len(self._known) or any(_META.search(word) for word in argv):
            return False
        pairs = zip(self._known, argv, strict=True)
        return all(_fits_list(element, word, strict=strict) for element, word in pairs)

    def fits(self, words: Sequence[str], at: Surroundings, *, start: int = 0) -> bool:
        """Tell whether the words from ``start`` fit, each template as narrowly as it can be read.

        No shell reads a vector, so a literal may hold any character.
        """
        if len(words) != len(self._known):
            return False
        pairs = zip(self._known[start:], words[start:], strict=True)
        return all(_fits(element, word, at) for element, word in pairs)

    def may_fit(self, words: Sequence[str], at: Surroundings, *, start: int = 0) -> bool:
        """Tell whether the words might be meant, for rules that forbid or ask.

        An odd spelling must not slip past those: each template takes any word, a path any spelling
        of one that lies below its folder.
        """
        if len(words) != len(self._known):
            return False
        pairs = zip(self._known[start:], words[start:], strict=True)
        return all(_may_fit(element, word, at) for element, word in pairs)

    @property
    def literal(self) -> bool:
        """Tell whether no element is a template."""
        return all(element.kind is _Kind.LITERAL for element in self._known)

    def literal_at(self, place: int) -> str | None:
        """Return the element at a place, ``None`` where that is missing or a template."""
        found = self._known[place : place + 1]
        return found[0].text if found and found[0].kind is _Kind.LITERAL else None

    def __str__(self) -> str:
        return " ".join(self.elements)


def looks_typed(word: str) -> bool:
    """Tell whether a word, stored as a literal, would be read as a template."""
    return _BRACKETS.search(word) is not None


def below(root: str, path: str) -> bool:
    """Tell whether a normal absolute path is a folder or lies below it."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def _of_list(element: str) -> _Element:
    found = _shared(element)
    if found is None:
        raise ConfigError(
            f"The ACL element {element!r} holds an unknown template. Write <INT>, <URL_PATH>, or a "
            "literal prefix that ends in <URL_PATH>."
        )
    return found


def _of_rule(element: str, roots: Mapping[str, str], real: Callable[[str], str]) -> _Element:
    found = _shared(element)
    if found is not None:
        return found
    if element in {_Kind.NAME, _Kind.ANY}:
        return _Element(_Kind(element))
    rooted = _ROOTED.fullmatch(element)
    if rooted is None:
        raise ConfigError(
            f"The element {element!r} holds an unknown template. Write <INT>, <URL_PATH>, <PATH>, "
            "<PATH:root>, <NAME>, <ANY>, or a literal prefix that ends in <URL_PATH>."
        )
    root = rooted[1]
    if root is None:
        return _Element(_Kind.PATH)
    if root not in roots:
        known = ", ".join(sorted(roots)) or "none"
        raise ConfigError(
            f"The element {element!r} names no root of tools.exec.roots (there: {known})."
        )
    return _Element(_Kind.PATH, roots[root], real(roots[root]))


def _shared(element: str) -> _Element | None:
    """Return what the element is in either list, ``None`` for a template of rules or of nobody."""
    marks = _BRACKETS.findall(element)
    if not marks:
        return _Element(_Kind.LITERAL, element)
    if element == _Kind.INT:
        return _Element(_Kind.INT)
    if marks == [_URL_MARK] and element.endswith(_URL_MARK):
        return _Element(_Kind.URL_PATH, element.removesuffix(_URL_MARK))
    return None


def _fits_list(element: _Element, word: str, *, strict: bool) -> bool:
    match element.kind:
        case _Kind.LITERAL:
            return element.text == word
        case _Kind.INT:
            return _INT.fullmatch(word) is not None
        case _:
            return _is_url(element.text, word) and not (
                strict and "//" in word[len(element.text) :]
            )


def _is_url(prefix: str, word: str) -> bool:
    path = word[len(prefix) :]
    return word.startswith(prefix) and _URL_PATH.fullmatch(path) is not None and ".." not in path


def _fits(element: _Element, word: str, at: Surroundings) -> bool:
    match element.kind:
        case _Kind.NAME:
            return _NAME.fullmatch(word) is not None
        case _Kind.ANY:
            return _ANY.fullmatch(word) is not None
        case _Kind.PATH:
            return _PATH.fullmatch(word) is not None and _lies_below(element, word, at)
        case _:
            return _fits_list(element, word, strict=True)


def _lies_below(element: _Element, word: str, at: Surroundings) -> bool:
    path = normpath(join(at.cwd, word))
    return _within(element, path, at) and _within(element, at.real.get(path, path), at)


def _within(element: _Element, path: str, at: Surroundings) -> bool:
    """Tell whether a path lies below an element's folder, by that one's name or its real path."""
    return below(element.text or at.cwd, path) or below(element.real or at.cwd, path)


def _may_fit(element: _Element, word: str, at: Surroundings) -> bool:
    match element.kind:
        case _Kind.LITERAL:
            return element.text == word
        case _Kind.URL_PATH:
            return word.startswith(element.text)
        case _Kind.PATH:
            joined = join(at.cwd, word)
            path = normpath(joined).replace("//", "/")
            meant = {path, at.real.get(path, path), at.real.get(joined, path)}
            return any(_within(element, one, at) for one in meant)
        case _:
            return True
