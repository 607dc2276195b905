"""Find secrets in forms in which programs print them, and which in a command could be what runs.

These are values on the line after their name, in the columns of a table and in elements of XML,
cookies, signatures in addresses, and keys of PuTTY. Commands are not searched for them: a mask
could hide what a shell would start (``core.text.secrets``).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from core.text.ordinary_values import is_ordinary
from core.text.printed_settings import SETTINGS
from core.text.secret_names import WORD
from core.text.secret_patterns import fold
from core.text.secrets import Piece

_NAMED: Final = "secret"
_VALUE: Final = r"[^\s'\"<>]{3,}"
_NAME: Final = rf"(?i:{WORD})[\"']?"


@dataclass(frozen=True, slots=True)
class _Form:
    """What group 1 of a pattern finds; a text without ``needle`` in lower case has none."""

    kind: str
    needle: str
    pattern: re.Pattern[str]


_FORMS: Final = (
    _Form("cookie", "cookie", re.compile(r"(?i:\bset-cookie: ?[^\s=;]{1,80}=)([^\s;]{3,})")),
    _Form("cookie", "cookie", re.compile(r"(?i:(?<![\w-])cookie: ?)([^\s=;]{1,80}=[^\n\r]{3,})")),
    _Form(
        "signature",
        "sig",
        re.compile(
            r"[?&;](?i:X-(?:Amz|Goog|Oss)-(?:Signature|Security-Token|Credential)|Signature|sig)="
            r"([\w%+/=.~-]{8,})"
        ),
    ),
    _Form(
        _NAMED,
        "login",
        re.compile(rf"(?i:\blogin\s{{1,9}}\S{{1,100}}\s{{1,9}}password\s{{1,9}})({_VALUE})"),
    ),
    _Form(_NAMED, "=>", re.compile(rf"{_NAME}[ \t]{{0,40}}=>[ \t]{{0,40}}[\"']?({_VALUE})")),
    _Form(
        _NAMED,
        "</",
        re.compile(
            rf"<(?i:[\w:.-]{{0,40}}?{WORD})(?: [^<>\n]{{0,200}})?>\s{{0,40}}"
            rf"({_VALUE})(?=\s{{0,40}}</)"
        ),
    ),
    _Form(_NAMED, "= ", re.compile(rf"{_NAME}=[ \t]{{1,40}}[\"']?({_VALUE})")),
    _Form(
        _NAMED,
        "\n",
        # One word of eight characters or more, with a digit: an answer to a question is prose.
        re.compile(
            rf"{_NAME}[ \t]{{0,40}}[:=][ \t]{{0,40}}\r?\n[ \t\r\n]{{0,40}}"
            r"(?=\S{0,200}\d)([^\s'\"<>:]{8,200})(?=[ \t\r]*(?:\n|\Z))"
        ),
    ),
    _Form(
        "private key",
        "ls0tls1crudjtib",  # what base64 makes of `-----BEGIN `, and then of the kind of a key
        re.compile(
            r"(LS0tLS1CRUdJTiB(?:SU0Eg|QUklWQVR|FQyBQ|PUEVOU1NI|FTkNSWVBU|EU0EgU|QR1Ag)"
            r"(?:[A-Za-z0-9+/]+\r?\n(?=[A-Za-z0-9+/]{16}))*[A-Za-z0-9+/]{16,}={0,2})"
        ),
    ),
    _Form(
        "private key",
        "private-lines",
        re.compile(r"Private-Lines: \d{1,4}\r?\n((?:[A-Za-z0-9+/=]{1,64}\r?\n)+)"),
    ),
    # Keys of Mailchimp, Mailgun and Twilio.
    _Form("API key", "-us", re.compile(r"\b([0-9a-f]{32}-us\d{1,2})(?![\w-])")),
    _Form("API key", "key-", re.compile(r"(?<![\w-])(key-[0-9a-f]{32})(?![\w-])")),
    _Form("API key", "sk", re.compile(r"(?<![\w-])(SK[0-9a-f]{32})(?![\w-])")),
    *(_Form(_NAMED, needle, pattern) for needle, pattern in SETTINGS),
)


def value_pieces(text: str) -> Iterator[Piece]:
    """Cut a text into open stretches and such values; joined again they are ``text``."""
    end = 0
    for start, stop, kind in sorted(_spans(text)):
        if start >= end:
            yield Piece(text[end:start])
            yield Piece(text[start:stop], kind)
            end = stop
    yield Piece(text[end:])


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    folded = fold(text)
    for form in _FORMS:
        if form.needle in folded:
            for one in form.pattern.finditer(text):
                if form.kind != _NAMED or not is_ordinary(one):
                    yield *one.span(1), form.kind


def opened(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield pieces, the open ones cut further by ``value_pieces``."""
    for one in pieces:
        yield from value_pieces(one.text) if not one.kind else (one,)
