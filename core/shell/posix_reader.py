"""Read a line without a syntax tree, as POSIX XCU 2.2 and 2.3 define it: the second opinion (R10).

Shares no code and no table with ``core.shell.tree_reader``: no mistake can be made twice.
It knows words made of literal, quoted and escaped text, leading tildes, ``$HOME``, ``$PWD``,
``$?`` and plain globs; the four connectors and line breaks; comments; and redirections to nowhere.
The first character that could mean anything more ends it.
"""

import re
from collections.abc import Iterable, Iterator
from string import ascii_letters, digits

from core.model.command import (
    UNROUTED,
    Connector,
    ErrorTo,
    Loop,
    OpenWord,
    PartKind,
    Reading,
    Routing,
    Unreadable,
    Word,
)
from core.shell.posix_braces import spread
from core.shell.posix_refusals import inside_refusal, outside_refusal
from core.shell.posix_words import word_of

_NAMED = "A-Za-z0-9_"
# A name ends before anything but its own characters; beyond ASCII that depends on the locale.
_NAME_OF_VALUE = (
    rf"\$(?:(?:HOME|PWD|[a-z][a-z0-9_]*)(?![{_NAMED}]|[^\0-\x7f])"
    # The last status has no name that could continue (XCU 2.5.2).
    r"|\{[a-z][a-z0-9_]*\}|\(pwd\)|\{\?\}|\?)"
)
# zsh expands `=name` and `~` also after what turns out empty: `""=ls`, `$x~`.
_MAYBE_EMPTY = rf"(?:''|\"(?:\\\n|{_NAME_OF_VALUE})*\"|{_NAME_OF_VALUE})"
_WORD_ENDS = r"(?=[ \t\n;|]|&&|\Z)"
_WORD = (
    rf"(?!{_MAYBE_EMPTY}*=)(?!{_MAYBE_EMPTY}+~)(?:[{_NAMED}./:@%+,=^-]++"
    r"|'[^']*+'"
    # Inside double quotes a backslash is itself before most characters, and joins two lines.
    # Only an interactive shell gives "!" a meaning there; none runs a command line that way.
    # A dollar sign that no name, digit or bracket can follow is literal (XCU 2.6).
    rf'|"(?:[^"\\$`]|\\[ -~\n]|\\[^\0-\x7f]|\$(?=[|)/"])|{_NAME_OF_VALUE})*"'
    r"|\\[!-~]"
    rf"|(?<=[{_NAMED}./:@%+,^-])\\ (?=[{_NAMED}./:@%+,^-])"
    rf"|(?<=[{_NAMED}^~}}])~"
    rf"|(?<=[{_NAMED}./:@%+,=^~}}-])\#"
    # git's stash@{0} and HEAD^{tree}: without a comma or ".." no shell expands a brace.
    rf"|\{{\}}|(?<=[@^])\{{[{_NAMED}-]*+(?:\.[{_NAMED}-]++)*\}}"
    rf"|(?<![^ \t\n;|&])~(?:/|{_WORD_ENDS})"
    rf"|{_NAME_OF_VALUE}"
    # A list or a range in braces; what it becomes is checked again.
    rf"|\{{(?:[{_NAMED}/:@%+.-]*,[{_NAMED}/:@%+.,-]*|[0-9]+\.\.[0-9]+)\}}"
    rf"|[*?]|\[(?:[{_NAMED}]-[{_NAMED}]|[{_NAMED}])+\]"
    r")+"
)
_PLAIN = rf"(?!=)[{_NAMED}./:@%+,=^-]++(?=[ \t\n;|]|\Z)"
_REDIRECTION = rf"(?<=[ \t])(?:2>&1|(?:2?>|&>|<)[ \t]*/dev/null){_WORD_ENDS}"
_COMMENT = r"#(?<![^ \t\n;|&]#)[^\n]++(?<!\\)"
_TOKEN = re.compile(
    rf"(?:[ \t]++|(?<=[ \t])\\\n)*({_PLAIN}|{_REDIRECTION}|{_COMMENT}|{_WORD}|\|\|?|&&|;|.|\Z)",
    re.DOTALL,
)
_WHOLE_WORD = re.compile(_WORD)
_PLAIN_WORD = re.compile(rf"(?!=)[{_NAMED}./:@%+,=^-]+")
_EMPTIED = re.compile(rf"{_MAYBE_EMPTY}+[=~]")
_LEADING_TILDE = re.compile(r"~(?<![^ \t\n;|&]~)")
_LONE_TILDE = re.compile(_LEADING_TILDE.pattern + _WORD_ENDS)
# Alone between blanks it is a word, as in `find . ! -name x`; before a command it negates.
_LONE_BANG = re.compile(r"(?<=[ \t])!(?=[ \t])")
_BARE_LINE = re.compile(rf"(?:[{_NAMED}./:@%+,^ \t;|-]++|&&)*")
_CONNECTOR = re.compile(r"(\|\|?|&&|;)")
_CONNECTORS = {
    "|": Connector.PIPE,
    "&&": Connector.AND,
    "||": Connector.OR,
    ";": Connector.THEN,
}
_BRACED = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")
_VARIABLE = re.compile("[a-z][a-z0-9_]*")
_LINE_BREAK = frozenset("\n")
_LOOP_WORDS = frozenset({"for", "done"})
_LONE_WORDS = frozenset(f"{ascii_letters}{digits}_./:@%+,^-*?")

_EMPTY = Unreadable("R2", "an empty line")
_NO_LOOP = Unreadable("R4", "a loop that is not read")
_BRACES = Unreadable("R5", "a brace")
_BEHIND_NOTHING = Unreadable("R5", "= or a tilde after what may be empty, which zsh expands")
_NOTHING_TO_JOIN = Unreadable("R2", "a connector with nothing to join")


class _Line:
    """The commands so far, and the one that is being read."""

    __slots__ = (
        "_head",
        "_looped",
        "_routing",
        "_words",
        "argvs",
        "connectors",
        "loops",
        "routings",
    )

    def __init__(self) -> None:
        self.argvs: list[tuple[Word, ...]] = []
        self.connectors: list[Connector] = []
        self.routings: list[Routing] = []
        self.loops: list[Loop] = []
        self._words: list[Word] = []
        self._routing = UNROUTED
        self._head: tuple[str, tuple[Word, ...], int] | None = None
        self._looped = False

    def turn(self, word: str, tokens: Iterator[str]) -> bool:
        """Take ``for`` and what belongs to it, or ``done``."""
        return self.open(tokens) if word == "for" else self.close()

    def open(self, tokens: Iterator[str]) -> bool:
        """Take ``VARIABLE in WORDS; do`` after a ``for``; ``False`` for anything else (2.9.4)."""
        variable = next(tokens, "")
        if self._head or not _VARIABLE.fullmatch(variable) or next(tokens, "") != "in":
            return False
        words: list[Word] = []
        for token in tokens:
            if token in {";", "\n"}:
                break
            several = _words_of(token) if _is_word(token) else []
            if not several:
                return False
            words += several
        following = next((mark for mark in tokens if mark not in _LINE_BREAK), "")
        self._head = (variable, tuple(words), len(self.argvs))
        return bool(words) and following == "do"

    def close(self) -> bool:
        """Take the ``done`` of a loop; ``False`` where no list of commands ends before it."""
        if self._head is None or self.connectors[-1:] != [Connector.THEN]:
            return False
        variable, words, start = self._head
        if self._looped or len(self.argvs) == start or not all(self.argvs[start:]):
            return False
        self.connectors.pop()
        self.loops.append(Loop(variable, words, start, len(self.argvs)))
        self._head, self._looped = None, True
        return True

    @property
    def is_open(self) -> bool:
        """Return whether a loop has no end yet."""
        return self._head is not None

    def add(self, word: Word) -> bool:
        """Add a word; ``False`` after a redirection, where words are not read."""
        self._words.append(word)
        return self._routing is UNROUTED and not self._looped

    @property
    def begun(self) -> bool:
        """Return whether the command has its name."""
        return bool(self._words)

    def end(self, connector: Connector | None) -> None:
        """End the command; what follows is joined by ``connector``, ``None`` at the end."""
        if not self._looped:
            self.argvs.append(tuple(self._words))
            self.routings.append(self._routing)
        self._looped = False
        if connector is not None:
            self.connectors.append(connector)
        self._words, self._routing = [], UNROUTED

    def mark(self, mark: str) -> bool:
        """Take a line break, a comment or a redirection; ``False`` for anything else."""
        if mark == "\n":
            # Before a command, and after a connector, a line break is a blank (XCU 2.10.2).
            if self._words or self._looped:
                self.end(Connector.THEN)
            return True
        if len(mark) == 1:
            return False
        if mark[0] != "#":
            self._routing = _led(self._routing, mark)
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

    Source: POSIX.1-2024 XCU 2.2 (quoting), 2.3 (tokens), 2.6 (expansions), 2.7, 2.9 (lists).
    """
    looped = "done" in text
    if not looped and _BARE_LINE.fullmatch(text):
        return _bare(text)
    marked = looped or _LEADING_TILDE.search(text)
    reading = (None if marked else _unmarked(text)) or _marked(text)
    if "$" not in text or isinstance(reading, Unreadable):
        return reading
    unbound = _unbound_values(reading)
    if not unbound:
        return reading
    return outside_refusal("$") if PartKind.VALUE in unbound else inside_refusal("$", 0)


def _unbound_values(reading: Reading) -> list[PartKind]:
    """List the variables outside the loop that sets them, or in a program's name."""
    if not reading.loops and not any(OpenWord in map(type, argv) for argv in reading.argvs):
        return []
    variables = [""] * len(reading.argvs)
    for loop in reading.loops:
        variables[loop.start : loop.end] = [loop.variable] * (loop.end - loop.start)
    listed = [word for loop in reading.loops for word in loop.words]
    found = _unbound((*listed, *(argv[0] for argv in reading.argvs)), "")
    for argv, variable in zip(reading.argvs, variables, strict=True):
        found += _unbound(argv[1:], variable)
    return found


def _unbound(words: Iterable[Word], variable: str) -> list[PartKind]:
    return [
        part.kind
        for word in words
        if isinstance(word, OpenWord)
        for part in word.parts
        if part.kind in {PartKind.VALUE, PartKind.QUOTED_VALUE}
        and part.text not in {"HOME", "PWD", variable}
    ]


def _marked(text: str) -> Reading | Unreadable:
    """Read a line with line breaks, comments, redirections, tildes or loops, or refuse it."""
    line = _Line()
    tokens = iter(_tokens(text))
    for token in tokens:
        connector = _CONNECTORS.get(token)
        if connector is not None:
            line.end(connector)
        elif _is_word(token):
            refusal = _taken(line, token, tokens)
            if refusal:
                return refusal
        elif token and not line.mark(token):
            return _refusal(text)
    line.end(None)
    return (
        _NO_LOOP
        if line.is_open
        else _close(line.argvs, line.connectors, line.routings, tuple(line.loops))
    )


def _taken(line: _Line, token: str, tokens: Iterator[str]) -> Unreadable | None:
    """Take what begins with a word, or say why it cannot be there."""
    if token in _LOOP_WORDS and not line.begun:
        return None if line.turn(token, tokens) else _NO_LOOP
    words = _words_of(token)
    if not words or (len(words) > 1 and not line.begun):
        return _BRACES
    if all(map(line.add, words)):
        return None
    return Unreadable("R4", "a redirection that is not the last of its command")


def _tokens(text: str) -> list[str]:
    """Cut the line; quote a lone tilde or bang, to distinguish it from a misplaced one."""
    if not _LEADING_TILDE.search(text) and "!" not in text:
        return _TOKEN.findall(text)
    return [_cut(text, found) for found in _TOKEN.finditer(text)]


def _cut(text: str, found: re.Match[str]) -> str:
    mark, at = found[1], found.start(1)
    if mark == "~" and _LONE_TILDE.match(text, at):
        return "~''"
    return "'!'" if mark == "!" and _LONE_BANG.match(text, at) else mark


def _is_word(token: str) -> bool:
    if len(token) > 1:
        return token[0] not in "<>&#" and token[:2] != "2>"
    return token in _LONE_WORDS


def _words_of(token: str) -> list[Word]:
    """Return what a word becomes: one, several of a brace list, or nothing that is certain."""
    if "{" not in token or not _BRACED.search(token):
        return [word_of(token)]
    several = spread(token)
    return [word_of(one) for one in several] if all(map(_WHOLE_WORD.fullmatch, several)) else []


def _bare(text: str) -> Reading | Unreadable:
    """Read a line without quotes, where blanks and connectors are all that divides it."""
    parts = _CONNECTOR.split(text)
    if len(parts) == 1 and (words := text.split()):
        return Reading((tuple(words),))
    connectors = [_CONNECTORS[mark] for mark in parts[1::2]]
    return _close([tuple(part.split()) for part in parts[::2]], connectors, None)


def _unmarked(text: str) -> Reading | Unreadable | None:
    """Read a line of words and connectors; ``None`` where it turns out to hold more."""
    argvs: list[tuple[Word, ...]] = []
    connectors: list[Connector] = []
    words: list[Word] = []
    for token in _TOKEN.findall(text):
        if _PLAIN_WORD.fullmatch(token):
            words.append(token)
            continue
        connector = _CONNECTORS.get(token)
        if connector is not None:
            argvs.append(tuple(words))
            connectors.append(connector)
            words = []
        elif _is_word(token):
            several = _words_of(token)
            if not several or (len(several) > 1 and not words):
                return _BRACES
            words += several
        elif token:
            return None
    argvs.append(tuple(words))
    return _close(argvs, connectors, None)


def _close(
    argvs: list[tuple[Word, ...]],
    connectors: list[Connector],
    routings: list[Routing] | None,
    loops: tuple[Loop, ...] = (),
) -> Reading | Unreadable:
    """End the line: only ``;`` may come last, and then it joins nothing."""
    if not argvs[-1] and connectors and connectors[-1] is Connector.THEN:
        argvs.pop()
        connectors.pop()
    if not all(argvs):
        return _NOTHING_TO_JOIN if connectors else _EMPTY
    if routings is None or all(one is UNROUTED for one in routings):
        return Reading(tuple(argvs), tuple(connectors), (), loops)
    return Reading(tuple(argvs), tuple(connectors), tuple(routings[: len(argvs)]), loops)


def _refusal(text: str) -> Unreadable:
    """Name the first thing that is not known; called only where there is one."""
    for found in _TOKEN.finditer(text):
        mark, at = found[1], found.start(1)
        known = len(mark) != 1 or _is_word(mark) or mark in _CONNECTORS or mark == "\n"
        if known or _LONE_TILDE.match(text, at) or _LONE_BANG.match(text, at):
            continue
        if _EMPTIED.match(text, at):
            return _BEHIND_NOTHING
        if mark == '"':
            return inside_refusal(text, at + 1)
        return outside_refusal(mark)
    return Unreadable("R4", "a redirection before the program's name")
