"""Match one word with one element of a template: always the whole word.

An allow reads it as narrowly (``word_fits``), an ask or a denial as widely (``word_may_fit``) as it
can be meant (invariant 4).
"""

import re
from collections.abc import Callable, Mapping
from posixpath import join, normpath
from typing import Final

from core.policy.matching.path_patterns import segment_fits
from core.policy.matching.template_element import Element, ElementKind, Surroundings, below

_Fit = Callable[[Element, str, Surroundings], bool]

_INT = re.compile(r"[1-9][0-9]{0,5}")
_URL_PATH = re.compile(r"/[A-Za-z0-9/_.-]{0,256}")
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?!\.)){0,127}")
_ANY = re.compile(r"(?!-)[ -~]{1,4096}")
_PART = r"(?!\.\.(?:/|\Z))[A-Za-z0-9_.,+@% -]{1,255}"
_PATH = re.compile(rf"(?![-+@ ])(?:/|/?{_PART}(?:/{_PART})*/?)")
"""No ``=`` and no ``:``, after which a program may read another path (``of=/x``, ``host:/x``)."""
_HEADER = re.compile(
    r"(?!(?i:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|proxy-[^:]*"
    r"|(?:x-)?http-method[^:]*|x-method-override):)[A-Za-z][A-Za-z0-9-]{0,63}:[ -~]{0,4096}"
)
"""No header that names another host or method, or where the request ends; no ``@file``."""
_WRITE_OUT = re.compile(
    r"(?!@)(?:[ -$&-~\n]|%%|%\{(?:content_type|errormsg|exitcode|http_code|http_connect"
    r"|http_version|local_ip|local_port|method|num_connects|num_headers|num_redirects|redirect_url"
    r"|remote_ip|remote_port|response_code|scheme|size_download|size_header|size_request"
    r"|size_upload|speed_download|speed_upload|ssl_verify_result|time_appconnect|time_connect"
    r"|time_namelookup|time_pretransfer|time_redirect|time_starttransfer|time_total|url"
    r"|url_effective)\}){1,1024}"
)
"""curl's ``-w``: variables that are printed; no ``@file``, no ``%output{file}``."""
_LONGEST_WORD = 4096
_LONGEST_MESSAGE = 16_384
_BREAKS = str.maketrans("", "", "\n\t")


def listed_word_fits(element: Element, word: str, *, strict: bool) -> bool:
    """Return whether a word fits, as in an access list; ``strict`` refuses ``//`` in a path."""
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
    """Return whether a word fits, read as narrowly as it can be."""
    return _NARROW[element.kind](element, word, at)


def word_may_fit(element: Element, word: str, at: Surroundings) -> bool:
    """Return whether a word might be meant, for rules that forbid or ask."""
    wide = _WIDE.get(element.kind)
    return wide is None or wide(element, word, at)


def _listed(element: Element, word: str, at: Surroundings) -> bool:
    del at
    return listed_word_fits(element, word, strict=True)


def _equal(element: Element, word: str, at: Surroundings) -> bool:
    del at
    return element.text == word


def _name(element: Element, word: str, at: Surroundings) -> bool:
    del element, at
    return _NAME.fullmatch(word) is not None


def _any(element: Element, word: str, at: Surroundings) -> bool:
    del element, at
    return _ANY.fullmatch(word) is not None


def _path(element: Element, word: str, at: Surroundings) -> bool:
    return _PATH.fullmatch(word) is not None and _lies_below(element, word, at)


def _glob(element: Element, word: str, at: Surroundings) -> bool:
    """Return whether a word fits a pattern; a wildcard takes no option and no step upwards."""
    del at
    if word.startswith("-") and element.text[0] in "*?":
        return False
    if _climbs(word) and not _climbs(element.text):
        return False
    return word.isprintable() and len(word) <= _LONGEST_WORD and segment_fits(element.text, word)


def _climbs(path: str) -> bool:
    return ".." in path and ".." in path.split("/")


def _message(element: Element, word: str, at: Surroundings) -> bool:
    del element, at
    text = word.translate(_BREAKS)
    return text.isprintable() and word[:1] not in {"", "-"} and len(word) <= _LONGEST_MESSAGE


def _header(element: Element, word: str, at: Surroundings) -> bool:
    del element, at
    return _HEADER.fullmatch(word) is not None


def _write_out(element: Element, word: str, at: Surroundings) -> bool:
    del element, at
    return _WRITE_OUT.fullmatch(word) is not None


def _compound(element: Element, word: str, at: Surroundings) -> bool:
    del at
    return element.pattern is not None and element.pattern.fullmatch(word) is not None


def _free(element: Element, word: str, at: Surroundings) -> bool:
    del element, at
    return word.isprintable()


def _unseen(element: Element, word: str, at: Surroundings) -> bool:
    """Take any word: the program's profile judges it (``core.policy.matching.matchers``)."""
    del element, word, at
    return True


def _may_begin(element: Element, word: str, at: Surroundings) -> bool:
    del at
    return word.startswith(element.text)


def _may_be_path(element: Element, word: str, at: Surroundings) -> bool:
    joined = join(at.cwd, word)
    path = normpath(joined).replace("//", "/")
    meant = {path, at.real.get(path, path), at.real.get(joined, path)}
    return any(_within(element, one, at) for one in meant)


def _may_be_glob(element: Element, word: str, at: Surroundings) -> bool:
    del at
    return len(word) > _LONGEST_WORD or segment_fits(element.text, word)


def _lies_below(element: Element, word: str, at: Surroundings) -> bool:
    path = normpath(join(at.cwd, word))
    return _within(element, path, at) and _within(element, at.real.get(path, path), at)


def _within(element: Element, path: str, at: Surroundings) -> bool:
    """Return whether a path is below an element's folder, by the folder's name or its real path."""
    return below(element.text or at.cwd, path) or below(element.real or at.cwd, path)


_NARROW: Final[Mapping[ElementKind, _Fit]] = {
    ElementKind.LITERAL: _equal,
    ElementKind.INT: _listed,
    ElementKind.URL_PATH: _listed,
    ElementKind.NAME: _name,
    ElementKind.ANY: _any,
    ElementKind.PATH: _path,
    ElementKind.GLOB: _glob,
    ElementKind.REST: _unseen,
    ElementKind.REST_ANY: _free,
    ElementKind.MESSAGE: _message,
    ElementKind.HEADER: _header,
    ElementKind.WRITE_OUT: _write_out,
    ElementKind.COMPOUND: _compound,
}
_WIDE: Final[Mapping[ElementKind, _Fit]] = {
    ElementKind.LITERAL: _equal,
    ElementKind.URL_PATH: _may_begin,
    ElementKind.PATH: _may_be_path,
    ElementKind.GLOB: _may_be_glob,
    ElementKind.COMPOUND: _may_begin,
}
"""What is not among these takes any word."""
