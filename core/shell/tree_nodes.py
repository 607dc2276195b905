"""Accept the nodes of one word in a tree-sitter-bash tree (rules R3, R4, R7)."""

import re
from operator import attrgetter

from tree_sitter import Node

LITERALS = frozenset({"word", "number", "raw_string"})
_KIND = attrgetter("type")
# A lone "$" names nothing; whether it is one is for the word's text to say.
_STRING_PARTS = frozenset({'"', "string_content", "$"})
_VARIABLE = re.compile(rb"\$(?:HOME|PWD|[a-z][a-z0-9_]*)|\$\{[a-z][a-z0-9_]*\}|\$(?:\?|\{\?\})")
_EXPANSIONS = frozenset({"simple_expansion", "expansion"})
_FOLDER = b"$(pwd)"
_SHAPES = {
    "herestring_redirect": "a redirection",
    "heredoc_redirect": "a here-document",
    "variable_assignment": "an assignment",
    "declaration_command": "a declaration",
    "function_definition": "a function definition",
    "negated_command": "a negation",
    "comment": "a comment",
}


class OutsideGrammar(Exception):
    """The walk met something outside the accepted grammar: its rule, its phrase."""


def check_parts(node: Node) -> None:
    """Accept literal text and known variables only; the parts of a joined word must touch.

    Raises:
        Refused: the word contains something else.
    """
    kind = node.type
    if kind == "string":
        if not _STRING_PARTS.issuperset(map(_KIND, node.children)):
            _check_string(node)
    elif kind == "concatenation":
        _check_joined(node)
    elif kind not in LITERALS and kind != "brace_expression" and not _is_variable(node):
        raise OutsideGrammar("R4", shape(kind))


def _check_joined(node: Node) -> None:
    at, end = node.byte_range
    for part in node.children:
        start, part_end = part.byte_range
        if start != at:
            raise OutsideGrammar("R3", "a word with a gap in it")
        check_parts(part)
        at = part_end
    if at != end:
        raise OutsideGrammar("R3", "a word with a gap in it")


def _check_string(node: Node) -> None:
    if not all(part.type in _STRING_PARTS or _is_variable(part) for part in node.children):
        raise OutsideGrammar("R7", "an expansion inside double quotes")


def _is_variable(node: Node) -> bool:
    """Return whether a node is a variable that the planner may know, or ``$(pwd)``."""
    if node.type == "command_substitution":
        return node.text == _FOLDER
    # Inside a string the grammar lets the node begin with the blanks before it.
    return node.type in _EXPANSIONS and bool(_VARIABLE.fullmatch((node.text or b"").lstrip()))


def shape(kind: str) -> str:
    """Return a phrase for a kind of node that is not accepted."""
    return _SHAPES.get(kind, f"the shell syntax {kind.replace('_', ' ')}")
