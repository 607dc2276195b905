r"""Read a line by its tree-sitter-bash syntax tree: the first opinion (rules R2 to R8).

The tree alone is not to be trusted: the grammar skips ``\s``, backslash-newline and
backslash-blank between leaves, and every unsound reading that was found hides there. So each byte
must belong to an accepted leaf or be a blank between two of them (R3), and the text of each leaf
must match a short list of literal forms (R5 to R7).
"""

import re
from functools import cache
from operator import attrgetter

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from core.model.command import UNROUTED, Connector, ErrorTo, Reading, Routing, Unreadable, Word
from core.policy.syntax_words import word_of

_CONNECTORS = {
    "program": {";": Connector.THEN},
    "list": {"&&": Connector.AND, "||": Connector.OR},
    "pipeline": {"|": Connector.PIPE},
    "redirected_statement": {},
}
_KIND = attrgetter("type")
_RANGE = attrgetter("byte_range")
_LITERALS = frozenset({"word", "number", "raw_string"})
_STRING_PARTS = frozenset({'"', "string_content", "simple_expansion"})
_VARIABLES = frozenset((b"$HOME", b"$PWD"))

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,^-][A-Za-z0-9_./:@%+,=^-]*+")
_PLAIN_COMMAND = re.compile(rf"{_PLAIN.pattern}(?: {_PLAIN.pattern})*")
_REDIRECTION = re.compile(r"2>&1|(?:&|2)?>[ \t]*/dev/null|<[ \t]*/dev/null")

_TAKING_TURNS = (0, 1)
_SHAPES = {
    "herestring_redirect": "a redirection",
    "heredoc_redirect": "a here-document",
    "variable_assignment": "an assignment",
    "declaration_command": "a declaration",
    "function_definition": "a function definition",
    "negated_command": "a negation",
    "comment": "a comment",
}


class _Refused(Exception):
    """The walk met something outside the accepted grammar; never leaves this module."""


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
        return _line(root, line)
    except _Refused as refused:
        rule, detail = refused.args
        return Unreadable(rule, detail)


def _line(root: Node, line: str) -> Reading:
    """Take every command, connector and redirection in byte order and account for each byte."""
    argvs: list[tuple[Word, ...]] = []
    connectors: list[Connector] = []
    routings: dict[int, Routing] = {}
    at = 0
    for node, kind, parent in _parts(root):
        start, end = node.byte_range
        if start != at and _breaks(line[at:start]) and len(argvs) > len(connectors):
            connectors.append(Connector.THEN)
        at = end
        if kind == "command":
            argvs.append(_command(node, line))
        elif kind == "file_redirect":
            if len(argvs) == len(connectors):
                raise _Refused("R4", "a redirection before the program's name")
            place = len(argvs) - 1
            routings[place] = _routed(routings.get(place, UNROUTED), line, start, end)
        elif kind == "comment":
            _check_comment(line, start, end)
        else:
            connectors.append(_meaning(kind, parent))
        if len(argvs) - len(connectors) not in _TAKING_TURNS:
            raise _Refused("R4", "commands and connectors that do not take turns")
    if at != len(line):
        _breaks(line[at:])
    return _closed(argvs, connectors, routings)


def _closed(
    argvs: list[tuple[Word, ...]], connectors: list[Connector], routings: dict[int, Routing]
) -> Reading:
    """End the line: only ``;`` may stand last, and then it joins nothing."""
    if argvs and len(connectors) == len(argvs) and connectors[-1] is Connector.THEN:
        connectors.pop()
    if len(connectors) + 1 != len(argvs):
        raise _Refused("R4", "a connector that joins nothing")
    if not routings:
        return Reading(tuple(argvs), tuple(connectors))
    routed = tuple(routings.get(place, UNROUTED) for place in range(len(argvs)))
    return Reading(tuple(argvs), tuple(connectors), routed)


def _parts(root: Node) -> list[tuple[Node, str, str]]:
    """List commands and connectors in byte order, each with its kind and its parent's.

    The grammar nests lists in pipelines at will (``a|b|c && d``), so only the order is used;
    without groups it decides alone. A loop, since thousands of links would exhaust recursion.
    """
    parts: list[tuple[Node, str, str]] = []
    pending = [(root, "")]
    while pending:
        node, parent = pending.pop()
        kind = node.type
        if kind in _CONNECTORS:
            pending += [(child, kind) for child in reversed(node.children)]
        else:
            parts.append((node, kind, parent))
    return parts


def _meaning(kind: str, parent: str) -> Connector:
    connector = _CONNECTORS.get(parent, {}).get(kind)
    if connector is None:
        raise _Refused("R4", _shape(kind))
    return connector


def _breaks(gap: str) -> bool:
    """Tell whether a gap between two parts of the line, blanks alone, ends the command (R3)."""
    _check_blanks(gap.replace("\n", " "))
    return "\n" in gap


def _check_comment(line: str, start: int, end: int) -> None:
    """Accept a comment that begins where a word could and goes on to the end of its line."""
    if start and line[start - 1] not in " \t\n;|&":
        raise _Refused("R3", "a comment inside a word")
    # Whether a backslash joins the next line to a comment is nothing to rely on.
    if "\n" in line[start:end] or line[end : end + 1] not in {"", "\n"} or line[end - 1] == "\\":
        raise _Refused("R4", "a comment of more than one line")


def _routed(before: Routing, line: str, start: int, end: int) -> Routing:
    """Return where the streams lead after one more redirection."""
    mark = line[start:end]
    if line[start - 1] not in " \t" or not _REDIRECTION.fullmatch(mark):
        raise _Refused("R4", "a redirection")
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
    if gap.strip(" \t"):
        raise _Refused("R3", "text that belongs to no word")


def _command(command: Node, line: str) -> tuple[Word, ...]:
    """Return one command's words."""
    name, *operands = command.children
    if name.type != "command_name":
        raise _Refused("R8", "something before the program's name")
    start, end = command.byte_range
    whole = line[start:end]
    if _PLAIN_COMMAND.fullmatch(whole) and _LITERALS.issuperset(map(_KIND, operands)):
        words = [line[a:b] for a, b in map(_RANGE, (name, *operands))]
        # Plain words with one blank between them: no byte is left over, so R3 holds.
        if " ".join(words) == whole:
            return tuple(words)
    return _words([*name.children, *operands], line, start, end)


def _words(nodes: list[Node], line: str, at: int, whole_end: int) -> tuple[Word, ...]:
    words: list[Word] = []
    for node in nodes:
        if node.type not in _LITERALS:
            _check_parts(node)
        start, end = node.byte_range
        gap = line[at:start]
        if gap != " ":
            if not gap and words:
                raise _Refused("R3", "two words without a blank between them")
            _check_blanks(gap)
        at = end
        word = line[start:end]
        words.append(word if _PLAIN.fullmatch(word) else _word(word))
    _check_blanks(line[at:whole_end])
    return tuple(words)


def _check_parts(node: Node) -> None:
    """Accept literal text only; the parts of a joined word must touch (R3, R4)."""
    kind = node.type
    if kind == "string":
        if not all(map(_is_string_part, node.children)):
            raise _Refused("R7", "an expansion inside double quotes")
    elif kind == "concatenation":
        at, end = node.byte_range
        for part in node.children:
            start, part_end = part.byte_range
            if start != at:
                raise _Refused("R3", "a word with a gap in it")
            if part.type not in _LITERALS:
                _check_parts(part)
            at = part_end
        if at != end:
            raise _Refused("R3", "a word with a gap in it")
    elif not _is_variable(node):
        raise _Refused("R4", _shape(kind))


def _is_string_part(node: Node) -> bool:
    kind = node.type
    return kind in _STRING_PARTS and (kind != "simple_expansion" or _is_variable(node))


def _is_variable(node: Node) -> bool:
    """Tell whether a node is one of the two variables that the planner knows."""
    # Inside a string the grammar lets the node begin with the blanks before it.
    return node.type == "simple_expansion" and (node.text or b"").lstrip() in _VARIABLES


def _shape(kind: str) -> str:
    return _SHAPES.get(kind, f"the shell syntax {kind.replace('_', ' ')}")


def _word(raw: str) -> Word:
    word = word_of(raw)
    if word is None:
        raise _Refused("R5", "a character that a shell may expand")
    return word
