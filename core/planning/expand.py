"""Expand a reading into the vectors that run: folders, home and globs, without a shell.

What is found here is bound into the plan and judged there; nothing is expanded a second time.
"""
# ruff: noqa: PTH114
# pathlib is ten times slower here.

import os
import re
from dataclasses import dataclass

from core.files.lookup import is_folder
from core.model.command import (
    UNROUTED,
    Connector,
    Loop,
    OpenWord,
    PartKind,
    Reading,
    Routing,
    Unreadable,
    Word,
    WordPart,
)
from core.planning.paths.globs import MOST_BYTES, MOST_MATCHES, UncertainGlob, matches
from core.shell.placeholders import STATUS
from core.shell.working_directory import DOES_NOTHING, STEP, Stage, stages_of

_PLAIN_VALUE = re.compile(r"/[A-Za-z0-9_./@%+,-]*")
"""What neither splitting nor globbing changes."""

_PLAIN_ITEM = re.compile(r"[A-Za-z0-9_./@%+,:=-]+")
"""The same, for a word of a loop, which need not be a path."""

MOST_TURNS = 64
MOST_UNROLLED = 256
"""Commands that the loops of a line may make."""

_LEAVE_FILES = frozenset(
    ["basename", "cat", "cut", "date", "dirname", "du", "echo", "false", "file", "grep", "head"]
) | {"id", "ls", "printf", "pwd", "stat", "tail", "test", "tr", "true", "uname", "wc", "whoami"}
"""Programs that make, move and remove nothing, so that a glob after them may be expanded now."""


@dataclass(frozen=True, slots=True)
class ExpandedCommand:
    """A vector as it runs, the folder (as a shell would name it) and where its streams lead.

    ``late`` as in ``PlannedCommand``.
    """

    argv: tuple[str, ...]
    folder: str
    routing: Routing = UNROUTED
    late: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ExpandedLine:
    """The commands of a line without its ``cd`` steps, and what joins them."""

    commands: tuple[ExpandedCommand, ...]
    connectors: tuple[Connector, ...]


@dataclass(frozen=True, slots=True)
class NoFolder:
    """A line that begins with ``cd`` to a folder that does not exist."""

    path: str


class _Uncertain(Exception):
    """Carries the rule and the phrase of an ``Unreadable``; never leaves this module."""


class _Absent(Exception):
    """The folder of the line's very first steps does not exist; never leaves this module."""


def expand(reading: Reading, folder: str, home: str) -> ExpandedLine | Unreadable | NoFolder:
    """Expand a line that starts in ``folder``; ``home`` is the child's HOME.

    ``Unreadable`` where shells would not agree, or what they do is not certain before the run.
    """
    stages = stages_of(reading)
    if isinstance(stages, Unreadable):
        return stages
    try:
        return _Expansion(reading, folder, home).line(stages)
    except _Uncertain as found:
        rule, detail = found.args
        return Unreadable(rule, detail)
    except UncertainGlob as found:
        return Unreadable("R5", str(found))
    except _Absent as found:
        return NoFolder(str(found))


def entered(folder: str, operand: str) -> str | None:
    """Return where ``cd`` leads from a folder, ``None`` if that is no folder or not certain."""
    try:
        found = _entered(folder, operand)
    except _Uncertain:
        return None
    return found if is_folder(found) else None


class _Expansion:
    """One line in progress: the folder so far, and whether its files may have changed."""

    def __init__(self, reading: Reading, folder: str, home: str) -> None:
        self._reading = reading
        self._folder = folder
        self._home = home
        self._untouched = True
        self._settled = True  # the last status is 0 for certain: at the start, and after `cd`
        self._matched = [MOST_MATCHES, MOST_BYTES]
        self._commands: list[ExpandedCommand] = []
        self._connectors: list[Connector] = []
        self._pipeline: list[Word] = []
        self._bound: dict[str, str] = {}

    def line(self, stages: tuple[Stage, ...]) -> ExpandedLine:
        """Expand command by command, since each may run in another folder."""
        loops = {loop.start: loop for loop in self._reading.loops}
        at = 0
        while at < len(stages):
            loop = loops.get(stages[at].place)
            if loop is None:
                self._reach(stages[at])
                self._command(stages[at])
                at += 1
            else:
                body = stages[at : at + loop.end - loop.start]
                self._repeat(loop, body)
                at += len(body)
        return ExpandedLine(tuple(self._commands), tuple(self._connectors))

    def _reach(self, stage: Stage) -> None:
        """Move on to a command: past its connector and into its folder."""
        if stage.connector is not None:
            self._join(stage.connector)
        for operand in stage.entered:
            self._enter(operand, first=not self._commands)

    def _join(self, connector: Connector) -> None:
        self._connectors.append(connector)
        if connector is not Connector.PIPE:
            self._settled = False
            self._untouched = self._untouched and _LEAVE_FILES.issuperset(self._pipeline)
            self._pipeline = []

    def _repeat(self, loop: Loop, body: tuple[Stage, ...]) -> None:
        """Write the commands of a loop once for each of its words."""
        self._reach(body[0])
        for number, value in enumerate(self._values(loop)):
            self._bound = {loop.variable: value}
            if number:
                self._join(Connector.THEN)
            self._command(body[0])
            for stage in body[1:]:
                self._reach(stage)
                self._command(stage)
            if len(self._commands) > MOST_UNROLLED:
                raise _Uncertain("R1", f"a loop that makes more than {MOST_UNROLLED} commands")
        self._bound = {}

    def _values(self, loop: Loop) -> list[str]:
        values: list[str] = []
        for word in loop.words:
            found = [word] if isinstance(word, str) else self._words(word)
            if found != [word] and any(one.startswith("./-") for one in found):
                raise _Uncertain("R5", "a loop over a name that begins with a dash")
            values += found
        if len(values) > MOST_TURNS:
            raise _Uncertain("R1", f"a loop of more than {MOST_TURNS} turns")
        return values

    def _command(self, stage: Stage) -> None:
        argv: list[str] = []
        late: list[tuple[int, int]] = []
        words = self._reading.argvs[stage.place]
        self._pipeline.append(words[0])
        for word in (DOES_NOTHING,) if words[0] == STEP else words:
            if isinstance(word, OpenWord):
                late += [(len(argv), at) for at in self._late(word)]
            argv += [word] if isinstance(word, str) else self._words(word)
        routings = self._reading.routings
        routing = routings[stage.place] if routings else UNROUTED
        self._commands.append(ExpandedCommand(tuple(argv), self._folder, routing, tuple(late)))

    def _enter(self, operand: Word, *, first: bool) -> None:
        path = operand if isinstance(operand, str) else "".join(self._words(operand))
        folder = _entered(self._folder, path)
        if not is_folder(folder):
            if first:
                raise _Absent(folder)
            raise _Uncertain("R9", "cd to a folder that is not there yet")
        self._folder = folder
        self._settled = True

    def _late(self, word: OpenWord) -> list[int]:
        """Return where a word holds the last status, as far as only the run can know it."""
        if self._settled or all(part.kind is not PartKind.STATUS for part in word.parts):
            return []
        places: list[int] = []
        at = 0
        for part in word.parts:
            if part.kind is PartKind.STATUS:
                places.append(at)
            at += len(self._valued(part, word).text)
        return places

    def _words(self, word: OpenWord) -> list[str]:
        """Return what one word becomes: exactly one word, or the matches of its globs."""
        parts = [self._valued(part, word) for part in word.parts]
        if not any(map(_is_glob, parts)):
            return ["".join(part.text for part in parts)]
        if any(part.kind is PartKind.STATUS for part in word.parts):
            raise _Uncertain("R5", "a glob next to $?")
        if not self._untouched:
            raise _Uncertain("R5", "a glob after a command that may change what it matches")
        found = matches(parts, self._folder)
        if not found and any(part.text.startswith("[") for part in parts if _is_glob(part)):
            raise _Uncertain("R5", "a set of characters that matches nothing")
        if not found:
            return ["".join(part.text for part in parts)]
        self._matched[0] -= len(found)
        self._matched[1] -= sum(len(path.encode()) for path in found)
        if min(self._matched) < 0:
            raise _Uncertain("R5", "globs that match too much")
        # A name that begins with a dash must never become an option.
        return [f"./{path}" if path.startswith("-") else path for path in found]

    def _valued(self, part: WordPart, word: OpenWord) -> WordPart:
        """Fill in the value of a tilde or variable; a status that is not known yet stays ``$?``."""
        if part.kind in {PartKind.LITERAL, PartKind.GLOB}:
            return part
        if part.kind is PartKind.STATUS:
            return WordPart(PartKind.LITERAL, "0" if self._settled else STATUS)
        if part.text in self._bound:
            return self._item(part)
        value = self._folder if part.text == "PWD" else self._home
        if not value.startswith("/") or not value.isprintable():
            raise _Uncertain("R5", "a home or folder that is not an absolute path")
        if part.kind is PartKind.VALUE and not _PLAIN_VALUE.fullmatch(value):
            raise _Uncertain("R5", f"an unquoted ${part.text} that a shell may split or expand")
        if part.kind is PartKind.TILDE and value.endswith("/") and len(word.parts) > 1:
            raise _Uncertain("R5", "a tilde for a home that ends in a slash")
        return WordPart(PartKind.LITERAL, value)

    def _item(self, part: WordPart) -> WordPart:
        """Substitute the current word of a loop."""
        value = self._bound[part.text]
        if part.kind is PartKind.VALUE and not _PLAIN_ITEM.fullmatch(value):
            raise _Uncertain("R5", f"an unquoted ${part.text} that a shell may split or expand")
        return WordPart(PartKind.LITERAL, value)


def _is_glob(part: WordPart) -> bool:
    return part.kind is PartKind.GLOB


def _entered(folder: str, operand: str) -> str:
    """Return where ``cd`` leads by name, as bash and dash both keep it in PWD (XCU cd)."""
    if operand.startswith("//"):
        raise _Uncertain("R9", "cd to a path that begins with two slashes")
    parts: list[str] = []
    path = operand if operand.startswith("/") else f"{folder}/{operand}"
    for part in path.split("/"):
        if part == ".." and parts:
            above = "/" + "/".join(parts)
            # After a link, or a missing folder, shells differ on what `..` means.
            if os.path.islink(above) or not is_folder(above):
                raise _Uncertain("R9", "cd through .. after a link or a missing folder")
            parts.pop()
        elif part not in {"", ".", ".."}:
            parts.append(part)
    return "/" + "/".join(parts)
