"""Find secrets by their shape, so that no outbound text carries one.

A masked span is a place where an approver does not see what runs, so a span can only hold
characters that a shell takes as they are: no blank, quote, substitution, separator or glob, and no
call of Perl or Ruby. What could be code stays visible, even where that leaves the end of an odd
passphrase visible too.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CHARACTER = r"(?:[^\s'\"`$;|&<>(){}\[\]*?\\]|\$(?![({'\"`]))"
_VALUE = rf"(?!\$){_CHARACTER}{{3,}}"
_USER = r"[^\s'\"`$;|&<>(){}\[\]*?\\/:@]"
_WORD = (
    r"(?:password|passwd|passphrase|token|secret|api[_-]?key|access[_-]?key|secret[_-]?key"
    r"|private[_-]?key|session[_-]?key|signing[_-]?key|account[_-]?key|credentials?"
    r"|(?<![a-z])(?:pass|pwd(?!=[/.~])|auth))"
)
_BLANKS = r"(?:\s|\\[nr])+"
_KEY_LINE = r"(?:[A-Za-z0-9+/]{16,}={0,2}|=?[A-Za-z0-9+/]{1,15}={1,2})"

_SHAPES: tuple[tuple[str, str], ...] = (
    ("AWS key", r"(?<![A-Za-z0-9])(?P<{}>(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}})(?![A-Za-z0-9])"),
    ("Sayso token", r"(?<![A-Za-z0-9])(?P<{}>sayso_[A-Za-z0-9]{{16,}})"),
    ("GitHub token", r"(?<![A-Za-z0-9])(?P<{}>gh[opusr]_[A-Za-z0-9]{{16,}})"),
    ("GitHub token", r"(?<![A-Za-z0-9])(?P<{}>github_pat_[A-Za-z0-9_]{{16,}})"),
    ("GitLab token", r"(?<![A-Za-z0-9])(?P<{}>gl(?:pat|ptt|rt|cbt)-[A-Za-z0-9_-]{{16,}})"),
    ("Slack token", r"(?<![A-Za-z0-9])(?P<{}>(?:xox[a-z]|xapp)-[A-Za-z0-9-]{{8,}})"),
    ("Slack webhook", r"hooks\.slack\.com/(?:services|workflows)/(?P<{}>[A-Za-z0-9/]{{16,}})"),
    ("Discord webhook", r"discord(?:app)?\.com/api/webhooks/\d+/(?P<{}>[A-Za-z0-9_-]{{16,}})"),
    ("Discord token", r"(?<![\w-])(?P<{}>[MNO][\w-]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27,}})"),
    ("Telegram token", r"(?<!\d)(?P<{}>\d{{6,12}}:[A-Za-z0-9_-]{{30,}})"),
    ("API key", r"(?<![A-Za-z0-9])(?P<{}>sk-[A-Za-z0-9_-]{{16,}})"),
    ("Stripe key", r"(?<![A-Za-z0-9])(?P<{}>(?:[sr]k|whsec)_(?:live_|test_)?[A-Za-z0-9]{{16,}})"),
    ("Google key", r"(?<![A-Za-z0-9])(?P<{}>AIza[A-Za-z0-9_-]{{30,}}|ya29\.[\w-]{{16,}})"),
    ("npm token", r"(?<![A-Za-z0-9])(?P<{}>npm_[A-Za-z0-9]{{30,}})"),
    ("PyPI token", r"(?<![A-Za-z0-9])(?P<{}>pypi-[A-Za-z0-9_-]{{40,}})"),
    ("API key", r"(?<![A-Za-z0-9])(?P<{}>hf_[A-Za-z0-9]{{30,}}|do[opr]_v1_[a-f0-9]{{40,}})"),
    ("SendGrid key", r"(?<![A-Za-z0-9])(?P<{}>SG\.[\w-]{{16,}}\.[\w-]{{16,}})"),
    ("JWT", r"(?<![\w-])(?P<{}>eyJ[\w-]{{5,}}\.[\w-]{{5,}}\.[\w-]*)"),
    ("credentials", r"(?i:\bauthorization\s*[:=]\s*(?:[a-z]+\s+)?)(?P<{}>" + "{value})"),
    ("bearer token", r"(?i:\bbearer\s+)(?P<{}>[A-Za-z0-9._~+/=-]{{8,}})"),
    ("URL credentials", r"://(?P<{}>{user}{{0,200}}:(?:{user}|[:@]){{1,200}})(?=@)"),
    ("URL credentials", r"://(?P<{}>{user}{{16,200}})(?=@)"),
    ("password", r"(?<=\s)(?:-u|--user)[ =]?[\w.@-]+:(?P<{}>(?!\d+(?:\s|$)){value})"),
    ("secret", r"(?i:{word}[\"']?\s*[=:]\s*[\"']?)(?P<{}>{value})"),
    ("secret", r"(?i:(?<!-)--(?!-)[\w-]{{0,40}}?{word}\s+[\"']?)(?P<{}>(?!-){value})"),
)
"""Kind in words, and a pattern whose named group is the span to mask."""

_ALL = re.compile(
    "|".join(
        pattern.format(f"s{number}", value=_VALUE, user=_USER, word=_WORD)
        for number, (_, pattern) in enumerate(_SHAPES)
    )
)
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?P<body>(?:{_BLANKS}(?:Proc-Type|DEK-Info|Version|Comment): [\w,. -]+)*"
    rf"(?:{_BLANKS}{_KEY_LINE})+)"
)
_PEM_LINE = re.compile(rf"(?:(?<=\s)|(?<=\\[nr])){_KEY_LINE}")
_CALL = re.compile(
    r"(?<!\w)(?:do|eval|evalbytes|exec|kill|load|open|readpipe|rename|require|rmdir|symlink|syscall"
    r"|system|truncate|unlink)[+~!]|%x[^\w\s]"
)
"""A call of Perl or Ruby, which needs none of the characters that a span may not hold."""
_SECRET_OPTION = re.compile(rf"--?[\w-]*{_WORD}", re.IGNORECASE)
_WHOLE_VALUE = re.compile(rf"(?!-){_CHARACTER}+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text: open where ``kind`` is empty, otherwise a secret of that kind."""

    text: str
    kind: str = ""


def mark(kind: str) -> str:
    """Return what stands for a secret of ``kind``."""
    return f"[secret: {kind}]"


def pieces(text: str) -> Iterator[Piece]:
    """Cut ``text`` into open stretches and secrets; joined again they are ``text``."""
    end = 0
    for start, stop, kind in _spans(text):
        if start < end:
            continue
        if start > end:
            yield Piece(text[end:start])
        yield Piece(text[start:stop], kind)
        end = stop
    if end < len(text):
        yield Piece(text[end:])


def argument_pieces(argument: str, before: str = "") -> tuple[Piece, ...]:
    """Cut one element of an argument vector; ``before`` is the element in front of it.

    Elements know their own bounds, so the value of ``--password VALUE`` is found without quotes.
    """
    if _SECRET_OPTION.fullmatch(before) and _WHOLE_VALUE.fullmatch(argument):
        return (Piece(argument, "secret"),)
    return tuple(pieces(argument))


def mask(text: str) -> str:
    """Return ``text`` with each secret replaced by ``[secret: kind]``; nothing is escaped."""
    return "".join(mark(piece.kind) if piece.kind else piece.text for piece in pieces(text))


def _spans(text: str) -> list[tuple[int, int, str]]:
    spans = [
        (*match.span(group), _SHAPES[int(group[1:])][0])
        for match, group in _matches(text)
        if not _CALL.search(match[group])
    ]
    for block in _PEM.finditer(text):
        lines = _PEM_LINE.finditer(text, *block.span("body"))
        spans.extend((*line.span(), "private key") for line in lines)
    return sorted(spans)


def _matches(text: str) -> Iterator[tuple[re.Match[str], str]]:
    for match in _ALL.finditer(text):
        if match.lastgroup is not None:
            yield match, match.lastgroup
