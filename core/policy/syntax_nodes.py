"""Accept the nodes of one word in a tree-sitter-bash tree (rules R3, R4, R7)."""

from tree_sitter import Node

LITERALS = frozenset({"word", "number", "raw_string"})
_STRING_PARTS = frozenset({'"', "string_content"})
_VARIABLES = frozenset((b"$HOME", b"$PWD"))
_SHAPES = {
    "herestring_redirect": "a redirection",
    "heredoc_redirect": "a here-document",
    "variable_assignment": "an assignment",
    "declaration_command": "a declaration",
    "function_definition": "a function definition",
    "negated_command": "a negation",
    "comment": "a comment",
}


class Refused(Exception):
    """The walk met something outside the accepted grammar: its rule, its phrase."""


def check_parts(node: Node) -> None:
    """Accept literal text and known variables only; the parts of a joined word must touch.

    Raises:
        Refused: something else stands in the word.
    """
    kind = node.type
    if kind in LITERALS or _is_variable(node):
        return
    if kind == "concatenation":
        _check_joined(node)
    elif kind != "string":
        raise Refused("R4", shape(kind))
    elif not all(map(_is_string_part, node.children)):
        raise Refused("R7", "an expansion inside double quotes")


def _check_joined(node: Node) -> None:
    at, end = node.byte_range
    for part in node.children:
        start, part_end = part.byte_range
        if start != at:
            raise Refused("R3", "a word with a gap in it")
        check_parts(part)
        at = part_end
    if at != end:
        raise Refused("R3", "a word with a gap in it")


def _is_string_part(node: Node) -> bool:
    return node.type in _STRING_PARTS or _is_variable(node)


def _is_variable(node: Node) -> bool:
    """Tell whether a node is one of the two variables that the planner knows."""
    # Inside a string the grammar lets the node begin with the blanks before it.
    return node.type == "simple_expansion" and (node.text or b"").lstrip() in _VARIABLES


def shape(kind: str) -> str:
    """Return a phrase for a kind of node that is not accepted."""
    return _SHAPES.get(kind, f"the shell syntax {kind.replace('_', ' ')}")
