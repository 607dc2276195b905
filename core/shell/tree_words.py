"""Parse one word of the tree reader: what it says, and what is still to be expanded."""

import re

from core.model.command import OpenWord, PartKind, Word, WordPart

# No name may continue after it; a byte beyond ASCII is a letter to some locales.
# `$(pwd)` is what `$PWD` is: the builtin prints the folder by the names that led there.
_NAME = "HOME|PWD|[a-z][a-z0-9_]*"
_VARIABLE = rf"\$(?:(?:{_NAME})(?![A-Za-z0-9_\x80-\xff])|\{{[a-z][a-z0-9_]*\}}|\(pwd\)|\?|\{{\?\}})"
# Before all but `$`, a backquote, `"`, a backslash and a line break, it is literal.
_ESCAPED_IN_QUOTES = r"\\[\x20-\x7e\x80-\xff\n]"
# Before these no variable's name begins, so the sign is literal: `"\.py$"`, `"s/ *$//"`.
_LONE_DOLLAR = r'\$(?=["/|)])'
_QUOTED_BODY = rf"(?:[^\"$`\\]|{_ESCAPED_IN_QUOTES}|{_LONE_DOLLAR}|{_VARIABLE})*"
_SET = r"\[(?:[A-Za-z0-9_](?:-[A-Za-z0-9_])?)+\]"
# Only inside a word: at its beginning the grammar takes the pair for a gap between words.
_ESCAPED_BLANK = r"(?<=[A-Za-z0-9_./:@%+,^-])\\\x20(?=[A-Za-z0-9_./:@%+,^-])"
# What may leave nothing behind: before `=` or `~` zsh would then expand those.
_NOTHING = rf"(?:''|\"(?:\\\n|{_VARIABLE})*\"|{_VARIABLE})"
_LITERAL = re.compile(
    rf"(?!{_NOTHING}*=)"
    r"(?:[A-Za-z0-9_./:@%+,=^-]++"
    r"|(?<=[A-Za-z0-9_^~}])~"
    r"|(?<=[A-Za-z0-9_./:@%+,=^~}-])\#"
    r"|\{\}|(?<=[@^])\{(?!\.)(?:[A-Za-z0-9_-]|\.(?![.}]))*\}"
    r"|\\[\x21-\x7e]"
    rf"|{_ESCAPED_BLANK}"
    r"|'[^']*+'"
    rf'|"(?:[^"$`\\]++|{_ESCAPED_IN_QUOTES}|{_LONE_DOLLAR})*")+'
)
# Alternatives that begin differently and repeat singly: no text makes this backtrack.
_OPEN = re.compile(
    rf"(?!{_NOTHING}*=)(?!{_NOTHING}+~)(?:~(?=/|\Z))?"
    r"(?:[A-Za-z0-9_./:@%+,=^-]"
    r"|(?<=[A-Za-z0-9_^~}])~"
    r"|(?<=[A-Za-z0-9_./:@%+,=^~}-])\#"
    r"|\{\}|(?<=[@^])\{(?!\.)(?:[A-Za-z0-9_-]|\.(?![.}]))*\}"
    r"|\\[\x21-\x7e]"
    rf"|{_ESCAPED_BLANK}"
    r"|'[^']*'"
    rf'|"{_QUOTED_BODY}"'
    rf"|{_VARIABLE}"
    rf"|[*?]|{_SET})*"
)
_QUOTED = re.compile(r"""'([^']*+)'|"((?:[^"\\]++|\\.)*)"|\\(.)""", re.DOTALL)
_ESCAPED = re.compile(r'\\(?:([$`"\\])|\n)')
_QUOTES = frozenset("'\"")

_PIECE = re.compile(
    r"(?P<tilde>\A~)"
    rf"|\$(?:(?P<value>{_NAME})|\{{(?P<braced>[a-z][a-z0-9_]*)\}}|\((?P<folder>pwd)\))"
    r"|\$(?:(?P<status>\?)|\{(?P<status_braced>\?)\})"
    rf"|(?P<glob>[*?]|{_SET})"
    r"|'(?P<single>[^']*)'"
    r'|"(?P<double>(?:[^"\\]|\\.)*)"'
    r"|\\(?P<escaped>.)"
    r"|(?P<bare>[^'\"\\$*?\[]+)",
    re.DOTALL,
)
_INNER = re.compile(
    rf"\$(?:(?P<quoted>{_NAME})|\{{(?P<quoted_braced>[a-z][a-z0-9_]*)\}}"
    r"|\((?P<quoted_folder>pwd)\)|(?P<status>\?)|\{(?P<status_braced>\?)\})"
    r"|\\(?:(?P<escaped>[$`\"\\])|\n(?P<joined>))"
    r"|(?P<bare>\\|\$|[^\\$]+)"
)
_KINDS = {
    "tilde": PartKind.TILDE,
    "value": PartKind.VALUE,
    "braced": PartKind.VALUE,
    "folder": PartKind.VALUE,
    "glob": PartKind.GLOB,
    "quoted": PartKind.QUOTED_VALUE,
    "quoted_braced": PartKind.QUOTED_VALUE,
    "quoted_folder": PartKind.QUOTED_VALUE,
    "status": PartKind.STATUS,
    "status_braced": PartKind.STATUS,
}


def word_of(raw: str) -> Word | None:
    """Return what one word means, ``None`` where it holds what a shell may expand otherwise.

    Args:
        raw: the word as written, one character per byte.
    """
    if _LITERAL.fullmatch(raw):
        return _literal(raw)
    if not _OPEN.fullmatch(raw):
        return None
    parts: list[WordPart] = []
    text = ""
    for kind, piece in _pieces(raw):
        if kind is PartKind.LITERAL:
            text += piece
            continue
        if text:
            parts.append(WordPart(PartKind.LITERAL, _decoded(text)))
            text = ""
        parts.append(WordPart(kind, piece))
    if text:
        parts.append(WordPart(PartKind.LITERAL, _decoded(text)))
    return OpenWord(tuple(parts))


def _pieces(raw: str) -> list[tuple[PartKind, str]]:
    """Cut a word at its quotes, expansions and globs, left to right."""
    pieces: list[tuple[PartKind, str]] = []
    for found in _PIECE.finditer(raw):
        name = found.lastgroup or ""
        if name == "double":
            pieces += [_piece(inner) for inner in _INNER.finditer(found["double"])]
        else:
            pieces.append(_piece(found))
    return pieces


def _piece(found: re.Match[str]) -> tuple[PartKind, str]:
    name = found.lastgroup or ""
    kind = _KINDS.get(name, PartKind.LITERAL)
    return kind, found[name].upper() if name.endswith("folder") else found[name]


def _decoded(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode()


def _literal(raw: str) -> str:
    """Remove the quotes of a word in which nothing is expanded."""
    inner = raw[1:-1]
    if raw[0] == raw[-1] in _QUOTES and raw[0] not in inner and "\\" not in inner:
        return _decoded(inner)
    return _decoded(_QUOTED.sub(_unquoted, raw))


def _unquoted(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return str(escaped if single is None else single)
