"""Parse one word of the second reader, character by character (POSIX XCU 2.2 and 2.6)."""

import re

from core.model.command import OpenWord, PartKind, Word, WordPart

# A tilde further on is literal: this reader joins no assignments.
_OPENING = re.compile(r"\A~|[$*?\[]")
_INSIDE = frozenset("\\$")


def word_of(token: str) -> Word:
    """Return what a word means that the second reader has cut out and accepted."""
    mark = token[0]
    # One quoted text alone is the commonest word that is not plain.
    whole = mark in "'\"" and token.find(mark, 1) == len(token) - 1
    if whole and (mark == "'" or _INSIDE.isdisjoint(token)):
        return token[1:-1]
    if _OPENING.search(token):
        return _opened(token)
    plain = "'" not in token and '"' not in token and "\\" not in token
    return token if plain else _literal(token)


def _opened(token: str) -> Word:
    """Remove the quotes of one word and keep apart what is to be expanded (XCU 2.6)."""
    parts: list[WordPart] = []
    literal = ""
    at, quoted = 0, False
    while at < len(token):
        if token[at] == '"':
            quoted = not quoted
            at += 1
            continue
        kind, piece, at = _inside(token, at) if quoted else _outside(token, at)
        if kind is PartKind.LITERAL:
            literal += piece
        elif piece:
            parts += _literal_part(literal)
            parts.append(WordPart(kind, piece))
            literal = ""
    return OpenWord((*parts, *_literal_part(literal))) if parts else literal


def _literal_part(text: str) -> tuple[WordPart, ...]:
    return (WordPart(PartKind.LITERAL, text),) if text else ()


def _outside(token: str, at: int) -> tuple[PartKind, str, int]:
    """Return the part that begins at ``at``, outside double quotes, and where the next one does."""
    mark = token[at]
    end = at + 1
    if mark == "'":
        end = token.index("'", end)
        return PartKind.LITERAL, token[at + 1 : end], end + 1
    if mark == "\\":
        return PartKind.LITERAL, token[end], end + 1
    if mark == "$":
        written, name = _named(token, end)
        return _kind_of(name, PartKind.VALUE), name, end + len(written)
    if mark == "[":
        end = token.index("]", end) + 1
    if mark in "*?[":
        return PartKind.GLOB, token[at:end], end
    return PartKind.TILDE if mark == "~" and at == 0 else PartKind.LITERAL, mark, end


def _inside(token: str, at: int) -> tuple[PartKind, str, int]:
    """Do as ``_outside`` within double quotes, where globs and tildes are plain text."""
    mark = token[at]
    written, name = _named(token, at + 1) if mark == "$" else ("", "")
    if written:
        return _kind_of(name, PartKind.QUOTED_VALUE), name, at + 1 + len(written)
    if mark == "\\" and token[at + 1] == "\n":
        return PartKind.LITERAL, "", at + 2
    if mark == "\\" and token[at + 1] in '$`"\\':
        at += 1
    return PartKind.LITERAL, token[at], at + 1


def _kind_of(name: str, variable: PartKind) -> PartKind:
    return PartKind.STATUS if name == "?" else variable


def _named(token: str, at: int) -> tuple[str, str]:
    """Return what follows a dollar sign, and the name of the variable that it means."""
    if token.startswith("(pwd)", at):
        return "(pwd)", "PWD"
    if token.startswith("{", at):
        written = token[at : token.index("}", at) + 1]
        return written, written[1:-1]
    if token.startswith("?", at):
        return "?", "?"
    end = at
    while end < len(token) and (token[end].isalnum() or token[end] == "_"):
        end += 1
    return token[at:end], token[at:end]


def _literal(token: str) -> str:
    """Remove the quotes of one word (XCU 2.6.7), left to right."""
    pieces: list[str] = []
    at = 0
    while at < len(token):
        mark = token[at]
        if mark == "'":
            end = token.index("'", at + 1)
            pieces.append(token[at + 1 : end])
        elif mark == '"':
            body, end = _double_quoted(token, at + 1)
            pieces.append(body)
        elif mark == "\\":
            end = at + 1
            pieces.append(token[end])
        else:
            end = at
            pieces.append(mark)
        at = end + 1
    return "".join(pieces)


def _double_quoted(token: str, at: int) -> tuple[str, int]:
    """Return the text from ``at`` to the closing quote, and the index of that quote (XCU 2.2.3)."""
    pieces: list[str] = []
    while (mark := token[at]) != '"':
        if mark == "\\" and token[at + 1] in '$`"\\\n':
            at += 1
            mark = token[at].replace("\n", "")
        pieces.append(mark)
        at += 1
    return "".join(pieces), at
