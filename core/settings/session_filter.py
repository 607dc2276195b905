"""Match session keys with patterns that cannot blow up (``approvals.exec.sessionFilter``).

CPython's ``re`` tries one way after another: ``(a+)+$`` takes exponential time, and even without
nesting ``.*.*.*x`` takes the fourth power of the text (CWE-1333). A session key is chosen by the
agent, so it could stall the whole gateway at will. RE2 takes time in proportion to the key,
whatever the pattern; what that method cannot do, backreferences and look-around, is refused when
the configuration is read.
"""

from collections.abc import Callable, Iterable
from typing import Final

LONGEST_PATTERN: Final = 200
_SPECIAL: Final = frozenset("^$.*+?{}()[]|\\")
"""What makes a word more than a part of a key."""


def session_filter(words: Iterable[str]) -> Callable[[str], bool]:
    """Return what says whether a session's key passes: one of the words must match it.

    A word is a part of the key or a pattern that is found in it (S1 "substring or regex"). In
    slashes it is a pattern only.

    Raises:
        ValueError: a pattern cannot be used; the message says why.
    """
    known = tuple(words)
    parts = tuple(word for word in known if not _is_quoted(word))
    patterns = tuple(_pattern(word) for word in known if _is_quoted(word) or _SPECIAL & {*word})

    def passes(key: str) -> bool:
        return any(part in key for part in parts) or any(found_in(key) for found_in in patterns)

    return passes


def _pattern(word: str) -> Callable[[str], bool]:
    try:
        return compiled(word[1:-1] if _is_quoted(word) else word)
    except ValueError as error:
        raise ValueError(
            f"{error}, in {word!r}; put a backslash before a special character"
        ) from None


def compiled(source: str) -> Callable[[str], bool]:
    """Return what says whether a pattern is found in a text; its ``.`` is any character.

    Raises:
        ValueError: the pattern is too long, malformed, or uses what RE2 does not support.
    """
    import re2  # noqa: PLC0415 - loaded where a filter has a pattern

    if len(source) > LONGEST_PATTERN:
        raise ValueError(f"a pattern has at most {LONGEST_PATTERN} characters")
    options = re2.Options()
    options.dot_nl, options.log_errors = True, False
    try:
        pattern = re2.compile(source, options)
    except re2.error as error:
        why = error.args[0].decode(errors="replace")
        raise ValueError(f"a pattern cannot be used ({why})") from None
    return lambda text: pattern.search(text) is not None


def _is_quoted(word: str) -> bool:
    return len(word) > 1 and word.startswith("/") and word.endswith("/")
