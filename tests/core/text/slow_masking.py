"""Mask and escape by the old way of trying each pattern at each character: the measure.

Copied from the commit before the patterns were made fast; the result must stay the same to the
letter. Only the tables of letters are shared. What follows an escape was added later.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from core.text.confusables import _LOOKALIKES, _is_odd
from core.text.escape import broken, counted
from core.text.ordinary_values import is_ordinary
from core.text.secrets import Piece, mark
from core.text.vendor_tokens import VENDOR_TOKENS

_TIMES = "\u00d7"
_MIXABLE = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL"})
_CHARACTER = r"(?:[^\s'\"`$;|&<>(){}\[\]*?\\]|\$(?![({'\"`]))"
_VALUE = rf"(?!\$){_CHARACTER}{{3,}}"
_USER = r"[^\s'\"`$;|&<>(){}\[\]*?\\/:@]"
_WORD = (
    r"(?:password|passwd|passphrase|token|secret|api[_-]?key|access[_-]?key|secret[_-]?key"
    r"|private[_-]?key|session[_-]?key|signing[_-]?key|account[_-]?key|encryption[_-]?key"
    r"|master[_-]?key|secret[_-]?key[_-]?base|credentials?"
    r"|(?<![a-z])(?:pass|pwd(?!=[/.~])|auth))"
)
_GAP = r"[^\S\n]"
_APART = rf"(?:{_GAP}*[:?]={_GAP}*|{_GAP}*:{_GAP}*|(?:{_GAP}+|(?<=[\"'])){_GAP}*={_GAP}*)"
_QUOTE = r"(?:[bBuUrR]{0,2}[\"'])?"
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
    (
        "API key",
        r"(?<![A-Za-z0-9])(?P<{{}}>{})".format(
            "|".join(
                f"{re.escape(lead)}[{signs}]{{{{{least},}}}}"
                for lead, signs, least in VENDOR_TOKENS
            )
        ),
    ),
    ("SendGrid key", r"(?<![A-Za-z0-9])(?P<{}>SG\.[\w-]{{16,}}\.[\w-]{{16,}})"),
    ("JWT", r"(?<![\w-])(?P<{}>eyJ[\w-]{{5,}}\.[\w-]{{5,}}\.[\w-]*)"),
    (
        "credentials",
        r"(?i:\bauthorization(?:[\"']?{apart}|=)[\"']?(?:[a-z]+{gap}+)?)(?P<{}>{value})",
    ),
    ("bearer token", r"(?i:\bbearer{gap}+)(?P<{}>[A-Za-z0-9._~+/=-]{{8,}})"),
    ("URL credentials", r"://(?P<{}>{user}{{0,200}}:(?:{user}|[:@]){{1,200}})(?=@)"),
    ("URL credentials", r"://(?P<{}>{user}{{16,200}})(?=@)"),
    ("password", r"(?<=\s)(?:-u|--user)[ =]?[\w.@-]+:(?P<{}>(?!\d+(?:\s|$)){value})"),
    ("secret", r"(?i:{word}[\"'],{gap}*[\"']value[\"']{gap}*:{gap}*[\"'])(?P<{}>{value})"),
    ("secret", r"(?i:{word}(?:[\"']?\]?{apart}|[\"']?\]?\+?=){quote})(?P<{}>{value})"),
    ("secret", r"(?i:(?<!-)--(?!-)[\w-]{{0,40}}?{word}{gap}+[\"']?)(?P<{}>(?!-){value})"),
)

_PARTS = {
    "value": _VALUE,
    "user": _USER,
    "word": _WORD,
    "gap": _GAP,
    "apart": _APART,
    "quote": _QUOTE,
}
_ALL = re.compile(
    "|".join(pattern.format(f"s{number}", **_PARTS) for number, (_, pattern) in enumerate(_SHAPES))
)
_EACH = tuple(
    re.compile(pattern.format(f"s{number}", **_PARTS))
    for number, (_, pattern) in enumerate(_SHAPES)
)
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?P<body>(?:{_BLANKS}(?:Proc-Type|DEK-Info|Version|Comment): [\w,. -]{{1,200}}){{0,8}}"
    rf"(?:{_BLANKS}{_KEY_LINE})+)"
)
_PEM_LINE = re.compile(rf"(?:(?<=\s)|(?<=\\[nr])){_KEY_LINE}")
_CALL = re.compile(
    r"(?<!\w)(?:do|eval|evalbytes|exec|kill|load|open|readpipe|rename|require|rmdir|symlink|syscall"
    r"|system|truncate|unlink)[+~!]|%x[^\w\s]"
)
_ALIAS = re.compile(r"(?:(?<![^\s;&|({'\"])alias[ \t][^\n;&|]*|alias\.[\w-]*)\Z")
_SECRET_OPTION = re.compile(rf"--?[\w-]*{_WORD}", re.IGNORECASE)
_PATH = re.compile(r"(?:\A|[ \t\n\r\v\f'\"`;|&<>(){}=])(?:~|\.\.?)?/[A-Za-z0-9._@+~/-]*\Z")
_WHOLE_VALUE = re.compile(rf"(?!-){_CHARACTER}+")


def pieces(text: str, *, word: bool = False) -> Iterator[Piece]:
    """Cut a text as ``core.text.secrets`` did."""
    end = 0
    for start, stop, kind in _spans(text, word=word):
        if stop <= end:
            continue
        if start > end:
            yield Piece(text[end:start])
        yield Piece(text[max(start, end) : stop], kind)
        end = stop
    if end < len(text):
        yield Piece(text[end:])


def argument_pieces(argument: str, before: str = "") -> tuple[Piece, ...]:
    """Cut an argument as ``core.text.secrets`` did."""
    if _SECRET_OPTION.fullmatch(before) and _WHOLE_VALUE.fullmatch(argument):
        return (Piece(argument, "secret"),)
    return tuple(pieces(argument, word=True))


def _goes_on_a_path(text: str, start: int, secret: int) -> bool:
    return start == secret and _PATH.search(text[:start]) is not None


def _spans(text: str, *, word: bool) -> list[tuple[int, int, str]]:
    spans = [
        (*match.span(group), kind)
        for words in (text, _bare(text))
        for match, group in _matches(words)
        for kind in (_SHAPES[int(group[1:])][0],)
        if not _CALL.search(match[group])
        and not (kind == "secret" and _ALIAS.search(text[: match.start()]))
        and not (word and _goes_on_a_path(words, match.start(), match.start(group)))
    ]
    shown, places = _joined(text)
    for match, group in _matches(shown):
        kind = _SHAPES[int(group[1:])][0]
        at = next(one for one in places[match.start() :] if one >= 0)
        if _CALL.search(match[group]) or (kind == "secret" and _ALIAS.search(text[:at])):
            continue
        if word and _goes_on_a_path(shown, match.start(), match.start(group)):
            continue
        kept = [places[one] for one in range(*match.span(group))]
        for _, run in groupby(enumerate(kept), lambda pair: pair[1] - pair[0]):
            stretch = [pair[1] for pair in run]
            if stretch[0] >= 0:
                spans.append((stretch[0], stretch[-1] + 1, kind))
    for block in _PEM.finditer(text):
        lines = _PEM_LINE.finditer(text, *block.span("body"))
        spans.extend((*line.span(), "private key") for line in lines)
    return sorted(spans, key=lambda span: (span[0], -span[1], span[2]))


_CSI = r"(?:\x1b\[|\\(?:e|x1b|x1B|u001b|u001B|33|033)\[|\^\[\[|\x9b)[0-?]*[ -/]*[@-~]"
_ENDS_OF_ESCAPES = (
    _CSI,
    r"(?:\x1b|\^\[)[ -/]+[0-~]",
    r"(?:\x1b|\^\[)[0-?DEHMNOZc]",
    r"\\U[0-9A-Fa-f]{8}",
    r"\\u[0-9A-Fa-f]{4}",
    r"\\x[0-9A-Fa-f]{2}",
    r"\\[0-7]{1,4}",
    r"\\[abefnrtv]",
    r"%(?:25)*[0-9A-Fa-f]{2}",
    r"%[-+ #.0-9]*[A-Za-z]",
    r"=[0-9A-F]{2}",
    r"\^[@-_]",
)
_LEFT_OUT = tuple(
    (re.compile(pattern), sign)
    for pattern, sign in (
        (_CSI, ""),
        (r"(?<!\\)\\+(?=[\"'])", ""),
        *((rf"(?<!\\)\\+u00{code}", sign) for code, sign in (("22", '"'), ("27", "'"))),
        (r"(?<!\\)\\+u003[Dd]", "="),
        *((rf"%(?:25)*{code}", sign) for code, sign in (("22", '"'), ("27", "'"), ("40", "@"))),
        *((rf"%(?:25)*{code}", sign) for code, sign in (("2[Ff]", "/"), ("3[Aa]", ":"))),
        (r"%(?:25)*3[Dd]", "="),
    )
)
_BEGINNINGS = "\x1b\x9b\\^%"
_REST_OF_PATH = re.compile(r"[^\s'\"\x1b\x9b\[]*/")


def _joined(text: str) -> tuple[str, list[int]]:
    """Return a text without colours and with decoded signs, and where each character was."""
    place, apart = 0, False
    shown: list[str] = []
    places: list[int] = []
    while place < len(text):
        found = (one.match(text, place) for one, _ in _LEFT_OUT if text[place] in _BEGINNINGS)
        hit = next(filter(None, found), None)
        if hit is None:
            apart = apart and text[place] not in "'\"" and not text[place].isspace()
            shown.append(text[place])
            places.append(place)
            place += 1
            continue
        apart = apart or ";" in hit[0]
        place = hit.end()
        sign = next(sign for one, sign in _LEFT_OUT if one == hit.re)
        sign = "\n" if apart and _REST_OF_PATH.match(text, place) else sign
        shown.append(sign)
        places += [-1] * len(sign)
    return "".join(shown), places


def _bare(text: str) -> str:
    """Return a text whose escapes before a word are no part of it, at the same length."""
    place, shown = 0, ""
    while place < len(text):
        ends = _ENDS_OF_ESCAPES if text[place] in f"{_BEGINNINGS}=" else ()
        found = (re.compile(one).match(text, place) for one in ends)
        end = next((it.end() for it in found if it and re.match(r"\w", text[it.end() :])), 0)
        shown += "\\" * (end - place) if end else text[place]
        place = max(end, place + 1)
    return shown


def _matches(text: str) -> Iterator[tuple[re.Match[str], str]]:
    match = _ALL.search(text)
    while match is not None:
        found = match if _is_kept(match) else _later(text, match)
        if found is not None and found.lastgroup is not None:
            yield found, found.lastgroup
        match = _ALL.search(text, match.start() + 1 if found is None else found.end())


def _is_kept(match: re.Match[str]) -> bool:
    kind = _SHAPES[int((match.lastgroup or "")[1:])][0]
    if kind not in {"secret", "credentials"}:
        return True
    group = match.lastgroup or ""
    alone = re.compile(f"(?s:.{{{match.start(group)}}})(.{{{len(match[group])}}})", re.DOTALL)
    found = alone.match(match.string)
    assert found is not None
    return not is_ordinary(found)


def _later(text: str, refused: re.Match[str]) -> re.Match[str] | None:
    """Return what a later shape finds at the place of a match that is no secret."""
    first = int((refused.lastgroup or "")[1:]) + 1
    tries = (one.match(text, refused.start()) for one in _EACH[first:])
    return next((one for one in tries if one is not None and _is_kept(one)), None)


_SPECIAL = re.compile(
    r"[\x00-\x1f\x7f]"
    r"|\\(?=u\{)"
    r"|\[(?=secret:)"
    r"|(?P<blanks> {17,})"
    r"|(?P<word>(?<![A-Za-z0-9])[A-Za-z0-9]*+[^\x00-\x7f](?:[A-Za-z0-9]|[^\x00-\x7f])*)"
)
_OUTSIDE_ASCII = re.compile(r"[^\x00-\x7f]")


def redact(text: str, *, multiline: bool = False, strict: bool = False) -> str:
    """Mask and escape a text as ``core.text.escape`` did."""
    escaped = "".join(_shown(piece, strict=strict) for piece in pieces(text))
    if text and not text.strip(" "):
        escaped = "\\u{0020}" * len(text)
    return counted(broken(escaped) if multiline else escaped)


def _shown(piece: Piece, *, strict: bool = False) -> str:
    """Show a piece as ``core.text.escape`` did."""
    if piece.kind:
        return mark(piece.kind)
    return _SPECIAL.sub(_escape_all if strict else _escape, piece.text)


def _escape(match: re.Match[str]) -> str:
    if match["word"]:
        return _word(match["word"])
    if match["blanks"]:
        return f"\\u{{0020}}\\u{{{_TIMES}{len(match['blanks'])}}}"
    return _code(match[0])


def _escape_all(match: re.Match[str]) -> str:
    if match["word"]:
        return _OUTSIDE_ASCII.sub(lambda found: _code(found[0]), match["word"])
    return _escape(match)


def _word(word: str) -> str:
    suspicious = _deceptive(word)
    kept: list[str] = []
    for character in word:
        if character.isascii():
            kept.append(character)
        elif suspicious or _is_odd(character) or _stray_mark(character, "".join(kept[-3:])):
            kept.append(_code(character))
        else:
            kept.append(character)
    return "".join(kept)


def _code(character: str) -> str:
    return f"\\u{{{ord(character):04X}}}"


def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").partition(" ")[0]


def _deceptive(word: str) -> bool:
    letters = [character for character in word if character.isalpha()]
    foreign = [letter for letter in letters if not letter.isascii()]
    scripts = {_script(letter) for letter in letters}
    if len(scripts) > 1 and not scripts - {"LATIN"} <= _MIXABLE:
        return True
    return bool(foreign) and all(letter in _LOOKALIKES for letter in foreign)


def _stray_mark(character: str, before: str) -> bool:
    if not unicodedata.category(character).startswith("M"):
        return False
    tail = before[-3:]
    bases = [other for other in tail if not unicodedata.category(other).startswith("M")]
    return not bases or bases[-1].isascii() or not bases[-1].isalpha()
