"""Name what is in the files that a repository makes git start: they may change as well."""

# ruff: noqa: PTH111, PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from core.files.lookup import is_file
from core.model.command import PinnedFile
from core.planning.paths.pins import pin_file
from core.programs.carriers import in_system_directory

_ENDS_OF_WORDS: Final = re.compile(r"[\s'\"`;|&<>(){}$=,!]+")
_MOST_NAMED: Final = 1_024


def contents_of(path: str) -> str:
    """Return a clause that says what is in a file, or why that is not known.

    The whole digest: whoever writes both files finds two with the same 16 digits in hours.
    """
    found = pin_file(path)
    if isinstance(found, PinnedFile):
        return f" (SHA-256 {found.sha256})"
    return f" (it {found.why})"


def named_in(value: str, roots: Iterable[str]) -> str:
    """Return clauses about the files that a setting's value names, in any of some folders."""
    found = dict.fromkeys(path for path in _paths(value, tuple(roots)) if is_file(path))
    others = (path for path in found if not in_system_directory(os.path.realpath(path)))
    return "".join(f", `{path}`{contents_of(path)}" for path in others)


def _paths(value: str, roots: tuple[str, ...]) -> Iterator[str]:
    for word in islice(filter(None, _ENDS_OF_WORDS.split(value)), _MOST_NAMED):
        for root in dict.fromkeys(roots):
            yield os.path.normpath(os.path.join(root, os.path.expanduser(word)))
