"""Read the elements of templates: each a literal, or a type that matches one or more words.

S4's two are for access lists: ``<INT>`` is a number from 1 to 999999, ``<URL_PATH>`` an absolute
path of at most 257 characters from ``A-Za-z0-9/_.-`` without ``..``, alone or after a literal
prefix. Rules and allowlist entries know more (docs/reference/policy.md "Templates"). Any other
``<…>`` is an error of the list. ``core.policy.matching.match_element`` matches them with words.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from core.errors import ConfigError
from core.policy.matching.compound_element import compound, fields_in

_BRACKETS = re.compile(r"<[^<>]*>")
_URL_MARK = "<URL_PATH>"
_GLOB = re.compile(r"<GLOB:([^<>]+)>")
_OPTS = re.compile(r"<OPTS:([A-Za-z0-9_-]{1,64})>")
_REPEAT = ("…", "...")
_ROOTED = re.compile(r"<PATH(?::([A-Za-z0-9_-]{1,64}))?>")


_MEANT = {
    "<GLOB": "Write the whole element as <GLOB:pattern>, where * is any run of characters and ? "
    "one, and the pattern holds no < or >.",
    "<HOST": "Write <HOST:local>, which is localhost, 127.0.0.0/8 or [::1], or the host itself.",
    "<OPTS": "Write the whole element as <OPTS:name>, with a set of tools.exec.optionSets.",
    "<PATH:": "Write <PATH:root> with a name of tools.exec.roots, and … after it for several.",
    "<REST": "Write the last element as <REST>, or as <REST:any> to allow whatever follows.",
}
"""What was probably meant by a malformed template."""


class ElementKind(StrEnum):
    """What an element matches."""

    LITERAL = "literal"
    INT = "<INT>"
    URL_PATH = "<URL_PATH>"
    NAME = "<NAME>"
    ANY = "<ANY>"
    PATH = "<PATH>"
    GLOB = "<GLOB>"
    REST = "<REST>"
    REST_ANY = "<REST:any>"
    MESSAGE = "<MESSAGE>"
    HEADER = "<HEADER>"
    WRITE_OUT = "<WRITE_OUT>"
    COMPOUND = "compound"
    OPTS = "<OPTS>"


_SPANNING = frozenset((ElementKind.REST, ElementKind.REST_ANY, ElementKind.OPTS))
_WHOLE = frozenset(
    (
        ElementKind.NAME,
        ElementKind.ANY,
        ElementKind.MESSAGE,
        ElementKind.HEADER,
        ElementKind.WRITE_OUT,
        ElementKind.REST,
        ElementKind.REST_ANY,
    )
)
"""Templates that are one fixed word."""


@dataclass(frozen=True, slots=True)
class Element:
    """One element: ``text`` is the literal, a URL path's prefix, a path's folder, or the pattern.

    A path without a folder of its own is below the working directory. ``real``: its real path.
    Of a compound it is the literal that it begins with, and ``pattern`` what the word must fit.
    ``repeats``: one or more such words.
    """

    kind: ElementKind
    text: str = ""
    real: str = ""
    pattern: re.Pattern[str] | None = None
    repeats: bool = False
    options: "OptionSet | None" = None

    @property
    def spans(self) -> bool:
        """Return whether the element takes several words."""
        return self.repeats or self.kind in _SPANNING


@dataclass(frozen=True, slots=True)
class OptionSet:
    """Options of one program: ``flags`` take no value, ``values`` one word that fits an element.

    ``clusters``: ``-ab`` is ``-a -b``, and a value may be glued to a short option.
    """

    name: str
    flags: frozenset[str]
    values: Mapping[str, tuple[Element, ...]]
    clusters: bool


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a vector would run: the folder, and where the links that the words name lead.

    ``real`` maps an absolute path to its real one where the planner found that it differs.
    ``spellings`` are other vectors that mean the same, which a rule may be written for.
    """

    cwd: str
    real: Mapping[str, str] = field(default_factory=dict)
    spellings: tuple[tuple[str, ...], ...] = ()


def looks_typed(word: str) -> bool:
    """Return whether a word, stored as a literal, would be read as a template."""
    return _BRACKETS.search(word) is not None


def below(root: str, path: str) -> bool:
    """Return whether a normal absolute path is a folder or below it."""
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


def of_rule(
    element: str,
    roots: Mapping[str, str],
    real: Callable[[str], str],
    sets: Mapping[str, OptionSet],
) -> Element:
    """Read an element of a rule or an allowlist entry; the parameters as in ``ArgvTemplate``.

    Raises:
        ConfigError: it is an unknown template, or names no root or option set.
    """
    for mark in _REPEAT:
        if element.endswith(f">{mark}") and looks_typed(element):
            return _repeated(element.removesuffix(mark), roots, real)
    if fields_in(element):
        text, fields = compound(element)
        return Element(ElementKind.COMPOUND, text, pattern=fields)
    found = _shared(element)
    if found is not None:
        return found
    if element in _WHOLE:
        return Element(ElementKind(element))
    options = _OPTS.fullmatch(element)
    if options is not None:
        return _set_of(options[1], sets)
    glob = _GLOB.fullmatch(element)
    return _path_of(element, roots, real) if glob is None else Element(ElementKind.GLOB, glob[1])


def _set_of(name: str, sets: Mapping[str, OptionSet]) -> Element:
    if name not in sets:
        known = ", ".join(sorted(sets)) or "none"
        raise ConfigError(
            f"The element <OPTS:{name}> names no option set (there: {known}). Define it in "
            "tools.exec.optionSets; only rules know those."
        )
    return Element(ElementKind.OPTS, options=sets[name])


def _repeated(element: str, roots: Mapping[str, str], real: Callable[[str], str]) -> Element:
    if _ROOTED.fullmatch(element) is None:
        raise ConfigError(
            f"The element {element!r} cannot be repeated. Write <PATH>… or <PATH:root>… for one or "
            "more paths, or <REST> for all further words."
        )
    return replace(_path_of(element, roots, real), repeats=True)


def _path_of(element: str, roots: Mapping[str, str], real: Callable[[str], str]) -> Element:
    rooted = _ROOTED.fullmatch(element)
    if rooted is None:
        raise ConfigError(f"The element {element!r} holds an unknown template. {_advice(element)}")
    root = rooted[1]
    if root is None:
        return Element(ElementKind.PATH)
    if root not in roots:
        known = ", ".join(sorted(roots)) or "none"
        raise ConfigError(
            f"The element {element!r} names no root of tools.exec.roots (there: {known})."
        )
    return Element(ElementKind.PATH, roots[root], real(roots[root]))


def _advice(element: str) -> str:
    """Return what to write instead of an unknown template."""
    meant = next((text for mark, text in _MEANT.items() if mark in element), None)
    return meant or (
        "Write <INT>, <URL_PATH>, <PATH>, <PATH:root>, <PATH:root>…, <NAME>, <ANY>, <MESSAGE>, "
        "<PORT>, <HOST:local>, <QUERY>, <HEADER>, <WRITE_OUT>, <GLOB:pattern>, <OPTS:name>, "
        "<REST>, <REST:any>, or a literal prefix that ends in <URL_PATH>."
    )


def _shared(element: str) -> Element | None:
    """Return what the element is in either list, ``None`` if it is in neither of them."""
    marks = _BRACKETS.findall(element)
    if not marks:
        return Element(ElementKind.LITERAL, element)
    if element == ElementKind.INT:
        return Element(ElementKind.INT)
    if marks == [_URL_MARK] and element.endswith(_URL_MARK):
        return Element(ElementKind.URL_PATH, element.removesuffix(_URL_MARK))
    return None
