"""Unwrap a wrapper to the commands that it runs, or say why that is not known for certain.

Pure: words and paths decide. ``Unwrapped.around`` builds the vector that really runs: the same
wrapper around inner commands named by their absolute paths, so that neither a search path nor a
shell's builtins choose what runs (invariant 2; CVE-2026-27566).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from core.model.command import Connector, PinnedFile, PlannedCommand, Reading, Unreadable, Word
from core.programs.carriers import in_system_directory
from core.programs.find_exec import FindExec, find_exec
from core.programs.profiles.tables import section, table, words
from core.programs.shell_payload import find_payload, shell_grammars
from core.programs.wrapper_grammar import Opaque, find_command, grammars
from core.shell import reader
from core.shell.quoting import quote_reading

DEEPEST_NESTING = 4
"""How many wrappers there may be around one command; deeper ones prompt (CVE-2026-32023)."""

_Argvs = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """What a wrapper runs.

    ``prefix`` are its own words. ``connectors`` join the commands of a shell's payload, ``None``
    means one plain vector. ``assignments`` are set for it. ``open_ended``: further arguments
    come from standard input. ``asks`` is why a person is asked nevertheless. ``between`` are the
    words of a find around all commands but the first, which is the find without them: that one is
    known in full.
    """

    prefix: tuple[str, ...]
    commands: _Argvs
    connectors: tuple[Connector, ...] | None = None
    assignments: tuple[tuple[str, str], ...] = ()
    open_ended: bool = False
    asks: str = ""
    between: tuple[tuple[str, ...], ...] = ()

    def gets_more(self, place: int) -> bool:
        """Return whether the command at a place gets arguments that are not known."""
        return self.open_ended and not (self.between and place == 0)

    def around(self, commands: _Argvs) -> tuple[str, ...]:
        """Return the wrapper's vector around the same number of other commands."""
        if self.between:
            runs = (*commands[1:], ())
            pairs = zip(self.between, runs, strict=True)
            return (commands[0][0], *[word for pair in pairs for one in pair for word in one][1:])
        if self.connectors is None:
            return (*self.prefix, *commands[0])
        return (*self.prefix, quote_reading(Reading(commands, self.connectors)))


def unwrap(argv: Sequence[str], file: PinnedFile) -> Unwrapped | Opaque | None:
    """Return what a wrapper runs; ``None`` for a program that has no grammar."""
    return _unwrapped(tuple(argv), file.path, file.realpath)


@lru_cache(maxsize=256)  # a request's plan, its binding and its verdict ask for the same
def _unwrapped(argv: tuple[str, ...], path: str, realpath: str) -> Unwrapped | Opaque | None:
    name = argv[0].rpartition("/")[2]
    if name in _never():
        return Opaque(_never()[name])
    real = _real_name(name, path, realpath)
    if real in shell_grammars() and name in {real, "sh"}:
        return _payload(real, argv)
    if real == name == "find":
        return _find(argv)
    grammar = grammars().get(real) if name == real else None
    if grammar is None:
        return None
    start = find_command(grammar, argv)
    if isinstance(start, Opaque):
        return start
    prefix, inner = argv[: start.at], argv[start.at :]
    more = (start.assignments, grammar.open_ended, grammar.asks)
    return Unwrapped(prefix, (inner,), None, *more)


def _find(argv: tuple[str, ...]) -> Unwrapped | Opaque | None:
    found = find_exec(argv)
    if not isinstance(found, FindExec):
        return found
    commands = (found.own, *found.commands)
    return Unwrapped((), commands, open_ended=True, between=found.between)


def bound_vector(
    found: Unwrapped, file: PinnedFile, inner: Sequence[PlannedCommand]
) -> tuple[str, ...] | None:
    """Return the vector that runs ``inner`` by absolute paths.

    ``None`` if the wrapper would read it differently, as ``env`` would a path with ``=``.
    """
    commands = tuple(one.by_path for one in inner)
    if tuple(one.argv for one in inner) != found.commands:
        return None
    vector = found.around(commands)
    again = unwrap(vector, file)
    if not isinstance(again, Unwrapped) or again.commands != commands:
        return None
    same = (again.connectors, again.assignments) == (found.connectors, found.assignments)
    return vector if same else None


def binding_problem(command: PlannedCommand, file: PinnedFile, found: Unwrapped) -> str | None:
    """Return why a plan does not bind a wrapper to what was unwrapped; ``None`` if it does.

    What is bound is checked before the wrapper starts. If time passes between that and the start
    of an inner program, as after a ``;`` or under ``xargs``, the program must be where only the
    administrator can write.
    """
    if not command.inner:
        return f"more than {DEEPEST_NESTING} stand around one command, or a path is odd"
    pins = {one.executable for one in command.inner if one.executable is not None}
    if not pins <= set(command.operands) or command.bound != bound_vector(
        found, file, command.inner
    ):
        return "the plan is not bound to what it runs"
    waits = found.open_ended or len(found.commands) > 1
    if waits and not all(_is_system(pin) for pin in command.operands):
        return "a program of it could be changed before it is started"
    return None


def _is_system(file: PinnedFile) -> bool:
    return in_system_directory(file.path) and in_system_directory(file.realpath)


def reading_applet(argv: Sequence[str], file: PinnedFile) -> str | None:
    """Return the multiplexer's applet if it only reads, whatever its arguments."""
    name = argv[0].rpartition("/")[2]
    if name not in _multiplexers() or _real_name(name, file.path, file.realpath) != name:
        return None
    return argv[1] if len(argv) > 1 and argv[1] in _applets() else None


def is_multiplexer(name: str) -> bool:
    """Return whether a program of this name has applets that its allowlist entry lets run."""
    return name in _multiplexers()


def _real_name(name: str, path: str, realpath: str) -> str:
    """Return the real name of a system program that was called by its path's name, else ``""``."""
    place, _, called = path.rpartition("/")
    real_place, _, real = realpath.rpartition("/")
    return real if called == name and {place, real_place} <= _trusted() else ""


def _payload(real: str, argv: tuple[str, ...]) -> Unwrapped | Opaque:
    at = find_payload(shell_grammars()[real], argv)
    if isinstance(at, Opaque):
        return at
    reading = reader.read(argv[at])
    if isinstance(reading, Unreadable):
        return Opaque(reading.detail)
    commands = tuple(_literal(vector) for vector in reading.argvs)
    # Redirections count, too: only literal vectors can be written out for a shell below.
    if reading != Reading(commands, reading.connectors) or any(c[0] == "cd" for c in commands):
        return Opaque("its text expands a word, redirects, or changes the directory")
    return Unwrapped(argv[:at], commands, reading.connectors)


def _literal(vector: Sequence[Word]) -> tuple[str, ...]:
    return tuple(word for word in vector if isinstance(word, str))


@cache
def _trusted() -> frozenset[str]:
    return frozenset(words(table("wrappers"), "trusted"))


@cache
def _never() -> dict[str, str]:
    return {name: str(why) for name, why in section(table("wrappers"), "never").items()}


@cache
def _multiplexers() -> frozenset[str]:
    return frozenset(words(section(table("wrappers"), "applets"), "multiplexers"))


@cache
def _applets() -> frozenset[str]:
    return frozenset(words(section(table("wrappers"), "applets"), "reading"))
