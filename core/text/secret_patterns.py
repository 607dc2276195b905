"""Define what secrets look like, and find each of them in time that grows with the text alone.

A shape is a pattern; what the shapes find is what one alternation of all of them would, leftmost
first and in this order. Trying 25 alternatives at each character takes a microsecond per character,
so each shape is searched for on its own: not at all where a word that it needs is missing,
otherwise by its *head*, the pattern cut to a fixed length, which starts with a letter that the
engine can jump to. Only where a head is found is the whole pattern tried.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

from core.text.ordinary_values import is_ordinary
from core.text.secret_names import NAMES, WORD
from core.text.vendor_tokens import VENDOR_TOKENS, vendor_pattern

PLAIN = r"[^\s'\"`$;|&<>(){}\[\]*?\\]"
DOLLAR = r"\$(?![({'\"`])"
_USER = r"[^\s'\"`$;|&<>(){}\[\]*?\\/:@]"
_USER_OR_SIGN = r"[^\s'\"`$;|&<>(){}\[\]*?\\/]"
# Within a line: what begins the next line, or follows `NAME= `, is a command to a shell.
_BLANKS = {
    "before": r"[^\S\n]*",
    "gap": r"[^\S\n]+",
    "to": r"(?:[:?]=|:|=(?<=[\s\"']=))",
    "quote": r"(?:[bBuUrR]{0,2}[\"'])?",
}
_HEAD = {"more": "", "value": rf"(?!\$)(?:{PLAIN}|{DOLLAR}){{3}}"}
_WHOLE = {"more": ",", "value": f"{_HEAD['value']}(?:{PLAIN}++|{DOLLAR})*"}


@dataclass(frozen=True, slots=True, init=False)
class Shape:
    """A kind of secret, in words, and how it is found; group 1 of ``whole`` is what to mask.

    ``needles``: every text of this shape contains one of them. ``folded``: needles and head
    are for the text in lower case; the pattern's own ``(?i:`` count for ``whole`` alone.
    """

    kind: str
    needles: tuple[str, ...]
    folded: bool
    head: re.Pattern[str]
    whole: re.Pattern[str]

    def __init__(self, kind: str, needles: str | tuple[str, ...], pattern: str) -> None:
        folded = "(?i:" in pattern
        put = object.__setattr__
        put(self, "kind", kind)
        put(self, "needles", (needles,) if isinstance(needles, str) else needles)
        put(self, "folded", folded)
        words = {"user": _USER, "user_or_sign": _USER_OR_SIGN, "word": WORD, **_BLANKS}
        head = pattern.replace("(?i:", "(?:").format(**words, **_HEAD)
        put(self, "head", re.compile(head))
        put(self, "whole", re.compile(pattern.format(**words, **_WHOLE)))

    @property
    def is_named(self) -> bool:
        """Return whether a name says that the value behind it is a secret."""
        return NAMES is self.needles or self.needles == ("authorization",)

    def seen_in(self, text: str) -> bool:
        """Return whether a text can have this shape at all."""
        return any(needle in text for needle in self.needles)


SHAPES = (
    Shape(
        "AWS key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        r"(A(?:KIA|SIA|BIA|CCA)(?<![A-Za-z0-9]....)[A-Z0-9]{{16}})(?![A-Za-z0-9])",
    ),
    Shape("Sayso token", "sayso_", r"(sayso_(?<![A-Za-z0-9]sayso_)[A-Za-z0-9]{{16{more}}})"),
    Shape(
        "GitHub token",
        ("gho_", "ghp_", "ghu_", "ghs_", "ghr_"),
        r"(gh[opusr]_(?<![A-Za-z0-9]gh._)[A-Za-z0-9]{{16{more}}})",
    ),
    Shape(
        "GitHub token",
        "github_pat_",
        r"(github_pat_(?<![A-Za-z0-9]github_pat_)[A-Za-z0-9_]{{16{more}}})",
    ),
    Shape(
        "GitLab token",
        ("glpat-", "glptt-", "glrt-", "glcbt-"),
        r"(gl(?<![A-Za-z0-9]gl)(?:pat|ptt|rt|cbt)-[A-Za-z0-9_-]{{16{more}}})",
    ),
    Shape(
        "Slack token",
        ("xox", "xapp-"),
        r"(x(?<![A-Za-z0-9]x)(?:ox[a-z]|app)-[A-Za-z0-9-]{{8{more}}})",
    ),
    Shape(
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/]{{16{more}}})",
    ),
    Shape(
        "Discord webhook",
        ".com/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d+/([A-Za-z0-9_-]{{16{more}}})",
    ),
    Shape(
        "Discord token",
        ".",
        r"([MNO](?<![\w-][MNO])[\w-]{{23,27}}\.[\w-]{{6}}\.[\w-]{{27{more}}})",
    ),
    Shape("Telegram token", ":", r"(\d(?<!\d\d)\d{{5,11}}:[A-Za-z0-9_-]{{30{more}}})"),
    Shape("API key", "sk-", r"(sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{{16{more}}})"),
    Shape(
        "Stripe key",
        ("sk_", "rk_", "whsec_"),
        r"((?:s(?<![A-Za-z0-9]s)k|r(?<![A-Za-z0-9]r)k|w(?<![A-Za-z0-9]w)hsec)_(?:live_|test_)?"
        r"[A-Za-z0-9]{{16{more}}})",
    ),
    Shape(
        "Google key",
        ("AIza", "ya29."),
        r"(A(?<![A-Za-z0-9]A)Iza[A-Za-z0-9_-]{{30{more}}}"
        r"|y(?<![A-Za-z0-9]y)a29\.[\w-]{{16{more}}})",
    ),
    Shape("npm token", "npm_", r"(npm_(?<![A-Za-z0-9]npm_)[A-Za-z0-9]{{30{more}}})"),
    Shape("PyPI token", "pypi-", r"(pypi-(?<![A-Za-z0-9]pypi-)[A-Za-z0-9_-]{{40{more}}})"),
    Shape(
        "API key",
        ("hf_", "_v1_"),
        r"(h(?<![A-Za-z0-9]h)f_[A-Za-z0-9]{{30{more}}}"
        r"|d(?<![A-Za-z0-9]d)o[opr]_v1_[a-f0-9]{{40{more}}})",
    ),
    Shape("API key", tuple(lead for lead, _, _ in VENDOR_TOKENS), f"({vendor_pattern()})"),
    Shape("SendGrid key", "SG.", r"(SG\.(?<![A-Za-z0-9]SG\.)[\w-]{{16,}}\.[\w-]{{16{more}}})"),
    Shape("JWT", "eyJ", r"(eyJ(?<![\w-]eyJ)[\w-]{{5,}}\.[\w-]{{5,}}\.[\w-]*)"),
    Shape(
        "credentials",
        "authorization",
        r"(?i:authorization(?<!\wauthorization)(?:[\"']?{before}{to}{before}|=)[\"']?(?:[a-z]+{gap})?)"
        r"({value})",
    ),
    Shape(
        "bearer token",
        "bearer",
        r"(?i:bearer(?<!\wbearer){gap})([A-Za-z0-9._~+/=-]{{8{more}}})",
    ),
    Shape("URL credentials", "@", r"://({user}{{0,200}}:{user_or_sign}{{1,200}})(?=@)"),
    Shape("URL credentials", "@", r"://({user}{{16,200}})(?=@)"),
    Shape(
        "password",
        "-u",
        r"-(?<=\s-)(?:u|-user)[ =]?[\w.@-]+:((?!\d+(?:\s|$)){value})",
    ),
    Shape(
        "secret", NAMES, r"(?i:{word}[\"'],{before}[\"']value[\"']{before}:{before}[\"'])({value})"
    ),
    Shape(
        "secret",
        NAMES,
        r"(?i:{word}(?:[\"']?\]?{before}{to}{before}|[\"']?\]?\+?=){quote})({value})",
    ),
    Shape(
        "secret",
        NAMES,
        r"(?i:--(?<!---)(?=[\w-]{{1,60}}(?<=[dehlnsty])\s)(?!-)[\w-]{{0,40}}?{word}{gap}[\"']?)"
        r"((?!-){value})",
    ),
)
"""In the order of precedence where several begin at one character."""


_SOME_NEEDLE = re.compile(
    "|".join(
        re.escape(needle.lower()) for shape in SHAPES for needle in shape.needles if len(needle) > 1
    )
    + r"|\.[\w-]{6}\.|:[\w-]{30}|://"
)
"""What each text that has a shape at all contains in lower case: one search of a short text."""
_SHORT = 256


def matches(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield what the shapes find, from left to right without overlap, each with its kind."""
    folded, end = fold(text), 0
    if len(text) < _SHORT and not _SOME_NEEDLE.search(folded):
        return
    nexts = [(found.start(), number) for number, found in _firsts(text, folded)]
    heapify(nexts)
    while nexts:
        at, number = nexts[0]
        shape = SHAPES[number]
        match = shape.whole.match(text, at) if at >= end else None
        if match is not None and not (shape.is_named and is_ordinary(match)):
            yield match, shape.kind
            end = match.end()
        found = shape.head.search(folded if shape.folded else text, max(end, at + 1))
        if found is None:
            heappop(nexts)
        else:
            heapreplace(nexts, (found.start(), number))


def suspects(text: str) -> Iterator[tuple[int, int]]:
    """Yield stretches outside which no shape begins, in no order."""
    folded = fold(text)
    for number, _ in _firsts(text, folded):
        shape = SHAPES[number]
        for found in shape.head.finditer(folded if shape.folded else text):
            yield found.span()


def _firsts(text: str, folded: str) -> Iterator[tuple[int, re.Match[str]]]:
    for number, shape in enumerate(SHAPES):
        where = folded if shape.folded else text
        found = shape.head.search(where) if shape.seen_in(where) else None
        if found is not None:
            yield number, found


def fold(text: str) -> str:
    """Return a text of the same length, its letters representing all that ``(?i:`` takes for them.

    Outside ASCII these are the long s, the dotless and the dotted i, and the sign of the kelvin.
    """
    if not text.isascii():
        text = text.replace("\u017f", "s").replace("\u0131", "i").replace("\u0130", "i")
    return text.lower()
