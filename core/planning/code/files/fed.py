"""Bind the files that a pipeline feeds to an interpreter: those that the earlier commands name."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.model.command import Connector, PlannedCommand
from core.planning.code.files.named import reached_files
from core.planning.code.files.operands import Code
from core.planning.code.texts.reached import by_vector
from core.planning.code.texts.spreading import spreads_code, without_markers
from core.planning.code.words.loading import loaded_by_any
from core.planning.code.words.parts import fed_names
from core.planning.paths.pins import Unpinned
from core.planning.paths.writable_by_others import exposure, paths_of
from core.programs.wrappers import names_of

_WRITES = "tee"
"""It writes its operands, so their content comes from the pipeline itself."""


def with_fed(
    commands: tuple[PlannedCommand, ...], connectors: Sequence[Connector], cwd: str
) -> tuple[PlannedCommand, ...]:
    """Return the commands, with the files bound that pipes feed to an interpreter as code.

    In `cat notes | sh`, that is `notes`, because its content is what `sh` runs.
    """
    if Connector.PIPE not in connectors:
        return commands
    fed = dict(_fed(commands, connectors))
    feeding = {place for at, first in fed.items() for place in range(first, at)}
    if not feeding:
        return commands
    found = [_with_files(one, cwd) if at in feeding else one for at, one in enumerate(commands)]
    for at, first in fed.items():
        found[at] = _marked(_with_combined(found[at], commands[first:at], cwd))
    return tuple(found)


def _fed(
    commands: tuple[PlannedCommand, ...], connectors: Sequence[Connector]
) -> Iterator[tuple[int, int]]:
    """Yield the places of commands that take code from a pipe, and where their pipe begins."""
    first = 0
    for place, command in enumerate(commands[1:], 1):
        if connectors[place - 1] is not Connector.PIPE:
            first = place
        elif _takes_code(command):
            yield place, first


def _marked(command: PlannedCommand) -> PlannedCommand:
    """Return a command as one that is fed its code, and what it starts that takes code as well."""
    inner = tuple(_marked(one) if _takes_code(one) else one for one in command.inner)
    return replace(command, inner=inner, fed=True)


def _takes_code(command: PlannedCommand) -> bool:
    file = command.executable
    return (
        file is not None
        and not command.routing.null_input
        and by_vector(command.argv, file.realpath).takes
    )


def _with_files(command: PlannedCommand, cwd: str) -> PlannedCommand:
    """Return a command with the files bound that its words name."""
    if command.executable is None or _WRITES in names_of(command.executable.path):
        return command
    words = command.argv[1:]
    names = (*fed_names(words, command.argv[:1]), *loaded_by_any(words))
    return _bound(command, reached_files(names, _folder(command, cwd)))


def _with_combined(
    command: PlannedCommand, before: Sequence[PlannedCommand], cwd: str
) -> PlannedCommand:
    """Return xargs with the files bound that its words and those of its input name together.

    In `echo d | xargs -I% sh %/x`, that is `d/x`.
    """
    if command.executable is None or not spreads_code(command.argv):
        return command
    if next(without_markers(command.argv), None) is None:
        return command
    given = tuple(fed_names([word for one in before for word in one.argv[1:]], ()))
    own = by_vector(command.argv, command.executable.realpath)
    names = (*own.files, *given)
    return _bound(command, reached_files(names, _folder(command, cwd), own.places))


def _folder(command: PlannedCommand, cwd: str) -> str:
    return cwd if command.cwd is None else command.cwd.path


def _bound(command: PlannedCommand, found: Code | Unpinned) -> PlannedCommand:
    if isinstance(found, Unpinned):
        return replace(command, executable=None, problem=found.why, inner=(), bound=())
    files = found.files
    if not files:
        return command
    open_to = exposure(paths_of(files))
    merged = tuple(dict.fromkeys((*command.operands, *files)))
    if command.exposed or not open_to.folder:
        return replace(command, operands=merged)
    return replace(command, operands=merged, exposed=open_to.folder, writers=open_to.writers)
