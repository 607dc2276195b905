"""Format an argument vector for the journal: a list to search in, secrets masked, bounded."""

from itertools import pairwise

from core.text.render import redact
from core.text.secrets import argument_pieces, mark

_MOST_CHARACTERS = 4_096
"""For a vector that nobody checked: masking more would hold up everybody else."""


def redacted_argv(argv: tuple[str, ...]) -> list[str]:
    """Return a vector word by word, with the value after ``--password`` masked as well."""
    return [_word(word, before) for before, word in pairwise(("", *argv))]


def recorded_argv(argv: object) -> object:
    """Return what is kept of something that should have been a vector: its start, or its type."""
    if not isinstance(argv, list | tuple):
        return f"not a list but {type(argv).__name__}"
    words: list[str] = []
    left = _MOST_CHARACTERS
    for one in argv:
        if left <= 0:
            break
        words.append(one[:left] if isinstance(one, str) else f"<{type(one).__name__}>")
        left -= max(1, len(words[-1]))
    more = [f"… and {len(argv) - len(words)} more"] if len(argv) > len(words) else []
    return [*redacted_argv(tuple(words)), *more]


def _word(word: str, before: str) -> str:
    pieces = argument_pieces(word, before)
    if len(pieces) == 1 and pieces[0].kind:
        return mark(pieces[0].kind)
    return redact(word).text
