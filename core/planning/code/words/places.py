"""Read words as if they named known folders: the home for ``~``, the working one for ``$(…)``.

A shell or a program puts such a folder there when it runs. Nothing is allowed by these readings:
more is bound by them.
"""

import re
from collections.abc import Iterator
from typing import Final

_HOME: Final = re.compile(
    r"\$HOME\b|\$\{HOME\}|(?<![\w./~\\])~(?=[/\s;&|():'\"]|\Z)"
    r"|(?<=\bcd)(?=[ \t]*(?:[;&|)\n]|\Z))"
)
_BEFORE_A_PATH: Final = re.compile(
    r"""(?:/proc/(?:self|\$\$|\$?\{?\w+\}?)/cwd|\$\w+["']?|%s|(?<=[()}`"']))/(?=[\w.])"""
)
"""What ends where a path goes on: a variable, a substitution, the end of a quotation."""
_ANY: Final = re.compile(r"[~$/\\]|\bcd\b")
"""What each word that is read in any of these ways contains."""

_ESCAPED: Final = re.compile(r"\\([\w./-])")


def readings_of(argv: tuple[str, ...], home: str) -> Iterator[tuple[str, ...]]:
    """Yield the vector with its words read in each further way; its program's name is kept."""
    if not _ANY.search("\0".join(argv[1:])):
        return
    read = argv
    seen = {argv}
    for change in (lambda word: _at_home(word, home), _in_folder, _unescaped):
        read = (argv[0], *map(change, read[1:]))
        if read not in seen:
            seen.add(read)
            yield read


def _at_home(word: str, home: str) -> str:
    return _HOME.sub(lambda found: home if found[0] else f" {home}", word) if home else word


def _in_folder(word: str) -> str:
    if "/" not in word:
        return word
    return _BEFORE_A_PATH.sub(lambda found: " ./" if found.start() else "./", word)


def _unescaped(word: str) -> str:
    return _ESCAPED.sub(r"\1", word) if "\\" in word else word
