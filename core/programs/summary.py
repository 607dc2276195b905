"""Summarise what a planned command does, as far as the tables know, and never more than they know.

It is for the people who are asked: nothing here decides. A sentence may be missing, but it must not
be wrong or reassure: what is not listed in full is described by all that its program can do.
"""

from dataclasses import dataclass

from core.model.command import PinnedFile, PlannedCommand
from core.programs.actions import said_of
from core.programs.carriers import (
    bounded,
    effects,
    harmless,
    in_system_directory,
    is_plain,
    profile_for,
    worst_effects,
)
from core.programs.profiles.carrier_profile import Effect
from core.programs.program import program_of
from core.programs.unwrap import Unwrapped, unwrap

NOT_KNOWN = "not known to Sayso"
READS = "reads and prints"
_HIDDEN = "what it runs is not known to Sayso"
_INLINE = "may run code or programs that its arguments name"
_MORE = "more is not known to Sayso"
"""Added to the effects of a program without a profile: the listed ones may not be all."""
_CAN = {
    Effect.RUNS: "can run other programs",
    Effect.WRITES: "can write or delete files",
    Effect.NETWORK: "can use the network",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """What one command does.

    ``words`` have a ``{}`` for each of ``operands``, which are places in ``argv``; they may be
    empty. ``added``, which follow them, and ``effects`` are words from the tables alone.
    """

    argv: tuple[str, ...]
    words: str = ""
    operands: tuple[tuple[int, ...], ...] = ()
    added: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()


def summaries(command: PlannedCommand, *, steered: bool = False) -> tuple[Summary, ...]:
    """Summarise a command, or each command that a wrapper runs.

    ``steered``: something other than the arguments may change what the command does, so nothing is
    described as only reading, and a sentence is followed by all that the program can do.
    """
    file = command.executable
    if file is None:
        return ()
    steered = steered or bool(command.exposed or command.steered or command.unsettled)
    if not (in_system_directory(file.path) and in_system_directory(file.realpath)):
        return (Summary(command.argv, effects=(NOT_KNOWN,)),)
    program = program_of(command.argv[0], file)
    kind = program.laden if len(command.argv) > 1 else program.bare
    if kind is not None:
        return _unwrapped(command, file, kind, steered=steered)
    if program.inline is not None and program.inline.problem(command.argv[1:]):
        return (Summary(command.argv, _INLINE, effects=_can(command.argv, file, steered=True)),)
    return (_leaf(command.argv, file, steered=steered),)


def _unwrapped(
    command: PlannedCommand, file: PinnedFile, kind: str, *, steered: bool
) -> tuple[Summary, ...]:
    found = unwrap(command.argv, file)
    known = isinstance(found, Unwrapped) and command.inner and not found.asks
    if not known or not isinstance(found, Unwrapped):
        return (Summary(command.argv, f"{_described(kind)}; {_HIDDEN}"),)
    more = [found.gets_more(place) for place in range(len(command.inner))]
    return tuple(
        _with_more(one) if gets_more else one
        for inner, gets_more in zip(command.inner, more, strict=True)
        for one in summaries(inner, steered=steered or bool(found.assignments))
    )


def _described(kind: str) -> str:
    """Return what kind of wrapper a program is, without the name by which it was recognised."""
    return kind.partition(" is ")[2] or "may start another program"


def _with_more(one: Summary) -> Summary:
    """Return the summary of a command that a wrapper starts with more arguments than are known."""
    program = one.argv[0]
    if is_plain(program):
        return Summary(one.argv, effects=one.effects)
    added = (*one.added, "with more arguments when it runs")
    return Summary(one.argv, one.words, one.operands, added, _worse(one))


def _worse(one: Summary) -> tuple[str, ...]:
    known = (each for each in one.effects if each != READS)
    return tuple(dict.fromkeys((*known, *_worst(one.argv))))


def _worst(argv: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(words for effect, words in _CAN.items() if effect in worst_effects(argv[0]))


def _leaf(argv: tuple[str, ...], file: PinnedFile, *, steered: bool) -> Summary:
    said = said_of(file.path.rpartition("/")[2], argv)
    if said is not None:
        more = _can(argv, file, steered=True) if steered else ()
        return Summary(argv, said.words, said.operands, said.added, _joined(said.effects, more))
    if not steered and harmless((file.path, file.realpath), argv[1:]):
        network = effects((file.path, *argv[1:])) or frozenset()
        return Summary(argv, effects=(READS, *(("network",) if Effect.NETWORK in network else ())))
    return Summary(argv, effects=_can(argv, file, steered=steered) or (NOT_KNOWN,))


def _joined(known: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """Add to known effects what else a program can do, without repeating anything.

    A program that runs others can do all that they can, so only that is stated.
    """
    widest = _CAN[Effect.RUNS]
    if widest in more:
        more = (widest,)
    elif "network" in known:
        more = tuple(one for one in more if one != _CAN[Effect.NETWORK])
    return tuple(dict.fromkeys((*known, *more)))


def _can(argv: tuple[str, ...], file: PinnedFile, *, steered: bool) -> tuple[str, ...]:
    """Describe what a program can do with these arguments, or with any if not all are listed."""
    found: set[Effect] = set()
    for path in (file.path, file.realpath):
        known = not steered and bounded((path, *argv[1:]))
        here = effects((path, *argv[1:])) if known else None
        found |= worst_effects(path) if here is None else here
    can = tuple(words for effect, words in _CAN.items() if effect in found)
    listed = all(profile_for(path) for path in (file.path, file.realpath))
    return can if listed or not can or Effect.RUNS in found else (*can, _MORE)
