"""Name what a line holds that the second reader does not know."""

from core.model.command import Unreadable

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
    "[": ("R5", "a bracket that is not a plain set"),
    "]": ("R5", "a bracket that is not a plain set"),
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
    "\\": ("R7", "a backslash before a control character inside double quotes"),
}


def outside_refusal(mark: str) -> Unreadable:
    """Return why a character outside quotes ends the reading."""
    return Unreadable(*_OUTSIDE.get(mark, ("R5", "a non-ASCII character outside quotes")))


def inside_refusal(text: str, at: int) -> Unreadable:
    """Return why the double-quoted text that begins at ``at`` does not reach its end."""
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] not in {"", "\t"}:
            at += 2
        elif text[at] in _INSIDE:
            return Unreadable(*_INSIDE[text[at]])
        else:
            at += 1
    return Unreadable("R2", "a double quote that is not closed")
