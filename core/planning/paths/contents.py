"""Name what is in the files that a command would obey or start unseen: they may change as well."""

# ruff: noqa: PTH111, PTH112, PTH118, PTH120
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Final

from core.files.lookup import check_looked, is_file, open_regular
from core.model.command import PinnedFile
from core.planning.paths.pins import pin_file
from core.programs.carriers import in_system_directory

_ENDS_OF_WORDS: Final = re.compile(r"[\s'\"`;|&<>(){}$=,!]+")
_MOST_NAMED: Final = 1_024
_MOST_FILES: Final = 1_024
"""Files of one folder of which it is known what is in them."""

_LARGEST: Final = 64 * 1024
"""Bytes of a file that are searched for names of others."""


def contents_of(path: str) -> str:
    """Return a clause that says what is in a file, or why that is not known.

    The whole digest: whoever writes both files finds two with the same 16 digits in hours.
    """
    found = pin_file(path)
    if isinstance(found, PinnedFile):
        return f" (SHA-256 {found.sha256})"
    return f" (it {found.why})"


def contents_with_named(path: str, cwd: str) -> str:
    """Return such a clause about a file, or a folder's files, and about the files that it names."""
    if os.path.isdir(path):
        files = files_in(path)
        first = "first " if len(files) == _MOST_FILES else ""
        return f" (SHA-256 {digest_of(files)} of its {first}{len(files)} files)"
    roots = dict.fromkeys((os.path.dirname(path), cwd))
    named = tuple(_named(_text_of(path), tuple(roots)))
    more = f" and what it names (SHA-256 {digest_of(named)})" if named else ""
    return contents_of(path) + more


def digest_of(paths: Iterable[str]) -> str:
    """Return one digest of what is in files, with their paths."""
    text = "\n".join(f"{path}{contents_of(path)}" for path in paths)
    return sha256(text.encode(errors="surrogateescape")).hexdigest()


def files_in(path: str) -> tuple[str, ...]:
    """Return the paths of the first files below a folder, sorted, or a path that is none.

    Raises:
        OSError: a folder could not be listed.
    """
    if not os.path.isdir(path):
        return (path,)
    return tuple(islice(_below(path), _MOST_FILES))


def _below(folder: str) -> Iterator[str]:
    for at, folders, names in os.walk(folder, onerror=check_looked):
        folders.sort()
        yield from (os.path.join(at, name) for name in sorted(names))


def named_in(value: str, roots: Iterable[str]) -> str:
    """Return clauses about the files that a setting's value names, in any of some folders."""
    others = _named(value, tuple(roots))
    return "".join(f", `{path}`{contents_of(path)}" for path in others)


def _named(text: str, roots: tuple[str, ...]) -> Iterator[str]:
    """Yield the files that words of a text name, apart from those of the system."""
    for path in dict.fromkeys(_paths(text, roots)):
        if is_file(path) and not in_system_directory(os.path.realpath(path)):
            yield path


def _text_of(path: str) -> str:
    try:
        with open_regular(path) as opened:
            return opened.read(_LARGEST).decode(errors="replace")
    except OSError as error:
        check_looked(error)
        return ""


def _paths(value: str, roots: tuple[str, ...]) -> Iterator[str]:
    for word in islice(filter(None, _ENDS_OF_WORDS.split(value)), _MOST_NAMED):
        for root in dict.fromkeys(roots):
            yield os.path.normpath(os.path.join(root, os.path.expanduser(word)))
