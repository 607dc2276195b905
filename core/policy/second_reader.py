"""Read a line without a syntax tree, as POSIX XCU 2.2 and 2.3 tell it: the second opinion (R10).

Shares no code and no table with ``core.policy.syntax``, so that one mistake cannot be made twice.
It knows words made of literal, single-quoted, double-quoted and escaped text, and the four
connectors; the first character that could mean anything more ends it.
"""

import re

from core.model.command import Connector, Reading, Unreadable

_NAMED = "A-Za-z0-9_"
_WORD = (
    rf"(?!=)(?:[{_NAMED}./:@%+,=^-]++"
    r"|'[^']*+'"
    # Inside double quotes a backslash may stand before printable ASCII; "!" is never accepted.
    r'|"(?:[^"\\$`!]++|\\[ "-~])*"'
    r"|\\[!-~]"
    rf"|(?<=[{_NAMED}^~}}])~"
    rf"|(?<=[{_NAMED}./:@%+,=^~}}-])\#"
    # git's stash@{0} and HEAD^{tree}: without a comma or ".." no shell expands a brace.
    rf"|(?<=[@^])\{{[{_NAMED}-]*+(?:\.[{_NAMED}-]++)*\}}"
    r")+"
)
_PLAIN = rf"(?!=)[{_NAMED}./:@%+,=^-]++(?=[ \t;|]|\Z)"
_TOKEN = re.compile(rf"[ \t]*+({_PLAIN}|{_WORD}|\|\|?|&&|;|.|\Z)", re.DOTALL)
_BARE_LINE = re.compile(rf"(?:[{_NAMED}./:@%+,^ \t;|-]++|&&)*")
_CONNECTOR = re.compile(r"(\|\|?|&&|;)")
_CONNECTORS = {
    "|": Connector.PIPE,
    "&&": Connector.AND,
    "||": Connector.OR,
    ";": Connector.THEN,
}
_LONE_WORDS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,^-")

_OUTSIDE = {
    "$": ("R4", "a $ expansion"),
    "`": ("R4", "a backquote substitution"),
    "<": ("R4", "a redirection"),
    ">": ("R4", "a redirection"),
    "&": ("R4", "a command in the background"),
    "(": ("R4", "a parenthesis"),
    ")": ("R4", "a parenthesis"),
    "!": ("R4", "an exclamation mark outside single quotes"),
    "\n": ("R1", "a line break outside quotes"),
    "#": ("R5", "a comment"),
    "*": ("R5", "a glob"),
    "?": ("R5", "a glob"),
    "[": ("R5", "a glob"),
    "]": ("R5", "a glob"),
    "{": ("R5", "a brace"),
    "}": ("R5", "a brace"),
    "~": ("R5", "a tilde that a shell may expand"),
    "=": ("R5", "a word that begins with ="),
    "\\": ("R3", "a backslash before a blank, a line break or nothing"),
    "'": ("R2", "a single quote that is not closed"),
}
_INSIDE = {
    "$": ("R7", "a $ expansion inside double quotes"),
    "`": ("R7", "a backquote substitution inside double quotes"),
    "!": ("R7", "an exclamation mark inside double quotes"),
    "\\": ("R7", "a backslash before a line break or a special character inside double quotes"),
}


def read(text: str) -> Reading | Unreadable:
    """Read ``text`` into vectors and connectors, or say what it holds that is not plain.

    Source: POSIX.1-2024 XCU 2.2 (quoting), 2.3 (token recognition), 2.9.2 and 2.9.3 (lists).
    """
    if _BARE_LINE.fullmatch(text):
        return _bare(text)
    argvs: list[tuple[str, ...]] = []
    connectors: list[Connector] = []
    words: list[str] = []
    for token in _TOKEN.findall(text):
        connector = _CONNECTORS.get(token)
        if connector is not None:
            argvs.append(tuple(words))
            connectors.append(connector)
            words = []
        elif len(token) > 1 or token in _LONE_WORDS:
            plain = "'" not in token and '"' not in token and "\\" not in token
            words.append(token if plain else _literal(token))
        elif token:
            return _refusal(text)
    argvs.append(tuple(words))
    return _close(argvs, connectors)


def _bare(text: str) -> Reading | Unreadable:
    """Read a line without quotes, where blanks and connectors are all that divides it."""
    parts = _CONNECTOR.split(text)
    if len(parts) == 1 and (words := text.split()):
        return Reading((tuple(words),))
    connectors = [_CONNECTORS[mark] for mark in parts[1::2]]
    return _close([tuple(part.split()) for part in parts[::2]], connectors)


def _close(argvs: list[tuple[str, ...]], connectors: list[Connector]) -> Reading | Unreadable:
    """End the line: only ``;`` may stand last, and then it joins nothing."""
    if not argvs[-1] and connectors and connectors[-1] is Connector.THEN:
        argvs.pop()
        connectors.pop()
    if all(argvs):
        return Reading(tuple(argvs), tuple(connectors))
    if not connectors:
        return Unreadable("R2", "an empty line")
    return Unreadable("R2", "a connector with nothing to join")


def _literal(token: str) -> str:
    """Remove the quotes of one word (XCU 2.6.7), left to right."""
    mark = token[0]
    if mark in "'\"" and token.find(mark, 1) == len(token) - 1 and "\\" not in token:
        return token[1:-1]
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
    """Return the text from ``at`` to the closing quote, and where that quote stands (XCU 2.2.3)."""
    pieces: list[str] = []
    while (mark := token[at]) != '"':
        if mark == "\\" and token[at + 1] in '$`"\\':
            at += 1
        pieces.append(token[at])
        at += 1
    return "".join(pieces), at


def _refusal(text: str) -> Unreadable:
    """Name the first thing that is not plain; called only where there is one."""
    at = next(
        found.start(1)
        for found in _TOKEN.finditer(text)
        if len(found[1]) == 1 and found[1] not in _LONE_WORDS and found[1] not in _CONNECTORS
    )
    if text[at] == '"':
        return _inside_refusal(text, at + 1)
    return Unreadable(*_OUTSIDE.get(text[at], ("R5", "a non-ASCII character outside quotes")))


def _inside_refusal(text: str, at: int) -> Unreadable:
    """Say why the double-quoted text that begins at ``at`` does not reach its end."""
    while at < len(text):
        if text[at] == "\\" and " " <= text[at + 1 : at + 2] <= "~" and text[at + 1] != "!":
            at += 2
        elif text[at] in _INSIDE:
            return Unreadable(*_INSIDE[text[at]])
        else:
            at += 1
    return Unreadable("R2", "a double quote that is not closed")
