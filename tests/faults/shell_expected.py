"""Compute what a shell has to run if a reading and its expansion are right."""

import os
import signal
from dataclasses import dataclass, replace

from core.model.command import Connector, ErrorTo, Reading, Routing, Word
from core.planning.expand import ExpandedCommand, ExpandedLine
from core.runner.supervisor.connectors import filled
from core.shell.working_directory import STEP

Argv = tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class Ran:
    """A vector, the folder that it runs in, and what its descriptors 0, 1 and 2 are."""

    argv: Argv
    folder: str
    streams: tuple[str, ...]


def status_of(argv: Argv, flip: int) -> int:
    """Return the exit status that the recorder gives this vector, as a shell reports it."""
    size = sum(len(os.fsencode(word)) for word in undashed(argv))
    if not size & 1 ^ flip:
        return 0
    if size // 2 % 8 == 2:
        return 128 + (signal.SIGKILL if size // 16 % 2 else signal.SIGTERM)
    return 1 + size * 7 % 255


def expected_runs(line: ExpandedLine, flip: int) -> list[list[Ran]]:
    """Walk a line as the runner would; each inner list is one pipeline, in any order."""
    if not line.commands:
        return []
    pipelines: list[list[int]] = [[0]]
    joins: list[Connector] = [Connector.THEN]
    for place, connector in enumerate(line.connectors, 1):
        if connector is Connector.PIPE:
            pipelines[-1].append(place)
        else:
            joins.append(connector)
            pipelines.append([place])
    runs = []
    status = 0
    for join, pipeline in zip(joins, pipelines, strict=True):
        if join is Connector.THEN or (status == 0) is (join is Connector.AND):
            runs.append(sorted(_ran(line, place, pipeline, status) for place in pipeline))
            status = status_of(_told(line.commands[pipeline[-1]], status), flip)
    return runs


def without_last_step(reading: Reading, line: ExpandedLine) -> ExpandedLine:
    """Leave out the command that stands in for a ``cd`` at the end; a shell starts none for it."""
    if reading.argvs[-1][0] != STEP:
        return line
    return replace(line, commands=line.commands[:-1], connectors=line.connectors[:-1])


def _told(command: ExpandedCommand, status: int) -> Argv:
    """Return a vector as the runner starts it, after a pipeline that ended so."""
    return tuple(filled(command.argv, command.late, status))


def _ran(line: ExpandedLine, place: int, pipeline: list[int], status: int) -> Ran:
    command = line.commands[place]
    into = "input" if place == pipeline[0] else "pipe"
    out = "output" if place == pipeline[-1] else "pipe"
    streams = _routed(command.routing, into, out)
    return Ran(undashed(_told(command, status)), os.path.realpath(command.folder), streams)


def _routed(routing: Routing, into: str, out: str) -> tuple[str, ...]:
    errors = {ErrorTo.RUN: "error", ErrorTo.OUTPUT: out, ErrorTo.NULL: "null"}
    return (
        "null" if routing.null_input else into,
        "null" if routing.null_output else out,
        errors[routing.error],
    )


def undashed(argv: Argv) -> Argv:
    """Remove ``./`` from words that then begin with a dash: the one deliberate difference."""
    return tuple(word[2:] if word.startswith("./-") else word for word in argv)


def has_made_option(reading: Reading, line: ExpandedLine) -> bool:
    """Return whether more words begin with a dash than were so written: a glob made an option."""
    if reading.loops:
        return False  # its words may be options as they were written
    written = sum(
        _begins_with_dash(word) for words in reading.argvs if words[0] != "cd" for word in words
    )
    return written < sum(word.startswith("-") for one in line.commands for word in one.argv)


def _begins_with_dash(word: Word) -> bool:
    if isinstance(word, str):
        return word.startswith("-")
    return word.parts[0].text.startswith("-")  # if its glob matches nothing, it stays
