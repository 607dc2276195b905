"""Read an element that is made of literals and typed fields: ``http://<HOST:local>:<PORT>/x``.

Only canonical spellings fit: no other digits, no short or octal addresses, no user before an ``@``.
"""

import re
from itertools import pairwise

from core.errors import ConfigError

_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_FIELDS = {
    "<HOST:local>": rf"(?:localhost|127(?:\.{_BYTE}){{3}}|\[::1\])",
    "<PORT>": r"(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}"
    r"|655[0-2][0-9]|6553[0-5])",
    "<URL_PATH>": r"/(?!/)(?:[A-Za-z0-9_=~+,:-]|/(?!/)|\.(?!\.)){0,256}",
    "<QUERY>": r"(?:\?(?:[A-Za-z0-9._~+,;:?&=*!-]|/(?!/)|%[2-9A-Fa-f][0-9A-Fa-f]){0,1024})?",
}
_HOST, _PORT, _PATH, _QUERY = _FIELDS
_TOKEN = re.compile(r"<[^<>]*>|[^<>]+")


def fields_in(element: str) -> bool:
    """Return whether an element holds a field known in compounds only, or several fields."""
    return any(mark in element for mark in (_HOST, _PORT, _QUERY)) or element.count(_PATH) > 1


def compound(element: str) -> tuple[str, re.Pattern[str]]:
    """Return the literal that a compound begins with, and what the whole word must fit.

    Raises:
        ConfigError: it holds an unknown field, or a field whose end would be ambiguous.
    """
    tokens = _TOKEN.findall(element)
    if "".join(tokens) != element or any(_is_mark(t) and t not in _FIELDS for t in tokens):
        raise ConfigError(
            f"The element {element!r} holds an unknown field. Inside a word write <HOST:local>, "
            "<PORT>, <URL_PATH> and <QUERY>, such as http://<HOST:local>:<PORT><URL_PATH><QUERY>."
        )
    for token, after in pairwise((*tokens, "")):
        why = _misplaced(token, after)
        if why is not None:
            raise ConfigError(f"In the element {element!r}, {why}.")
    pattern = "".join(_FIELDS.get(token) or re.escape(token) for token in tokens)
    return "" if _is_mark(tokens[0]) else tokens[0], re.compile(pattern)


def _is_mark(token: str) -> bool:
    return token.startswith("<")


def _misplaced(token: str, after: str) -> str | None:
    """Return why a token may not stand before another, ``None`` if it may."""
    if not after:
        return None
    if token == _HOST and after not in {_PATH, _QUERY} and after[0] not in ":/":
        return "<HOST:local> must end the word or precede a :, a /, <URL_PATH> or <QUERY>"
    if token == _PORT and (after in {_HOST, _PORT} or after[0].isalnum() or after[0] in "@.%"):
        return "<PORT> must end the word or precede what cannot continue a port, such as a /"
    if token == _PATH and after in _FIELDS and after != _QUERY:
        return "<URL_PATH> must end the word or precede a literal or <QUERY>"
    return "<QUERY> must be at the end of the word" if token == _QUERY else None
