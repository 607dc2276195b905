"""Read a line without a syntax tree, as POSIX XCU 2.2 and 2.3 tell it: the second opinion (R10).

Shares no code and no table with ``core.policy.syntax``, so that one mistake cannot be made twice.
It knows words made of literal, quoted and escaped text, leading tildes, ``$HOME``, ``$PWD`` and
plain globs; the four connectors and line breaks; comments; and redirections to nowhere. The first
character that could mean anything more ends it.
"""

import re

from core.model.command import (
    UNROUTED,
    Connector,
    ErrorTo,
    OpenWord,
    PartKind,
    Reading,
    Routing,
    Unreadable,
    Word,
    WordPart,
)

_NAMED = "A-Za-z0-9_"
# A name ends before anything but its own characters; beyond ASCII that depends on the locale.
_NAME_OF_VALUE = rf"\$(?:HOME|PWD)(?![{_NAMED}]|[^\0-\x7f])"
_WORD_ENDS = r"(?=[ \t\n;|]|&&|\Z)"
_WORD = (
    rf"(?!=)(?:[{_NAMED}./:@%+,=^-]++"
    r"|'[^']*+'"
    # Inside double quotes a backslash may stand before printable ASCII; "!" is never accepted.
    rf'|"(?:[^"\\$`!]|\\[ "-~]|{_NAME_OF_VALUE})*"'
    r"|\\[!-~]"
    rf"|(?<=[{_NAMED}^~}}])~"
    rf"|(?<=[{_NAMED}./:@%+,=^~}}-])\#"
    # git's stash@{0} and HEAD^{tree}: without a comma or ".." no shell expands a brace.
    rf"|(?<=[@^])\{{[{_NAMED}-]*+(?:\.[{_NAMED}-]++)*\}}"
    rf"|(?<![^ \t\n;|&])~(?:/|{_WORD_ENDS})"
    rf"|{_NAME_OF_VALUE}"
    rf"|[*?]|\[[{_NAMED}]++\]"
    r")+"
)
_PLAIN = rf"(?!=)[{_NAMED}./:@%+,=^-]++(?=[ \t\n;|]|\Z)"
_REDIRECTION = rf"(?<=[ \t])(?:2>&1|(?:2?>|&>|<)[ \t]*/dev/null){_WORD_ENDS}"
_COMMENT = r"(?<![^ \t\n;|&])#[^\n]++(?<!\\)"
_TOKEN = re.compile(
    rf"[ \t]*+({_REDIRECTION}|{_COMMENT}|{_PLAIN}|{_WORD}|\|\|?|&&|;|.|\Z)", re.DOTALL
)
_LONE_TILDE = re.compile(rf"(?<![^ \t\n;|&])~{_WORD_ENDS}")
_BARE_LINE = re.compile(rf"(?:[{_NAMED}./:@%+,^ \t;|-]++|&&)*")
_CONNECTOR = re.compile(r"(\|\|?|&&|;)")
_CONNECTORS = {
    "|": Connector.PIPE,
    "&&": Connector.AND,
    "||": Connector.OR,
    ";": Connector.THEN,
}
_LONE_WORDS = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,^-*?"
)
_OPENING = frozenset("$*?[~")

_OUTSIDE = {
    "$": ("R4", "a $ expansion"),
    "`": ("R4", "a backquote substitution"),
    "<": ("R4", "a redirection"),
    ">": ("R4", "a redirection"),
    "&": ("R4", "a command in the background"),
    "(": ("R4", "a parenthesis"),
    ")": ("R4", "a parenthesis"),
    "!": ("R4", "an exclamation mark outside single quotes"),
    "#": ("R5", "a comment in a word, or one that ends in a backslash"),
    "[": ("R5", "a bracket that is no plain set"),
    "]": ("R5", "a bracket that is no plain set"),
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


class _Line:
    """The commands so far, and the one that is being read."""

    __slots__ = ("_routing", "_words", "argvs", "connectors", "routings")

    def __init__(self) -> None:
        self.argvs: list[tuple[Word, ...]] = []
        self.connectors: list[Connector] = []
        self.routings: list[Routing] = []
        self._words: list[Word] = []
        self._routing = UNROUTED

    def add(self, word: Word) -> bool:
        """Add a word; ``False`` after a redirection, where words are not read."""
        self._words.append(word)
        return self._routing is UNROUTED

    def end(self, connector: Connector | None) -> None:
        """End the command; what follows is joined by ``connector``, ``None`` at the end."""
        self.argvs.append(tuple(self._words))
        self.routings.append(self._routing)
        if connector is not None:
            self.connectors.append(connector)
        self._words, self._routing = [], UNROUTED

    def mark(self, token: str) -> bool:
        """Take a line break, a comment or a redirection; ``False`` for anything else."""
        if token == "\n":
            # Before a command, and after a connector, a line break is a blank (XCU 2.10.2).
            if self._words:
                self.end(Connector.THEN)
            return True
        if len(token) == 1:
            return False
        if token[0] != "#":
            self._routing = _led(self._routing, token)
            return bool(self._words)
        return True


def _led(routing: Routing, redirection: str) -> Routing:
    """Return the streams after one more redirection (XCU 2.7, from left to right)."""
    to_nowhere = redirection.endswith("/dev/null")
    error = routing.error
    if not to_nowhere:
        error = ErrorTo.NULL if routing.null_output else ErrorTo.OUTPUT
    elif redirection.startswith(("2", "&")):
        error = ErrorTo.NULL
    return Routing(
        routing.null_input or redirection.startswith("<"),
        routing.null_output or redirection.startswith((">", "&")),
        error,
    )


def read(text: str) -> Reading | Unreadable:
    """Read ``text`` into vectors and connectors, or say what it holds that is not known.

    Source: POSIX.1-2024 XCU 2.2 (quoting), 2.3 (token recognition), 2.6 (expansions), 2.7
    (redirections), 2.9.2 and 2.9.3 (lists).
    """
    if _BARE_LINE.fullmatch(text):
        return _bare(text)
    line = _Line()
    for token in _tokens(text):
        connector = _CONNECTORS.get(token)
        if connector is not None:
            line.end(connector)
        elif _is_word(token):
            if not line.add(_word(token)):
                return Unreadable("R4", "a redirection that is not the last of its command")
        elif token and not line.mark(token):
            return _refusal(text)
    line.end(None)
    return _close(line.argvs, line.connectors, line.routings)


def _tokens(text: str) -> list[str]:
    """Cut the line; a tilde that is a word of its own is told from one that is out of place."""
    if "~" not in text:
        return _TOKEN.findall(text)
    return [
        "~''" if found[1] == "~" and _LONE_TILDE.match(text, found.start(1)) else found[1]
        for found in _TOKEN.finditer(text)
    ]


def _is_word(token: str) -> bool:
    if len(token) < 2:  # noqa: PLR2004 - one character
        return token in _LONE_WORDS
    return token[0] not in "<>&#" and not token.startswith("2>")


def _word(token: str) -> Word:
    if _OPENING.isdisjoint(token):
        plain = "'" not in token and '"' not in token and "\\" not in token
        return token if plain else _literal(token)
    return _opened(token)


def _bare(text: str) -> Reading | Unreadable:
    """Read a line without quotes, where blanks and connectors are all that divides it."""
    parts = _CONNECTOR.split(text)
    if len(parts) == 1 and (words := text.split()):
        return Reading((tuple(words),))
    connectors = [_CONNECTORS[mark] for mark in parts[1::2]]
    return _close([tuple(part.split()) for part in parts[::2]], connectors, None)


def _close(
    argvs: list[tuple[Word, ...]], connectors: list[Connector], routings: list[Routing] | None
) -> Reading | Unreadable:
    """End the line: only ``;`` may stand last, and then it joins nothing."""
    if not argvs[-1] and connectors and connectors[-1] is Connector.THEN:
        argvs.pop()
        connectors.pop()
    if not all(argvs):
        why = "a connector with nothing to join" if connectors else "an empty line"
        return Unreadable("R2", why)
    if routings is None or all(one is UNROUTED for one in routings):
        return Reading(tuple(argvs), tuple(connectors))
    return Reading(tuple(argvs), tuple(connectors), tuple(routings[: len(argvs)]))


def _opened(token: str) -> Word:
    """Remove the quotes of one word and keep apart what is to be expanded (XCU 2.6)."""
    parts: list[WordPart] = []
    at, quoted = 0, False
    while at < len(token):
        if token[at] == '"':
            quoted = not quoted
            at += 1
            continue
        kind, piece, at = _inside(token, at) if quoted else _outside(token, at)
        if kind is PartKind.LITERAL and parts and parts[-1].kind is kind:
            parts[-1] = WordPart(kind, parts[-1].text + piece)
        elif piece:
            parts.append(WordPart(kind, piece))
    if all(part.kind is PartKind.LITERAL for part in parts):
        return "".join(part.text for part in parts)
    return OpenWord(tuple(parts))


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
        name = "HOME" if token.startswith("HOME", end) else "PWD"
        return PartKind.VALUE, name, end + len(name)
    if mark == "[":
        end = token.index("]", end) + 1
    if mark in "*?[":
        return PartKind.GLOB, token[at:end], end
    return PartKind.TILDE if mark == "~" and at == 0 else PartKind.LITERAL, mark, end


def _inside(token: str, at: int) -> tuple[PartKind, str, int]:
    """Do as ``_outside`` within double quotes, where globs and tildes are plain text."""
    mark = token[at]
    if mark == "$":
        name = "HOME" if token.startswith("HOME", at + 1) else "PWD"
        return PartKind.QUOTED_VALUE, name, at + 1 + len(name)
    if mark == "\\" and token[at + 1] in '$`"\\':
        at += 1
    return PartKind.LITERAL, token[at], at + 1


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
    """Name the first thing that is not known; called only where there is one."""
    for found in _TOKEN.finditer(text):
        token, at = found[1], found.start(1)
        known = len(token) != 1 or _is_word(token) or token in _CONNECTORS or token == "\n"
        if known or _LONE_TILDE.match(text, at):
            continue
        if token == '"':
            return _inside_refusal(text, at + 1)
        return Unreadable(*_OUTSIDE.get(token, ("R5", "a non-ASCII character outside quotes")))
    return Unreadable("R4", "a redirection before the program's name")


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
