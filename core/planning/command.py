"""Plan one command: resolve its program, pin its code, and look through wrappers."""

# ruff: noqa: PTH118
# pathlib is ten times slower here.

import os
from dataclasses import replace
from typing import Final

from core.model.command import PinnedFile, PlannedCommand
from core.planning.code.files.by_name import may_start_others
from core.planning.code.files.caches import raises_rights, with_caches
from core.planning.code.files.fed import with_fed
from core.planning.code.files.named import SETS_PATH, code_named, programs_named, reached_files
from core.planning.code.files.operands import Code, code_operands, together
from core.planning.code.texts.found import joined
from core.planning.code.texts.reached import by_options, by_text, by_vector
from core.planning.code.words.arguments import code_folders, code_words, inline_text
from core.planning.code.words.assigned import loads
from core.planning.code.words.parts import ENDS_OF_WORDS
from core.planning.code.words.reloading import reloads
from core.planning.git.discovery import trees_for
from core.planning.paths.pins import FINGERPRINTS, Unpinned
from core.planning.paths.search_path import SearchPath
from core.planning.paths.symlinks import links_of
from core.planning.paths.writable_by_others import (
    Exposure,
    exposure,
    exposure_of_project,
    paths_of,
)
from core.planning.replacing import replaced
from core.planning.steering import steering
from core.programs.neutral_environment import (
    Pairs,
    approved_environment,
    may_share,
    neutral_environment,
    union,
)
from core.programs.program import program_of
from core.programs.shims import runs_code
from core.programs.unwrap import DEEPEST_NESTING, Unwrapped, bound_vector, unwrap
from core.programs.wrappers import names_of

SHELL: Final = "/bin/sh"
"""Reads the lines that nobody else can."""

_CLOSED: Final = Exposure()
_PATHS: Final = frozenset(("PATH", "GIT_EXEC_PATH"))
_NOT_FOLDERS: Final = frozenset(("git",))
"""Programs that run code, but none that is in the working folder by default."""


def plan_command(
    argv: tuple[str, ...], cwd: str, search: SearchPath, depth: int = 0
) -> PlannedCommand:
    """Return a vector with everything that it runs pinned; ``depth`` wrappers are around it."""
    executable = search.find(argv[0], cwd)
    if isinstance(executable, Unpinned):
        return PlannedCommand(argv, None, executable.why)
    code = code_operands(argv, executable, cwd, search)
    if isinstance(code, Unpinned):
        return PlannedCommand(argv, None, code.why)
    program = program_of(argv[0], executable)
    if depth < DEEPEST_NESTING and (program.laden is not None or program.inline):
        found = unwrap(argv, executable)
        if isinstance(found, Unwrapped):
            inner = _inside(found, cwd, search, depth)
            inner = with_fed(inner, found.connectors or (), cwd)
            inner = tuple(map(with_caches, inner)) if raises_rights(executable) else inner
            return _linked(_wrapping(argv, executable, code, found, inner, cwd, search), cwd)
    named = _with_named(code, argv, executable, cwd, search)
    if isinstance(named, Unpinned):
        return PlannedCommand(argv, None, named.why)
    open_to = _exposed(argv, executable, named.files, cwd)
    if not open_to.folder:
        open_to = _exposed_project(argv, executable, cwd)
    command = _running(argv, executable, named, open_to, neutral_environment(argv, executable))
    command = with_caches(command) if raises_rights(executable) else command
    replaces = replaced(command, cwd)
    command = _steered(command, executable, cwd)
    return _linked(replace(command, replaces=replaces) if replaces else command, cwd)


def plan_shell(text: str, cwd: str, home: str, search: SearchPath) -> PlannedCommand:
    """Return the shell that reads a text which nobody else can, with what the text leads to pinned.

    ``home`` is the home folder of the user as whom it runs.
    """
    # A text that starts like an option would be read as one; `--` makes it the text again.
    guard = ("--",) if text.startswith(("-", "+")) else ()
    argv = (SHELL, "-c", *guard, text)
    executable = search.find(SHELL, cwd)
    if isinstance(executable, Unpinned):
        return PlannedCommand(argv, None, executable.why)
    code = _code_of_text(text, argv, cwd, home, search)
    if isinstance(code, Unpinned):
        return PlannedCommand(argv, None, code.why)
    open_to = exposure(paths_of(code.files))
    command = replace(_running(argv, executable, code, open_to), reloads=False)
    return _steered(command, executable, cwd)


def _code_of_text(
    text: str, argv: tuple[str, ...], cwd: str, home: str, search: SearchPath
) -> Code | Unpinned:
    reached = by_text(text, {"HOME": home})
    trees = trees_for(text, cwd)
    parts = [
        code_named(text, cwd, search, trees),
        reached_files(reached.files, cwd, (*reached.places, *trees), reached.made),
    ]
    if SETS_PATH.search(text):
        parts.append(programs_named(argv, cwd, search))
    return together(*parts)


def _inside(
    found: Unwrapped, cwd: str, search: SearchPath, depth: int
) -> tuple[PlannedCommand, ...]:
    """Plan the commands inside a wrapper, in their order, as those of a line are."""
    commands: list[PlannedCommand] = []
    for one in found.commands:
        commands.append(plan_command(one, cwd, search, depth + 1))
        search = search.after(commands[-1], cwd)
    return tuple(commands)


def _running(
    argv: tuple[str, ...],
    executable: PinnedFile,
    code: Code,
    open_to: Exposure = _CLOSED,
    neutral: Pairs = (),
) -> PlannedCommand:
    """Return a command bound to the code that it runs."""
    return PlannedCommand(
        argv,
        executable,
        operands=code.files,
        exposed=open_to.folder,
        writers=open_to.writers,
        neutral=neutral,
        absent=code.absent,
        ahead=code.ahead,
        cached=code.cached,
        reloads=reloads(argv, executable.realpath),
    )


def _with_named(
    code: Code, argv: tuple[str, ...], executable: PinnedFile, cwd: str, search: SearchPath
) -> Code | Unpinned:
    """Return code with the files that code among the words names, where nobody reads that.

    The same holds for the words of a program that may start others, unless these are known.
    """
    found = together(code, code_named(inline_text(argv, executable.realpath), cwd, search))
    if may_start_others(argv, executable):
        return together(found, _started(argv, executable, cwd, search))
    return found


def _started(
    argv: tuple[str, ...], executable: PinnedFile, cwd: str, search: SearchPath
) -> Code | Unpinned:
    """Pin what a program that may start others may run, as far as its words name it."""
    reached = joined((by_vector(argv, executable.realpath), by_options(argv, executable.realpath)))
    trees = trees_for(" ".join(argv), cwd)
    places = (*argv[1:], *reached.places, *trees)
    found = reached_files(reached.files, cwd, places, reached.made)
    return together(found, programs_named(argv, cwd, search, trees))


def _steered(command: PlannedCommand, executable: PinnedFile, cwd: str) -> PlannedCommand:
    """Return a command with what steers it; if anything does, a person is asked about all of it."""
    if not steering(command, cwd):
        return command
    bare = replace(command, neutral=approved_environment(command.argv, executable))
    return replace(bare, steered=steering(bare, cwd))


def _linked(command: PlannedCommand, cwd: str) -> PlannedCommand:
    """Return a command with the links that its words name."""
    links = links_of(command.argv, cwd)
    return replace(command, links=links) if links else command


def _exposed(
    argv: tuple[str, ...], executable: PinnedFile, operands: tuple[PinnedFile, ...], cwd: str
) -> Exposure:
    """Return a folder through which others could change the code that a command reads."""
    script = FINGERPRINTS.script_head(executable.sha256) != b""
    by_name = (executable, *operands) if script else operands
    folders = code_folders(argv, executable.realpath, cwd)
    read = (os.path.join(os.path.realpath(folder), ".") for folder in folders)
    return exposure((*paths_of(by_name), *read))


def _exposed_project(argv: tuple[str, ...], executable: PinnedFile, cwd: str) -> Exposure:
    """Return the same for a program that runs what it finds in its working folder (``npm test``).

    A script that is named is looked for nowhere else. Git runs what its repository says, which is
    checked separately.
    """
    paths = {executable.path, executable.realpath}
    if not any(runs_code(path, argv[1:]) for path in paths):
        return Exposure()
    scripts = (one for one in code_words(argv, executable.realpath) if one.sure)
    if next(scripts, None) or any(names_of(path) & _NOT_FOLDERS for path in (argv[0], *paths)):
        return Exposure()
    folders = (cwd, *code_folders(argv, executable.realpath, cwd))
    found = (exposure_of_project(os.path.realpath(one)) for one in folders)
    return next((one for one in found if one.folder), Exposure())


def _wrapping(
    argv: tuple[str, ...],
    executable: PinnedFile,
    code: Code,
    found: Unwrapped,
    inner: tuple[PlannedCommand, ...],
    cwd: str,
    search: SearchPath,
) -> PlannedCommand:
    """Return a wrapper bound to what it runs; unbound, and so asked about, if impossible."""
    bound = bound_vector(found, executable, inner)
    parts: list[Code | Unpinned] = [code]
    if found.assignments and _steers(found.assignments, argv):
        parts.append(_started(argv, executable, cwd, search))
    if bound is None:
        parts.append(_with_named(code, argv, executable, cwd, search))
    all_code = together(*parts)
    if isinstance(all_code, Unpinned):
        return PlannedCommand(argv, None, all_code.why)
    if bound is None:
        # It asks in any case.
        return _steered(_running(argv, executable, all_code), executable, cwd)
    if not all(map(_may_share, (leaf for one in inner for leaf in one.effective))):
        inner = tuple(_bare(one, cwd) for one in inner)
    pins = (pin for one in inner if one.executable for pin in (one.executable, *one.operands))
    merged = tuple(dict.fromkeys((*all_code.files, *pins)))
    open_to = _exposed(argv, executable, merged, cwd)
    neutral = union(one.neutral for one in inner)
    command = _running(argv, executable, replace(all_code, files=merged), open_to, neutral)
    return replace(command, inner=inner, bound=bound)


def _steers(assignments: tuple[tuple[str, str], ...], argv: tuple[str, ...]) -> bool:
    """Return whether what ``env`` sets may run another program, or a further file."""
    return any("$" in word for word in argv) or any(
        name in _PATHS or loads(name) or ENDS_OF_WORDS.search(value) for name, value in assignments
    )


def _may_share(command: PlannedCommand) -> bool:
    return command.executable is not None and may_share(command.argv, command.executable)


def _bare(command: PlannedCommand, cwd: str) -> PlannedCommand:
    """Return a command as it runs alongside one that must keep what its user configured.

    Commands of one wrapper share one environment.
    """
    if command.inner:
        inner = tuple(_bare(one, cwd) for one in command.inner)
        return replace(command, inner=inner, neutral=union(one.neutral for one in inner))
    if command.executable is None or not command.neutral:
        return command
    bare = replace(command, neutral=approved_environment(command.argv, command.executable))
    steered = steering(bare, cwd)
    return replace(bare, steered=steered) if steered != bare.steered else bare
