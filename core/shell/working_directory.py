"""Find where ``cd`` steps lead to which commands of a line, or that this is not certain.

A step starts no program: the planner changes the folder in which it finds, binds and starts
the commands that follow. So it must be certain, before anything runs, that a shell would have
come there too: whether a step is taken may not depend on what a command before it answers.
"""

from dataclasses import dataclass

from core.model.command import Connector, OpenWord, PartKind, Reading, Unreadable, Word

STEP = "cd"
DOES_NOTHING = "true"
"""The program that runs in the folder where a line ends: it has the status of a step taken."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A command of a line: its place, what joins it to the one before, the steps in between."""

    place: int
    connector: Connector | None
    entered: tuple[Word, ...]


def depends_on_surroundings(reading: Reading) -> bool:
    """Return whether folders, variables or globs of a reading must be looked up, or loops run."""
    return bool(reading.loops) or any(
        words[0] == STEP or any(isinstance(word, OpenWord) for word in words)
        for words in reading.argvs
    )


class _Uncertain(Exception):
    """A step outside what is read; never leaves this module."""


def stages_of(reading: Reading) -> tuple[Stage, ...] | Unreadable:
    """Return the commands of a line, each with the steps before it, if these are certain.

    A line may end in a step; the stage of it has its place, and runs ``DOES_NOTHING`` there.

    A step that is taken has the status 0. So what follows ``x && cd a &&`` runs as after
    ``x &&``, and what follows ``x; cd a &&`` or ``x; cd a;`` as after ``x;``.
    """
    try:
        return tuple(_stages(reading))
    except _Uncertain as found:
        return Unreadable("R9", str(found))


def _stages(reading: Reading) -> list[Stage]:
    stages: list[Stage] = []
    entered: list[Word] = []
    before: Connector | None = None
    joins: tuple[Connector | None, ...] = (None, *reading.connectors)
    heads = {loop.start for loop in reading.loops}
    repeated = {place for loop in reading.loops for place in range(loop.start, loop.end)}
    for place, words in enumerate(reading.argvs):
        connector = before if entered else joins[place]
        if place in heads and connector not in {None, Connector.THEN}:
            raise _Uncertain("a loop after a connector")
        if words[0] == STEP:
            if place in repeated:
                raise _Uncertain("cd inside a loop")
            _check(words, connector, reading.connectors[place:])
            entered.append(words[1])
            before = connector
        else:
            stages.append(Stage(place, connector if stages else None, tuple(entered)))
            entered = []
    if any(
        loop.end < len(joins) and joins[loop.end] is not Connector.THEN for loop in reading.loops
    ):
        raise _Uncertain("a loop before a connector")
    if entered:
        stages.append(Stage(len(reading.argvs) - 1, before if stages else None, tuple(entered)))
    return stages


def _check(
    words: tuple[Word, ...], connector: Connector | None, later: tuple[Connector, ...]
) -> None:
    """Check that a step is taken, or that nothing outside its own and-chain depends on it."""
    if len(words) != 2 or not _is_folder(words[1]):  # noqa: PLR2004 - the name and its operand
        raise _Uncertain("cd with anything but one folder")
    beside = {connector, *later[:1]}
    if Connector.PIPE in beside:
        raise _Uncertain("cd inside a pipeline")
    if Connector.OR in beside:
        raise _Uncertain("cd next to ||")
    if connector is Connector.AND and not {Connector.OR, Connector.THEN}.isdisjoint(later):
        raise _Uncertain("cd that may not be taken, and commands that run anyway")


def _is_folder(word: Word) -> bool:
    """Return whether a word names one folder; ``-x``, ``-`` and nothing mean more to ``cd``."""
    if isinstance(word, OpenWord):
        first = word.parts[0]
        dashed = first.kind is PartKind.LITERAL and first.text.startswith("-")
        return not dashed and all(part.kind is not PartKind.GLOB for part in word.parts)
    return bool(word) and not word.startswith(("-", "+", "//"))
