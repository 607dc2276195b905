"""Bind code that commands may run, and that their words do not name as they stand.

A program is looked for on the search path, `~` means a folder, and what a program puts before a
path is likely the working folder. Before a plan runs, all of it is planned once more, as it would
be for a question asked now: a file that is bound only by now was data, or did not exist, when a
person answered, or when a policy allowed it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import is_

from core.model.command import Connector, ExecPlan, PinnedFile, PlannedCommand
from core.planning.code.files.bulk_lookup import is_excess
from core.planning.code.files.by_name import is_extended, may_start_others, started_by_name
from core.planning.code.files.fed import with_fed
from core.planning.code.words.interpreters import readers_of
from core.planning.code.words.places import readings_of
from core.planning.command import plan_command, plan_shell
from core.planning.git.obedience import ALL, obedience_of
from core.planning.paths.search_path import SearchPath
from core.planning.paths.writable_by_others import exposure, paths_of
from core.programs.carriers import in_system_directory


def with_further_code(plan: ExecPlan, search: SearchPath) -> ExecPlan:
    """Return a plan bound to what its commands name where they run; its digest is out of date."""
    unread, fed = plan.unreadable is not None, any(one.fed for one in plan.commands)
    children = _of_children(plan, search)
    bound: list[PlannedCommand] = []
    for one, feeding in zip(plan.commands, _fed_at_places(plan), strict=True):
        folder = (one.cwd or plan.cwd).path
        read = tuple(_at_places(one, folder, plan, search))
        found = (
            *started_by_name(one, children, unread=unread or fed),
            *(file for again in read for file in _own_files(again)),
            *feeding,
        )
        excess = next((again.problem for again in read if is_excess(again.problem)), "")
        bound.append(_with_files(one, tuple(dict.fromkeys(found)), excess))
        search = search.after(one, folder)
    if all(map(is_, bound, plan.commands)):
        return plan
    return replace(plan, commands=tuple(bound))


def became_program(plan: ExecPlan) -> str:
    """Return a clause that names code of a plan that is new, or ``""``; none of it may have run."""
    if plan.unreadable is None and not any(map(_may_run_more, plan.commands)):
        return ""
    for one, again in zip(plan.commands, _planned_again(plan).commands, strict=True):
        if is_excess(again.problem) and not one.problem:
            return f"`{one.argv[0]}` {again.problem} by now"
        bound = {file.path for file in _files(one)}
        found = next((file.path for file in _files(again) if file.path not in bound), "")
        if found:
            return f"`{found}` was no program when `{one.argv[0]}` was approved"
    return ""


def _may_run_more(command: PlannedCommand) -> bool:
    """Return whether a command runs more than its own program, as far as that is known."""
    return any(
        one.executable is not None
        and (
            one.fed
            or may_start_others(one.argv, one.executable)
            or _starts_own(one)
            or bool(readers_of(one.argv[0], one.executable.realpath))
        )
        for one in command.all_of_it
    )


def _starts_own(command: PlannedCommand) -> bool:
    """Return whether it starts a program `NAME-WORD`; git only for a word that it may not know."""
    obeys = obedience_of(command)
    return is_extended(command.argv[0]) if obeys is None else obeys.powers is ALL


def _planned_again(plan: ExecPlan) -> ExecPlan:
    search = start = _search_path(dict(plan.env).get("PATH", "")).with_known(_known(plan))
    commands: list[PlannedCommand] = []
    for one in plan.commands:
        folder = (one.cwd or plan.cwd).path
        again = _planned(one.argv, folder, plan, search)
        commands.append(replace(again, cwd=one.cwd, routing=one.routing))
        search = search.after(one, folder)
    fed = with_fed(tuple(commands), plan.connectors, plan.cwd.path)
    return with_further_code(replace(plan, commands=fed), start)


def _planned(
    argv: tuple[str, ...], folder: str, plan: ExecPlan, search: SearchPath
) -> PlannedCommand:
    if plan.unreadable is not None:
        return plan_shell(argv[-1], folder, _home(plan), search)
    return plan_command(argv, folder, search)


def _at_places(
    command: PlannedCommand, folder: str, plan: ExecPlan, search: SearchPath
) -> Iterator[PlannedCommand]:
    """Yield a command planned with its words read as naming known folders."""
    for argv in readings_of(command.argv, _home(plan)):
        yield _planned(argv, folder, plan, search)


def _own_files(command: PlannedCommand) -> Iterator[PinnedFile]:
    return (file for file in _files(command) if not in_system_directory(file.path))


def _fed_at_places(plan: ExecPlan) -> Sequence[tuple[PinnedFile, ...]]:
    """Return, for each command, what it feeds as code if its words are read likewise."""
    if Connector.PIPE not in plan.connectors:
        return [()] * len(plan.commands)
    words = (tuple(readings_of(one.argv, _home(plan)))[-1:] for one in plan.commands)
    read = (
        replace(one, argv=argv[0]) if argv else one
        for one, argv in zip(plan.commands, words, strict=True)
    )
    return [one.operands for one in with_fed(tuple(read), plan.connectors, plan.cwd.path)]


def _home(plan: ExecPlan) -> str:
    return dict(plan.env).get("HOME", "")


def _with_files(
    command: PlannedCommand, files: tuple[PinnedFile, ...], excess: str
) -> PlannedCommand:
    if excess and command.executable is not None:
        return replace(command, executable=None, problem=excess, inner=(), bound=())
    further = tuple(one for one in files if one not in command.operands)
    if not further or command.executable is None:
        return command
    open_to = exposure(paths_of(further))
    merged = replace(command, operands=(*command.operands, *further))
    if command.exposed or not open_to.folder:
        return merged
    return replace(merged, exposed=open_to.folder, writers=open_to.writers)


def _files(command: PlannedCommand) -> Iterator[PinnedFile]:
    for one in command.all_of_it:
        yield from one.operands
        if one.executable is not None:
            yield one.executable


def _of_children(plan: ExecPlan, search: SearchPath) -> SearchPath:
    path = dict(plan.env).get("PATH", "")
    return search.with_known({}) if path == search.text else _search_path(path)


@lru_cache(maxsize=64)
def _search_path(path: str) -> SearchPath:
    """Return a search path whose folders are looked up once, as the planner's own are."""
    return SearchPath(path.split(":"))


def _known(plan: ExecPlan) -> dict[str, PinnedFile]:
    """Return what the plan's names were found to be: where is no longer a question."""
    commands = [one for command in plan.commands for one in command.all_of_it]
    pins = (pin for one in commands for pin in one.operands if in_system_directory(pin.path))
    operands = {pin.path.rpartition("/")[2]: pin for pin in pins}
    named = {one.argv[0]: one.executable for one in commands if one.executable is not None}
    return {name: pin for name, pin in (operands | named).items() if "/" not in name}
