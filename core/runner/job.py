"""Turn an opened plan into the job that a supervisor runs, and pass its streams along."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import SpawnError
from core.model.command import (
    UNKNOWN_LEAD,
    ErrorTo,
    PinnedDirectory,
    PinnedFile,
    PlannedCommand,
    Routing,
)
from core.model.identity import ApprovalId
from core.model.stdio import Capture, Stdio
from core.planning.environment import RUN_MARK
from core.planning.paths.writable_by_others import is_replaceable
from core.planning.verify import OpenedPlan
from core.runner.limits import Limits
from core.runner.live_output import LiveBuffer
from core.runner.supervisor.protocol import ERROR, INPUT, NULL, OUTPUT, Job, Pin, Stage

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def job_of(run_id: ApprovalId, opened: OpenedPlan, limits: Limits) -> tuple[Job, list[int]]:
    """Return the job and its descriptors: the working folders, then each ELF program once."""
    plan = opened.plan
    fds = [opened.cwd]
    folders: dict[PinnedDirectory, int] = {}
    for folder, fd in opened.folders.items():
        folders[folder] = len(fds)
        fds.append(fd)
    places: dict[PinnedFile, int] = {}
    for command in plan.commands:
        program = command.executable
        if program is not None and program not in places and opened.files[program].elf:
            places[program] = len(fds)
            fds.append(opened.files[program].fd)
    stages = [_stage(command, opened, places, folders) for command in plan.commands]
    job: Job = {
        "stages": stages,
        "connectors": [connector.value for connector in plan.connectors],
        "env": {**dict(plan.env), RUN_MARK: run_id},
        "limits": limits.pairs(plan.cpu_s, sum(len(stage["pins"]) for stage in stages)),
        "timeout_ms": plan.timeout_ms,
        "grace_ms": limits.grace_ms,
        "processes": limits.processes,
        "stdin": 0,
        "shelves": [],
        "terminal": plan.stdio.capture is Capture.PTY,
        "private": None,
    }
    return job, fds


def _stage(
    command: PlannedCommand,
    opened: OpenedPlan,
    places: dict[PinnedFile, int],
    folders: dict[PinnedDirectory, int],
) -> Stage:
    program = command.executable
    pinned = (*(() if program is None else (program,)), *command.operands)
    reloads = any(one.reloads for one in command.all_of_it)
    loose = set(command.operands) - _programs(command) if reloads else set()
    pins: list[Pin] = [
        {
            "path": file.path,
            "identity": opened.files[file].identity,
            "sha256": file.sha256,
            "names": [] if file in loose or opened.files[file].elf else _names(file, command),
        }
        for file in pinned
    ]
    return {
        "argv": list(command.vector),
        "late": list(command.late),
        "program": -1 if program is None else places.get(program, -1),
        "path": "" if program is None else program.path,
        "pins": pins,
        "absent": _unfound(command, watched=any(pin["names"] for pin in pins)),
        "folder": 0 if command.cwd is None else folders[command.cwd],
        "folder_path": (command.cwd or opened.plan.cwd).path,
        "streams": _streams(command.routing),
        "inherit": [],
        "env": dict(command.neutral),
    }


def _programs(command: PlannedCommand) -> set[PinnedFile]:
    return {one.executable for one in command.all_of_it if one.executable is not None}


def _unfound(command: PlannedCommand, *, watched: bool) -> list[str]:
    """Return the paths at which a command must find nothing that it did not make itself.

    Files that would only take precedence count if the command's opens are intercepted anyway.
    """
    paths = [path for one in command.effective for path in one.absent]
    for one in command.all_of_it if watched or paths else ():
        paths += (path for path in one.ahead if not path.endswith("/"))
        paths += one.cached
    return list(dict.fromkeys(paths))


def _names(file: PinnedFile, command: PlannedCommand) -> list[str]:
    """Return the names under which a command may open a file; none if no one could swap it."""
    if not (is_replaceable(file.path) or is_replaceable(file.realpath)):
        return []
    names = [file.path, file.realpath]
    for path, real in (link for one in command.all_of_it for link in one.links):
        names += [
            path + name.removeprefix(real)
            for name in names[:2]
            if real != UNKNOWN_LEAD and (name == real or name.startswith(f"{real}/"))
        ]
    return list(dict.fromkeys(names))


_ERRORS = {ErrorTo.RUN: ERROR, ErrorTo.OUTPUT: OUTPUT, ErrorTo.NULL: NULL}


def _streams(routing: Routing) -> list[int]:
    return [
        NULL if routing.null_input else INPUT,
        NULL if routing.null_output else OUTPUT,
        _ERRORS[routing.error],
    ]


@contextmanager
def equipped(job: Job, fds: list[int], stdio: Stdio, live: LiveBuffer | None) -> Iterator[None]:
    """Add descriptors to a job, for as long as it is being handed over.

    Raises:
        SpawnError: no memory or descriptor is left for what it reads.
    """
    if live is not None:
        lent = live.descriptors()
        job["shelves"] = list(range(len(fds), len(fds) + len(lent)))
        fds += lent
    if stdio.stdin is None:
        yield
        return
    memory = _sealed(stdio.stdin)
    try:
        job["stdin"] = len(fds)
        fds.append(memory)
        yield
    finally:
        os.close(memory)


def _sealed(content: bytes) -> int:
    """Return a file in memory that cannot be changed: it needs no writer, so no SIGPIPE."""
    try:
        memory = os.memfd_create("sayso-stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        raise SpawnError(f"no space for its standard input: {error.strerror}") from error
    try:
        written = 0
        while written < len(content):
            written += os.pwrite(memory, content[written:], written)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(memory)
        raise
    return memory
