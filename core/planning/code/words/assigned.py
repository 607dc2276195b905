"""Read the variables that words set: they may name files that programs load, or contain code."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from core.planning.code.words.parts import ENDS_OF_WORDS, in_cluster, pieces_of, tails
from core.planning.code.words.spoken import with_interpreter

_SETS: Final = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*])?(\+?)=(.+)", re.DOTALL)
_LOADED: Final = re.compile(
    r"\w*(?:ENV|OPTS?|OPTIONS|FLAGS|MAKEFILES|STARTUP|PRELOAD|AUDIT|INIT|RC|CLASSPATH|LOADER|MODULE"
    r"|PERL5\w+|RUBYLIB|GIT_CONFIG\w*|CONF|HOOK|SCRIPT|CMD|EXEC|WRAPPER|RUNNER|EXTERNAL_?DIFF|PS4"
    r"|PAGER|EDITOR|VISUAL|COMMAND|SSH|SHELL|ASKPASS|LESSOPEN|LESSCLOSE|BROWSER)|PYTHONPATH|CMAKE_\w+"
)
"""Variables through which programs load files, take options, or start others."""


_SET_IN_TEXT: Final = re.compile(r"""\b([A-Za-z_]\w*)(\+?)=(["']?)([^\s"'`$;|&<>()]+)\3""")
_LONGEST_SET: Final = 256
_USED: Final = re.compile(r"\$(?:(\w+)|\{(\w+)[^{}]*\})")


def _settings(words: Iterable[str]) -> dict[str, str]:
    """Return the short values that words set, by the names of their variables."""
    found = filter(None, map(_SETS.fullmatch, words))
    return _kept((one[1], one[2], one[3]) for one in found)


def _settings_in(text: str) -> dict[str, str]:
    """Return the same for a text, any part of which may be a command."""
    return _kept((one[1], one[2], one[4]) for one in _SET_IN_TEXT.finditer(text))


def _kept(assignments: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Return the last short value of each variable; after ``+``, it continues the one before."""
    found: dict[str, str] = {}
    for name, more, value in assignments:
        whole = found.get(name, "") + value if more else value
        if len(whole) <= _LONGEST_SET:
            found[name] = whole
    return found


def _with_values(text: str, known: dict[str, str]) -> str:
    """Return a text with the variables that it uses replaced by known values, in any quotes."""
    if not known or "$" not in text:
        return text
    return _USED.sub(lambda used: known.get(used[1] or used[2], used[0]), text)


def with_own_values(text: str) -> tuple[str, ...]:
    """Return a text and, if it differs, the text with the values that it sets filled in.

    So `x=notes; sh $x` is also read as `x=notes; sh notes`.
    """
    return tuple(dict.fromkeys((text, _with_values(text, _settings_in(text)))))


def filled(words: Sequence[str]) -> Sequence[str] | None:
    """Return words with the values that they set filled in, ``None`` if they use none of them."""
    if not any("$" in word for word in words):
        return None
    known = _settings(words)
    found = tuple(_with_values(word, known) for word in words)
    return None if found == tuple(words) else found


def loads(name: str) -> bool:
    """Return whether programs may load or start what a variable with this name holds."""
    return _LOADED.fullmatch(name) is not None


def loaded(words: Iterable[str]) -> Iterator[str]:
    """Yield possible names of code files in the values that words set.

    These are values of variables that programs load or start, and values that name an interpreter.
    """
    for found in filter(None, map(_SETS.fullmatch, words)):
        yield from with_interpreter(found[3])
        if loads(found[1]):
            for piece in pieces_of(found[3]):
                yield piece
                yield from in_cluster(piece)
                yield from tails(piece)


def sets_data(word: str) -> bool:
    """Return whether a word sets a variable to one word that no program loads as code."""
    found = _SETS.fullmatch(word)
    return found is not None and not (loads(found[1]) or ENDS_OF_WORDS.search(found[3]))


def texts(words: Iterable[str]) -> Iterator[str]:
    """Yield the values, of more than one word, of variables that programs load or start."""
    found = (_SETS.fullmatch(word) for word in words)
    yield from (one[3] for one in found if one and loads(one[1]) and ENDS_OF_WORDS.search(one[3]))


def filled_in(words: Iterable[str], spare: Iterable[str]) -> Iterator[str]:
    """Yield possible file names in values that code may contain; a single word is not code."""
    found = (_SETS.fullmatch(word) for word in words)
    values = (*(one[3] for one in found if one is not None), *spare)
    for value in values:
        if ENDS_OF_WORDS.search(value) or "\\" in value:
            yield from pieces_of(value)


def values(words: Iterable[str]) -> Iterator[str]:
    """Yield possible file names in the values of all variables that words set."""
    for word in words:
        found = _SETS.fullmatch(word)
        if found is not None:
            yield from pieces_of(found[3])
