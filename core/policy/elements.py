"""Match one word with one element of a template: a literal, or a type, always the whole word.

S4's two stand in access lists: ``<INT>`` is a number from 1 to 999999, ``<URL_PATH>`` an absolute
path of at most 257 characters from ``A-Za-z0-9/_.-`` without ``..``, alone or after a literal
prefix. Rules and allowlist entries know three more: ``<NAME>``, ``<ANY>``, and ``<PATH>`` below the
working directory or ``<PATH:root>`` below a named root. Any other ``<…>`` is an error of the list.
"""

import re
from collections.abc import Callable, Mapping
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

_URL_MARK = "<URL_PATH>"
_ROOTED = re.compile(r"<PATH(?::([A-Za-z0-9_-]{1,64}))?>")


class ElementKind(StrEnum):
    """What an element stands for."""

    LITERAL = "literal"
    INT = "<INT>"
    URL_PATH = "<URL_PATH>"
    NAME = "<NAME>"
    ANY = "<ANY>"
    PATH = "<PATH>"


@dataclass(frozen=True, slots=True)
class Element:
    """One element: ``text`` is the literal, the prefix of a URL path, or the folder of a path.

    A path without a folder of its own lies below the working directory. ``real``: its real path.
    """

    kind: ElementKind
    text: str = ""
    real: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a vector would run: the folder, and where the links lead that the words name.

    ``real`` maps an absolute path to its real one where the planner found that it differs.
    """

    cwd: str
    real: Mapping[str, str] = field(default_factory=dict)


def looks_typed(word: str) -> bool:
    """Tell whether a word, stored as a literal, would be read as a template."""
    return _BRACKETS.search(word) is not None


def below(root: str, path: str) -> bool:
    """Tell whether a normal absolute path is a folder or lies below it."""
    return path == root or path.startswith(root if root.endswith("/") else f"{root}/")


def of_list(element: str) -> Element:
    """Read an element of an access list.

    Raises:
        ConfigError: it is an unknown template.
    """
    found = _shared(element)
    if found is None:
        raise ConfigError(
            f"The ACL element {element!r} holds an unknown template. Write <INT>, <URL_PATH>, or a "
            "literal prefix that ends in <URL_PATH>."
        )
    return found


def of_rule(element: str, roots: Mapping[str, str], real: Callable[[str], str]) -> Element:
    """Read an element of a rule or an allowlist entry; the parameters as in ``ArgvTemplate``.

    Raises:
        ConfigError: it is an unknown template, or names no root.
    """
    found = _shared(element)
    if found is not None:
        return found
    if element in {ElementKind.NAME, ElementKind.ANY}:
        return Element(ElementKind(element))
    rooted = _ROOTED.fullmatch(element)
    if rooted is None:
        raise ConfigError(
            f"The element {element!r} holds an unknown template. Write <INT>, <URL_PATH>, <PATH>, "
            "<PATH:root>, <NAME>, <ANY>, or a literal prefix that ends in <URL_PATH>."
        )
    root = rooted[1]
    if root is None:
        return Element(ElementKind.PATH)
    if root not in roots:
        known = ", ".join(sorted(roots)) or "none"
        raise ConfigError(
            f"The element {element!r} names no root of tools.exec.roots (there: {known})."
        )
    return Element(ElementKind.PATH, roots[root], real(roots[root]))


def _shared(element: str) -> Element | None:
    """Return what the element is in either list, ``None`` for a template of rules or of nobody."""
    marks = _BRACKETS.findall(element)
    if not marks:
        return Element(ElementKind.LITERAL, element)
    if element == ElementKind.INT:
        return Element(ElementKind.INT)
    if marks == [_URL_MARK] and element.endswith(_URL_MARK):
        return Element(ElementKind.URL_PATH, element.removesuffix(_URL_MARK))
    return None


def listed_word_fits(element: Element, word: str, *, strict: bool) -> bool:
    """Tell whether a word fits, as in an access list; ``strict`` also refuses ``//`` in a path."""
    match element.kind:
        case ElementKind.LITERAL:
            return element.text == word
        case ElementKind.INT:
            return _INT.fullmatch(word) is not None
        case _:
            return _is_url(element.text, word) and not (
                strict and "//" in word[len(element.text) :]
            )


def _is_url(prefix: str, word: str) -> bool:
    path = word[len(prefix) :]
    return word.startswith(prefix) and _URL_PATH.fullmatch(path) is not None and ".." not in path


def word_fits(element: Element, word: str, at: Surroundings) -> bool:
    """Tell whether a word fits, read as narrowly as it can be."""
    match element.kind:
        case ElementKind.NAME:
            return _NAME.fullmatch(word) is not None
        case ElementKind.ANY:
            return _ANY.fullmatch(word) is not None
        case ElementKind.PATH:
            return _PATH.fullmatch(word) is not None and _lies_below(element, word, at)
        case _:
            return listed_word_fits(element, word, strict=True)


def _lies_below(element: Element, word: str, at: Surroundings) -> bool:
    path = normpath(join(at.cwd, word))
    return _within(element, path, at) and _within(element, at.real.get(path, path), at)


def _within(element: Element, path: str, at: Surroundings) -> bool:
    """Tell whether a path lies below an element's folder, by that one's name or its real path."""
    return below(element.text or at.cwd, path) or below(element.real or at.cwd, path)


def word_may_fit(element: Element, word: str, at: Surroundings) -> bool:
    """Tell whether a word might be meant, for rules that forbid or ask."""
    match element.kind:
        case ElementKind.LITERAL:
            return element.text == word
        case ElementKind.URL_PATH:
            return word.startswith(element.text)
        case ElementKind.PATH:
            joined = join(at.cwd, word)
            path = normpath(joined).replace("//", "/")
            meant = {path, at.real.get(path, path), at.real.get(joined, path)}
            return any(_within(element, one, at) for one in meant)
        case _:
            return True
