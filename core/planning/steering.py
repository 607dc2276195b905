"""Find what around a command makes it do more than its vector says."""

import os
import re
from collections.abc import Iterator
from typing import Final

from core.model.command import PinnedFile, PlannedCommand
from core.planning.code.files.bulk_lookup import folders_named
from core.planning.code.files.by_name import may_start_others
from core.planning.code.words.interpreters import starts_others
from core.planning.code.words.places import readings_of
from core.planning.git import repository
from core.planning.git.obedience import obedience_in
from core.planning.paths.pins import Unpinned
from core.planning.python_modules import shadowed
from core.planning.shims import chosen_by

_NAMES_HOOKS: Final = re.compile(r"hookspath|template", re.IGNORECASE)


def steering(command: PlannedCommand, cwd: str) -> str:
    """Return what steers a command beyond its vector, as clauses; ``""`` if nothing does.

    Raises:
        OSError: a lookup failed (``core.files.lookup``).
    """
    found = (
        repository.steering(command, cwd),
        _within_text(command, cwd),
        chosen_by(command, cwd),
        shadowed(command, cwd),
    )
    return "; ".join(filter(None, found))


def _within_text(command: PlannedCommand, cwd: str) -> str:
    """Return what steers git where only a text names it, of which nobody reads what git would do.

    The text may enter each folder that it names.
    """
    text = " ".join(command.argv[1:])
    obeys = obedience_in(text) if "g" in text else None  # as in each name: most name none
    if obeys is None or command.executable is None:
        return ""
    if not _may_start_others(command.argv, command.executable):
        return ""
    folders = list(dict.fromkeys(_folders(command.argv, cwd)))
    further = folders if _NAMES_HOOKS.search(text) else []
    hooks = (path for one in further for path in (one, one + "/hooks"))
    return repository.steering_in(folders, obeys, hooks)


def _may_start_others(argv: tuple[str, ...], file: PinnedFile) -> bool:
    return may_start_others(argv, file) or starts_others(argv[0], file.realpath)


def _folders(argv: tuple[str, ...], cwd: str) -> Iterator[str]:
    yield cwd
    home = os.path.expanduser("~")  # noqa: PTH111 - ten times slower there
    for words in (argv, *readings_of(argv, home)):
        found = folders_named(cwd, words[1:])
        if not isinstance(found, Unpinned):  # such a command cannot be planned
            yield from map(os.path.realpath, found)
