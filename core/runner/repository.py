"""Find what a repository's own configuration would make git start besides the line (git-config(1)).

Git obeys the configuration of the repository around the folder that it stands in, and for each
submodule that it looks into that one's. Whoever may write there can name filters, text conversions
and other programs, which the line does not show (bypasses.md §5).
"""

# ruff: noqa: PTH111, PTH112, PTH113, PTH118, PTH120
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from core.model.command import PlannedCommand
from core.policy.git_settings import (
    HOOKS_PATH,
    WORKTREE,
    Illegible,
    Setting,
    reaches_out,
    read_settings,
    reading_hooks,
    reads_repository,
)
from core.runner.gitlinks import submodules
from core.runner.pins import Unpinned

_LARGEST: Final = 256 * 1024
"""Bytes of a configuration that is read; a larger one is no person's work."""

_MOST: Final = 64
"""Repositories that one command may look into: its own, those around it, the submodules."""


@dataclass(frozen=True, slots=True)
class _Repository:
    """A repository's own folder (``.git``), and where its files lie, ``""`` if it is bare."""

    folder: str
    tree: str


def steering(command: PlannedCommand, cwd: str) -> str:
    """Return what steers a command beyond its vector, as a clause; ``""`` if nothing does."""
    executable = command.executable
    if executable is None or not reads_repository(command.argv[0], executable.realpath):
        return ""
    return next(filter(None, map(_steering, _folders(command.argv, cwd))), "")


def _folders(argv: tuple[str, ...], cwd: str) -> Iterator[str]:
    """Yield where a command may stand; an entry or a rule can let ``-C`` and ``--git-dir`` pass."""
    yield cwd
    folder = cwd
    for option, following in pairwise((*argv[1:], "")):
        name, _, joined = option.partition("=")
        if name == "-C":
            folder = os.path.realpath(os.path.join(folder, following))
            yield folder
        elif name == "--git-dir":
            yield os.path.realpath(os.path.join(folder, joined or following))


def _steering(cwd: str) -> str:
    waiting = list(_around(cwd))
    seen: set[str] = set()
    while waiting:
        repository = waiting.pop()
        if repository.folder in seen:
            continue
        seen.add(repository.folder)
        if len(seen) > _MOST:
            return f"more than {_MOST} repositories lie around and within `{cwd}`"
        found = _steered_by(repository)
        if found:
            return found
        within = submodules(repository.folder) if repository.tree else ()
        if isinstance(within, Unpinned):
            return within.why
        waiting += filter(None, (_at(os.path.join(repository.tree, path)) for path in within))
    return ""


def _around(cwd: str) -> Iterator[_Repository]:
    """Yield each repository around a folder: git takes the first one that it finds whole."""
    folder = cwd
    while True:
        found = _at(folder)
        if found is not None:
            yield found
        if os.path.lexists(folder + "/HEAD") and os.path.isdir(folder + "/objects"):
            yield _Repository(folder, "")
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _at(tree: str) -> _Repository | None:
    """Return the repository whose files lie in a folder, by its ``.git`` there."""
    dot = tree.rstrip("/") + "/.git"
    if os.path.isfile(dot):
        dot = os.path.join(tree, _line(dot).removeprefix("gitdir:").strip())
    if not os.path.isdir(dot):
        return None
    return _Repository(dot, tree)


def _steered_by(repository: _Repository) -> str:
    """Return what in a repository makes git start something, or keeps that from being known."""
    places = [repository.folder]
    common = _line(repository.folder + "/commondir").strip()  # a linked work tree has another's
    if common:
        places.append(os.path.join(repository.folder, common))
    files = (place + name for place in places for name in ("/config", "/config.worktree"))
    looks = (_look(path, repository) for path in files if os.path.lexists(path))
    hooks = (_hook(place + "/hooks") for place in places)
    return next(filter(None, (*looks, *hooks)), "")


def _look(path: str, repository: _Repository) -> str:
    content = _bytes(path)
    if content is None:
        return f"`{path}` cannot be read"
    if len(content) > _LARGEST:
        return f"`{path}` is larger than {_LARGEST} bytes"
    settings = read_settings(content.decode(errors="surrogateescape"))
    if isinstance(settings, Illegible):
        return f"line {settings.line} of `{path}` is not understood"
    return next(filter(None, (_reaching(path, one, repository) for one in settings)), "")


def _reaching(path: str, setting: Setting, repository: _Repository) -> str:
    named = setting.name
    if named == HOOKS_PATH:
        places = {os.path.expanduser(setting.value), setting.value}
        roots = (repository.tree, repository.folder)
        hooks = (_hook(os.path.join(root, place)) for root in roots for place in places)
        return next(filter(None, hooks), "")
    if reaches_out(setting) or (named == WORKTREE and _leads_away(setting.value, repository)):
        found = f"`{path}` sets `{named} = {setting.value}`"
        return found.encode(errors="replace").decode()
    return ""


def _hook(folder: str) -> str:
    """Return the hook of a folder that a reading command would run."""
    paths = (f"{folder}/{name}" for name in reading_hooks())
    return next((f"it runs the hook `{path}`" for path in paths if os.path.lexists(path)), "")


def _leads_away(worktree: str, repository: _Repository) -> bool:
    """Tell whether files are looked at elsewhere than where the repository was found."""
    named = os.path.realpath(os.path.join(repository.folder, worktree))
    return named != os.path.realpath(repository.tree)


def _line(path: str) -> str:
    return (_bytes(path) or b"").decode(errors="surrogateescape").rstrip("\n")


def _bytes(path: str) -> bytes | None:
    """Return the first bytes of a file, ``None`` if it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.read(fd, _LARGEST + 1)
    except OSError:
        return None
    finally:
        os.close(fd)
