r"""Read a line by its tree-sitter-bash syntax tree: the first opinion (rules R2 to R8).

The tree alone is not to be trusted: the grammar skips ``\s``, backslash-newline and
backslash-blank between leaves, and every unsound reading that was found hides there. So each byte
must belong to an accepted leaf or be a blank between two of them (R3), and the text of each leaf
must match a short list of literal forms (R5 to R7).
"""

import re
from functools import cache
from itertools import pairwise
from operator import attrgetter

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

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
from core.shell.tree_braces import braced
from core.shell.tree_nodes import LITERALS, OutsideGrammar, check_parts, shape
from core.shell.tree_words import word_of

_CONNECTORS = {
    "program": {";": Connector.THEN},
    "list": {"&&": Connector.AND, "||": Connector.OR},
    "pipeline": {"|": Connector.PIPE},
    "redirected_statement": {},
    "do_group": {";": Connector.THEN},
}
_KIND = attrgetter("type")
_RANGE = attrgetter("byte_range")

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,^-][A-Za-z0-9_./:@%+,=^-]*+")
# Between quotes, printable ASCII in which nothing is expanded or escaped.
_SIMPLE = rf"{_PLAIN.pattern}|'[ -&(-~]*+'|\"[ !#%-\[\]^_a-~]*+\""
_SIMPLE_COMMAND = re.compile(rf"{_PLAIN.pattern}(?: (?:{_SIMPLE}))*")
_SIMPLE_KINDS = LITERALS | {"string"}
_QUOTES = frozenset("'\"")
_REDIRECTION = re.compile(r"2>&1|(?:&|2)?>[ \t]*/dev/null|<[ \t]*/dev/null")

# After a blank, a backslash at the end of a line makes one line of two, and is a blank itself.
_CONTINUED = re.compile(r"(?<=[ \t])\\\n")

_VARIABLE = re.compile(r"[a-z][a-z0-9_]*")

_VALUES = {PartKind.VALUE: "R4", PartKind.QUOTED_VALUE: "R7"}

_TAKING_TURNS = (0, 1)


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def read(text: str) -> Reading | Unreadable:
    """Read ``text`` into vectors and connectors, or name the broken rule (R2 to R8).

    Args:
        text: a line that encodes as UTF-8, at most 16 KiB of it (R1 is the caller's).
    """
    data = text.encode()
    root = _parser().parse(data).root_node
    if root.has_error:
        return Unreadable("R2", "a syntax error")
    # Nodes count bytes. Latin-1 gives a string in which byte n is character n.
    line = text if len(data) == len(text) else data.decode("latin-1")
    try:
        return _lone(root, line) or _line(root, line)
    except OutsideGrammar as refused:
        rule, detail = refused.args
        return Unreadable(rule, detail)


def _lone(root: Node, line: str) -> Reading | None:
    """Take the one command that is the whole line, byte for byte; the commonest line by far."""
    parts = root.children
    if len(parts) != 1 or parts[0].type != "command":
        return None
    start, end = parts[0].byte_range
    if start or end != len(line):
        return None
    reading = Reading((_command(parts[0], line, start, end),))
    if "$" in line:
        _check_values(reading)
    return reading


class _Line:
    """The commands, connectors, redirections and loops of a stretch of the line so far."""

    __slots__ = ("argvs", "connectors", "looped", "loops", "routings")

    def __init__(self) -> None:
        self.argvs: list[tuple[Word, ...]] = []
        self.connectors: list[Connector] = []
        self.routings: dict[int, Routing] = {}
        self.loops: list[Loop] = []
        self.looped = False

    def take(self, parts: list[tuple[Node, str, str]], line: str, at: int, whole_end: int) -> None:
        """Take parts in byte order from ``at`` to ``whole_end`` and account for each byte."""
        for node, kind, parent in parts:
            start, end = node.byte_range
            if start != at and line[at:start] != " ":
                self._join(_broken(line[at:start], len(self.argvs) - len(self.connectors)))
            at = end
            self._take_one(node, kind, parent, line)
            if len(self.argvs) - len(self.connectors) not in _TAKING_TURNS:
                raise OutsideGrammar("R4", "commands and connectors that do not take turns")
        if at != whole_end:
            broken = _broken(line[at:whole_end], len(self.argvs) - len(self.connectors))
            self._join(broken)

    def _join(self, connectors: tuple[Connector, ...]) -> None:
        if connectors:
            self.connectors += connectors
            self.looped = False

    def _take_one(self, node: Node, kind: str, parent: str, line: str) -> None:
        start, end = node.byte_range
        if kind == "command":
            self.argvs.append(_command(node, line, start, end))
        elif kind == "file_redirect":
            # After a connector it has no command yet; -1 then, for which none is accepted.
            place = len(self.argvs) - 1 if len(self.argvs) > len(self.connectors) else -1
            if self.looped:
                raise OutsideGrammar("R4", "a redirection of a loop")
            self.routings[place] = _routed(self.routings.get(place, UNROUTED), line, start, end)
        elif kind == "comment":
            _check_comment(line, start, end)
        elif kind == "for_statement":
            self._loop(node, line)
        else:
            self._join((_meaning(kind, parent),))

    def _loop(self, node: Node, line: str) -> None:
        """Take the body of a loop as commands of the line, and keep which they are."""
        if len(self.argvs) != len(self.connectors):
            raise OutsideGrammar("R4", "a loop after a command")
        variable, words, group = _loop_head(node, line)
        body = _Line()
        opening, *inside, closing = group.children
        if (opening.type, closing.type) != ("do", "done"):
            raise OutsideGrammar("R4", "a loop without its end")
        parts = [part for child in inside for part in _parts(child, "do_group")]
        body.take(parts, line, opening.byte_range[1], closing.byte_range[0])
        gap = line[opening.byte_range[1] :][:1]
        if gap not in {" ", "\t", "\n"} or len(body.argvs) != len(body.connectors) or body.loops:
            raise OutsideGrammar("R4", "a loop that is not read")
        if not body.argvs or body.connectors.pop() is not Connector.THEN:
            raise OutsideGrammar("R4", "a loop that is not read")
        start = len(self.argvs)
        self.loops.append(Loop(variable, words, start, start + len(body.argvs)))
        self.argvs += body.argvs
        self.connectors += body.connectors
        for place, routing in body.routings.items():
            self.routings[place if place < 0 else place + start] = routing
        self.looped = True


def _line(root: Node, line: str) -> Reading:
    """Take every command, connector and redirection in byte order and account for each byte."""
    taken = _Line()
    taken.take(_parts(root), line, 0, len(line))
    reading = _closed(taken.argvs, taken.connectors, taken.routings, tuple(taken.loops))
    if "$" in line:
        _check_values(reading)
    return reading


def _closed(
    argvs: list[tuple[Word, ...]],
    connectors: list[Connector],
    routings: dict[int, Routing],
    loops: tuple[Loop, ...],
) -> Reading:
    """End the line: only ``;`` may come last, and then it joins nothing."""
    if argvs and len(connectors) == len(argvs) and connectors[-1] is Connector.THEN:
        connectors.pop()
    if len(connectors) + 1 != len(argvs):
        raise OutsideGrammar("R4", "a connector that joins nothing")
    if not routings:
        return Reading(tuple(argvs), tuple(connectors), (), loops)
    if -1 in routings:
        raise OutsideGrammar("R4", "a redirection before the program's name")
    routed = tuple(routings.get(place, UNROUTED) for place in range(len(argvs)))
    return Reading(tuple(argvs), tuple(connectors), routed, loops)


def _loop_head(node: Node, line: str) -> tuple[str, tuple[Word, ...], Node]:
    """Return the variable, the words and the body of ``for VARIABLE in WORDS; do BODY; done``."""
    children = node.children
    kinds = [child.type for child in children]
    ends_in_mark = kinds[-2:] == [";", "do_group"]
    if kinds[:3] != ["for", "variable_name", "in"] or kinds[-1] != "do_group":
        raise OutsideGrammar("R4", "a loop that is not read")
    words = children[3 : -2 if ends_in_mark else -1]
    variable = line[slice(*children[1].byte_range)]
    if not words or not _VARIABLE.fullmatch(variable):
        raise OutsideGrammar("R4", "a loop that is not read")
    for before, after in pairwise([*children[:3], words[0]]):
        gap = line[before.byte_range[1] : after.byte_range[0]]
        if not gap:
            raise OutsideGrammar("R3", "two words without a blank between them")
        _check_blanks(gap)
    at, end = words[0].byte_range[0], words[-1].byte_range[1]
    found = _words(words, line, at, end, named=False)
    gap = line[end : children[-1].byte_range[0]]
    if not ends_in_mark and "\n" not in _CONTINUED.sub("", gap):
        raise OutsideGrammar("R4", "a loop that is not read")
    _check_blanks(gap.replace(";", " ", 1 if ends_in_mark else 0).replace("\n", " "))
    return variable, found, children[-1]


def _check_values(reading: Reading) -> None:
    """Refuse a variable outside the loop that gives it its values, or in a program's name."""
    if not reading.loops and not any(OpenWord in map(type, words) for words in reading.argvs):
        return
    bound = {
        place: loop.variable for loop in reading.loops for place in range(loop.start, loop.end)
    }
    groups = [
        (words[1:], {"HOME", "PWD", bound.get(place, "")})
        for place, words in enumerate(reading.argvs)
    ]
    groups += [(loop.words, {"HOME", "PWD"}) for loop in reading.loops]
    groups += [(words[:1], {"HOME", "PWD"}) for words in reading.argvs]
    for words, known in groups:
        for part in (part for word in words if isinstance(word, OpenWord) for part in word.parts):
            if part.kind in _VALUES and part.text not in known:
                raise OutsideGrammar(_VALUES[part.kind], "a $ expansion")


def _parts(root: Node, parent: str = "") -> list[tuple[Node, str, str]]:
    """List commands and connectors in byte order, each with its kind and its parent's.

    The grammar nests lists in pipelines at will (``a|b|c && d``), so only the order is used;
    without groups it decides alone. A loop, since thousands of links would exhaust recursion.
    """
    parts: list[tuple[Node, str, str]] = []
    pending = [(root, root.type, parent)]
    while pending:
        part = pending.pop()
        node, kind, _ = part
        if kind in _CONNECTORS:
            pending += [(child, child.type, kind) for child in reversed(node.children)]
        else:
            parts.append(part)
    return parts


def _meaning(kind: str, parent: str) -> Connector:
    connector = _CONNECTORS.get(parent, {}).get(kind)
    if connector is None:
        raise OutsideGrammar("R4", shape(kind))
    return connector


def _broken(gap: str, open_commands: int) -> tuple[Connector, ...]:
    """Return what a gap between parts of the line, blanks alone (R3), does to an open command."""
    gap = _CONTINUED.sub("", gap)
    _check_blanks(gap.replace("\n", " "))
    return (Connector.THEN,) if open_commands > 0 and "\n" in gap else ()


def _check_comment(line: str, start: int, end: int) -> None:
    """Accept a comment that begins where a word could and continues to the end of its line."""
    if start and line[start - 1] not in " \t\n;|&":
        raise OutsideGrammar("R3", "a comment inside a word")
    # Whether a backslash joins the next line to a comment is nothing to rely on.
    if "\n" in line[start:end] or line[end : end + 1] not in {"", "\n"} or line[end - 1] == "\\":
        raise OutsideGrammar("R4", "a comment of more than one line")


def _routed(before: Routing, line: str, start: int, end: int) -> Routing:
    """Return where the streams lead after one more redirection."""
    mark = line[start:end]
    if line[start - 1] not in " \t" or not _REDIRECTION.fullmatch(mark):
        raise OutsideGrammar("R4", "a redirection")
    null_input, null_output, error = before.null_input, before.null_output, before.error
    if mark == "2>&1":
        error = ErrorTo.NULL if null_output else ErrorTo.OUTPUT
    elif mark[0] == "<":
        null_input = True
    else:
        error = error if mark[0] == ">" else ErrorTo.NULL
        null_output = null_output or mark[0] != "2"
    return Routing(null_input, null_output, error)


def _check_blanks(gap: str) -> None:
    if gap.strip(" \t") and _CONTINUED.sub("", gap).strip(" \t"):
        raise OutsideGrammar("R3", "text that belongs to no word")


def _command(command: Node, line: str, start: int, end: int) -> tuple[Word, ...]:
    """Return the words of the command from ``start`` to ``end``."""
    name, *operands = command.children
    if name.type != "command_name":
        raise OutsideGrammar("R8", "something before the program's name")
    whole = line[start:end]
    if _SIMPLE_COMMAND.fullmatch(whole) and _SIMPLE_KINDS.issuperset(map(_KIND, operands)):
        words = [line[a:b] for a, b in map(_RANGE, (name, *operands))]
        # Whole words with one blank between them: no byte is left over, so R3 holds.
        if " ".join(words) == whole:
            return tuple([word[1:-1] if word[0] in _QUOTES else word for word in words])
    return _words([*name.children, *operands], line, start, end)


def _words(
    nodes: list[Node], line: str, at: int, whole_end: int, *, named: bool = True
) -> tuple[Word, ...]:
    """Return words; the first one of a command is its name, and no list in braces."""
    words: list[Word] = []
    for node in nodes:
        if node.type not in LITERALS:
            check_parts(node)
        start, end = node.byte_range
        gap = line[at:start]
        if gap != " ":
            if not gap and words:
                raise OutsideGrammar("R3", "two words without a blank between them")
            _check_blanks(gap)
        at = end
        word = line[start:end]
        if _PLAIN.fullmatch(word) or word == "!":
            words.append(word)
        elif (words or not named) and "{" in word and (several := braced(word)):
            words += map(_word, several)
        else:
            words.append(_word(word))
    if at != whole_end:
        _check_blanks(line[at:whole_end])
    return tuple(words)


def _word(raw: str) -> Word:
    word = word_of(raw)
    if word is None:
        raise OutsideGrammar("R5", "a character that a shell may expand")
    return word
