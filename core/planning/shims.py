"""Find the file around a folder that chooses what a shim starts, or what a program loads first."""

# ruff: noqa: PTH111, PTH118, PTH120
# pathlib is ten times slower here.

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from core.files.lookup import check_looked, is_there, open_regular, status_of
from core.model.command import PinnedFile, PlannedCommand
from core.planning.paths.contents import contents_with_named
from core.planning.paths.pins import FINGERPRINTS
from core.policy.matching.template_element import below
from core.programs.carriers import in_installed_directory, in_system_directory, is_plain
from core.programs.shims import (
    Chooser,
    Manager,
    chooses_plainly,
    is_imitation,
    is_vouched_for,
    loaded_by,
    loads_more,
    manager_marked,
    manager_named,
    managers,
    own_paths,
    runs_code,
    served,
)

_LARGEST: Final = 64 * 1024
"""Bytes of a file that chooses; a larger one is not read."""

_LARGEST_SCRIPT: Final = 64 * 1024
"""Bytes of a script that may be a shim; version managers write a few lines."""

_LARGEST_BINARY: Final = 32 * 1024 * 1024
"""Bytes of a binary that may be a manager's, which is searched once: rustup has 20 MB."""


def chosen_by(command: PlannedCommand, cwd: str) -> str:
    """Return which file around a folder chooses what a command starts; ``""`` if none does.

    Only where nobody allowed the project's own code to run: a profile vouches for the program
    itself, and a rule for ``npm test`` for whatever the project does.
    """
    executable = command.executable
    if executable is None:
        return ""
    started = (executable, *_interpreters(command, executable))
    paths = own_paths(executable.path, executable.realpath)
    suspects = tuple(file for file in started if _is_suspect(file))
    arguments = command.argv[1:]
    found = _starting(suspects, paths, arguments, cwd) if suspects else ""
    return found or _namesake(command, executable, cwd) or _loading(paths, arguments, cwd)


@lru_cache(maxsize=4096)
def _is_suspect(file: PinnedFile) -> bool:
    """Return whether a file may start another program than its name says."""
    return _manager_of(file) is not None or _imitation(file) != ""


def _starting(
    suspects: tuple[PinnedFile, ...], paths: tuple[str, ...], arguments: tuple[str, ...], cwd: str
) -> str:
    if any(runs_code(path, arguments) for path in paths):
        return ""
    name = paths[0].rpartition("/")[2]
    found = next(filter(None, (_shim(file, cwd, name) for file in suspects)), "")
    if not found and any(is_vouched_for(path, arguments) for path in paths):
        return next(filter(None, map(_imitation, suspects)), "")
    return found


def _namesake(command: PlannedCommand, file: PinnedFile, cwd: str) -> str:
    """Return a clause where a binary of the work tree has only the name of a known program."""
    if in_system_directory(file.realpath) or FINGERPRINTS.script_head(file.sha256):
        return ""
    # Package managers put tools of their own below a project, and none of the system's.
    if in_installed_directory(file.path) and not is_plain(file.path):
        return ""
    paths, arguments = own_paths(file.path, file.realpath), command.argv[1:]
    if any(runs_code(path, arguments) for path in paths):
        return ""
    known = any(is_vouched_for(path, arguments) for path in paths)
    if not known or not _is_of_work_tree(command.argv[0], file.realpath, cwd):
        return ""
    name = file.path.rpartition("/")[2]
    return f"`{file.path}` is a program of the work tree that is only named {name}"


def _is_of_work_tree(word: str, path: str, cwd: str) -> bool:
    """Return whether a program was named by a path that leads into the work tree around a folder.

    One that was found by its name alone is where the owner has programs searched for.
    """
    if not word.startswith("/"):
        return "/" in word
    around = tuple(_around(cwd))
    root = next((one for one in around if is_there(f"{one}/.git")), cwd)
    return below(root, path)


def _loading(paths: tuple[str, ...], arguments: tuple[str, ...], cwd: str) -> str:
    for path in paths:
        name = path.rpartition("/")[2]
        choosers = loaded_by(path, arguments) if loads_more(path) else ()
        chosen = _choice(choosers, cwd, name)
        if chosen:
            return f"{name} obeys `{chosen}`{contents_with_named(chosen, cwd)}"
    return ""


def _interpreters(command: PlannedCommand, executable: PinnedFile) -> tuple[PinnedFile, ...]:
    """Return what the first line of a script starts: the plan pins it before all other code."""
    if not FINGERPRINTS.script_head(executable.sha256):
        return ()
    through_env = [one.path.endswith("/env") for one in command.operands[:1]] == [True]
    return command.operands[: 2 if through_env else 1]


def _shim(file: PinnedFile, cwd: str, name: str) -> str:
    manager = _manager_of(file)
    if manager is None:
        return ""
    if not manager.choosers:
        return f"`{file.path}` is a shim of {manager.name}, which may start any program"
    chosen = _choice(manager.choosers, cwd, name)
    if not chosen:
        return ""
    obeyed = f"`{chosen}`{contents_with_named(chosen, cwd)}"
    return f"`{file.path}` is a shim of {manager.name}, which obeys {obeyed}"


def _imitation(file: PinnedFile) -> str:
    """Return a clause where a script is not what its name says; the system's own files are."""
    head = FINGERPRINTS.script_head(file.sha256)
    if not head or in_system_directory(file.realpath):
        return ""
    if not is_imitation(file.path, _first_word(head)):
        return ""
    name = file.path.rpartition("/")[2]
    return f"`{file.path}` is a script, not {name} itself, and may start any program"


def _first_word(head: bytes) -> str:
    """Return the name of the interpreter on a first line, or the one after ``env``."""
    line = os.fsdecode(head[2:].partition(b"\n")[0]).split()
    names = [word.rpartition("/")[2] for word in line if not word.startswith("-")]
    named = [name for name in names if "=" not in name and name != "env"]
    return (named or [" "])[0]


@lru_cache(maxsize=1024)
def _manager_of(file: PinnedFile) -> Manager | None:
    found = manager_named(file.path) or manager_named(file.realpath) or _hard_linked(file)
    return found or _marked(file)


def _hard_linked(file: PinnedFile) -> Manager | None:
    """Return the manager whose program, in the same folder, has a file as another name."""
    folder = os.path.dirname(file.realpath)
    for manager in managers():
        for name in manager.programs:
            status = status_of(f"{folder}/{name}")
            if status and (status.st_dev, status.st_ino) == (file.device, file.inode):
                return manager
    return None


def _may_be_marked(file: PinnedFile, *, script: bool) -> bool:
    """Return whether the content may say more than the name: scripts, and copies of a manager.

    A binary of the distribution is the program that its name says, unless it has other names too.
    """
    if script:
        return file.size <= _LARGEST_SCRIPT
    if file.size > _LARGEST_BINARY:
        return False
    if not in_system_directory(file.realpath):
        return True
    status = status_of(file.realpath)
    return status is None or status.st_nlink > 1 or file.path.rpartition("/")[2] in served()


def _marked(file: PinnedFile) -> Manager | None:
    script = FINGERPRINTS.script_head(file.sha256) != b""
    if _may_be_marked(file, script=script):
        try:
            with open_regular(file.realpath) as opened:
                return manager_marked(opened.read(_LARGEST_BINARY), script=script)
        except OSError as error:
            check_looked(error)  # before anything is kept that was not seen
    return None


def _choice(choosers: tuple[Chooser, ...], cwd: str, name: str) -> str:
    """Return the nearest file that chooses more than a version; those at home are the user's."""
    for folder in _around(cwd) if choosers else ():
        for one in choosers:
            path = os.path.join(folder, one.path.replace("{name}", name))
            if is_there(path) and not _is_plain(path, one.reading):
                return path
    return ""


def _around(cwd: str) -> Iterator[str]:
    home = os.path.realpath(os.path.expanduser("~"))
    folder = cwd
    while True:
        if folder != home:
            yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _is_plain(path: str, reading: str) -> bool:
    try:
        with open_regular(path) as opened:
            content = opened.read(_LARGEST + 1)
    except OSError:
        return False
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    return len(content) <= _LARGEST and chooses_plainly(reading, text)
