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

from core.model.command import Connector, Reading, Unreadable

_CONNECTORS = {
    "program": {";": Connector.THEN},
    "list": {"&&": Connector.AND, "||": Connector.OR},
    "pipeline": {"|": Connector.PIPE},
}
_KIND = attrgetter("type")
_RANGE = attrgetter("byte_range")
_LITERALS = frozenset({"word", "number", "raw_string"})
_QUOTES = frozenset("'\"")
_STRING_PARTS = frozenset({'"', "string_content"})

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,^-][A-Za-z0-9_./:@%+,=^-]*+")
_PLAIN_COMMAND = re.compile(rf"{_PLAIN.pattern}(?: {_PLAIN.pattern})*")
_LITERAL = re.compile(
    r"(?!=)(?:[A-Za-z0-9_./:@%+,=^-]++"
    r"|(?<=[A-Za-z0-9_^~}])~"
    r"|(?<=[A-Za-z0-9_./:@%+,=^~}-])\#"
    r"|(?<=[@^])\{(?!\.)(?:[A-Za-z0-9_-]|\.(?![.}]))*\}"
    r"|\\[\x21-\x7e]"
    r"|'[^']*+'"
    r'|"(?:[^"$`!\\]++|\\[\x20\x22-\x7e])*")+'
)
_QUOTED = re.compile(r"""'([^']*+)'|"((?:[^"\\]++|\\.)*)"|\\(.)""")
_ESCAPED = re.compile(r'\\([$`"\\])')

_TAKING_TURNS = (0, 1)
_SHAPES = {
    "redirected_statement": "a redirection",
    "file_redirect": "a redirection",
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
    """Take every command and connector in byte order and account for each byte."""
    argvs: list[tuple[str, ...]] = []
    connectors: list[Connector] = []
    at = 0
    for node, kind, parent in _parts(root):
        if kind == "command":
            words, at = _command(node, line, at)
            argvs.append(words)
        else:
            connectors.append(_meaning(kind, parent))
            start, end = node.byte_range
            if start != at:
                _check_blanks(line[at:start])
            at = end
        if len(argvs) - len(connectors) not in _TAKING_TURNS:
            raise _Refused("R4", "commands and connectors that do not take turns")
    if at != len(line):
        _check_blanks(line[at:])
    if argvs and len(connectors) == len(argvs) and connectors[-1] is Connector.THEN:
        connectors.pop()
    if len(connectors) + 1 != len(argvs):
        raise _Refused("R4", "a connector that joins nothing")
    return Reading(tuple(argvs), tuple(connectors))


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


def _check_blanks(gap: str) -> None:
    if gap.strip(" \t"):
        raise _Refused("R3", "text that belongs to no word")


def _command(command: Node, line: str, at: int) -> tuple[tuple[str, ...], int]:
    """Return one command's words and the byte after the last."""
    name, *operands = command.children
    if name.type != "command_name":
        raise _Refused("R8", "something before the program's name")
    start, end = command.byte_range
    if start != at:
        _check_blanks(line[at:start])
    whole = line[start:end]
    if _PLAIN_COMMAND.fullmatch(whole) and _LITERALS.issuperset(map(_KIND, operands)):
        words = [line[a:b] for a, b in map(_RANGE, (name, *operands))]
        # Plain words with one blank between them: no byte is left over, so R3 holds.
        if " ".join(words) == whole:
            return tuple(words), end
    return _words([*name.children, *operands], line, start), end


def _words(nodes: list[Node], line: str, at: int) -> tuple[str, ...]:
    words: list[str] = []
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
        words.append(word if _PLAIN.fullmatch(word) else _literal(word))
    return tuple(words)


def _check_parts(node: Node) -> None:
    """Accept literal text only; the parts of a joined word must touch (R3, R4)."""
    kind = node.type
    if kind == "string":
        if not _STRING_PARTS.issuperset(map(_KIND, node.children)):
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
    else:
        raise _Refused("R4", _shape(kind))


def _shape(kind: str) -> str:
    return _SHAPES.get(kind, f"the shell syntax {kind.replace('_', ' ')}")


def _literal(raw: str) -> str:
    """Return what one quoted or escaped word means; ``raw`` is one character a byte."""
    if not _LITERAL.fullmatch(raw):
        raise _Refused("R5", "a character that a shell may expand")
    inner = raw[1:-1]
    if raw[0] == raw[-1] in _QUOTES and raw[0] not in inner and "\\" not in inner:
        word = inner
    else:
        word = _QUOTED.sub(_unquoted, raw)
    return word if word.isascii() else word.encode("latin-1").decode()


def _unquoted(found: re.Match[str]) -> str:
    single, double, escaped = found.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return str(escaped if single is None else single)
