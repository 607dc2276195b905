"""Restrict an agent to the tools and files that it was granted (S3 "Capability requirements").

Where an agent has capabilities, a command runs only if the tool ``Exec`` is granted, its program,
its folder and every path that its words may name are below granted folders; a command that can do
more than read needs folders granted for writing. What cannot be checked is refused. A path counts
as written and, where the planner found a link in it, also where it leads.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from posixpath import join

from core.model.command import ExecPlan, PinnedFile, PlannedCommand
from core.policy.matching.matchers import surroundings
from core.policy.matching.path_arguments import normal, seen_from_links, starts, without_addresses
from core.policy.matching.template_element import Surroundings, below
from core.programs.carriers import bounded, effects
from core.programs.implicit_reads import Contents, contents_of, names_no_file, reads_elsewhere
from core.programs.profiles.carrier_profile import Effect
from core.programs.unwrap import Unwrapped, unwrap
from core.programs.wrapper_grammar import Opaque
from core.programs.wrappers import names_of, wrapper_kind

TOOL = "Exec"
"""The tool whose grant lets an agent run commands, under the name that S3 gives it."""

_UNHELD = "cannot be held to the granted folders"
_UNTOLD = "the program {!r} of a wrapper is not known before it starts"
_CLIMBS = re.compile(r"/\.\.(?:/|\Z)")
_HARMLESS = frozenset((Effect.READS,))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one agent was granted; roots are absolute folders without a last slash."""

    tools: frozenset[str]
    read: tuple[str, ...]
    write: tuple[str, ...]

    def problem(self, plan: ExecPlan) -> str | None:
        """Return what in a plan goes beyond the grants, ``None`` if nothing does."""
        if TOOL not in self.tools:
            return f"the tool {TOOL} is not granted"
        if plan.unreadable is not None:
            return "a line that only a shell can read cannot be held to the granted folders"
        found = (self._command(command, plan.cwd.path) for command in plan.commands)
        return next((one for one in found if one is not None), None)

    def may_read(self, path: str) -> bool:
        """Return whether a normal absolute path is below a folder that is granted at all."""
        return self._may(path, writes=False)

    def _command(
        self,
        command: PlannedCommand,
        folder: str,
        *,
        inner: bool = False,
        gets_more: bool = False,
    ) -> str | None:
        """Return what goes beyond; ``gets_more``: its last arguments come from standard input.

        A program that was not found is denied with a better reason; inside a wrapper (``inner``) it
        is refused here, because xargs may name another one by then.
        """
        file = command.executable
        if file is None:
            return _UNTOLD.format(command.argv[0]) if inner else None
        if not all(self._may(path, writes=False) for path in (file.path, file.realpath)):
            return f"the program {file.realpath} is outside the folders granted for reading"
        at = surroundings(command, folder)
        if command.inner:
            return self._inner(command, file, at, gets_more=gets_more)
        if names_no_file(len(command.argv) - 1 + gets_more, file.path, file.realpath):
            return None if self._may(at.cwd, writes=False) else _folder_outside(at.cwd, "reading")
        if reads_elsewhere(command.argv, file.path, file.realpath):
            return f"{command.argv[0]} would read files that are not named, which {_UNHELD}"
        return _unheld(command, file, gets_more=gets_more) or self._words(command, file, at)

    def _inner(
        self, command: PlannedCommand, file: PinnedFile, at: Surroundings, *, gets_more: bool
    ) -> str | None:
        """Return what goes beyond the grants in what a wrapper runs."""
        unwrapped = unwrap(command.argv, file)
        if _gives_names(unwrapped) and (problem := _reads_found(command.inner)):
            return problem
        more = gets_more or _adds_arguments(unwrapped)
        found = (self._command(one, at.cwd, inner=True, gets_more=more) for one in command.inner)
        return next((one for one in found if one is not None), None)

    def _words(self, command: PlannedCommand, file: PinnedFile, at: Surroundings) -> str | None:
        writes = _may_write(command, file)
        need = "writing" if writes else "reading"
        if not self._may(at.cwd, writes=writes):
            return _folder_outside(at.cwd, need)
        for name, real in command.links:
            if not self._may(real, writes=writes):
                where = real or "more places than are checked"
                return f"{name} leads to {where}, outside the folders granted for {need}"
        for word, path in _named_by(command, file, at):
            if path is None:
                return f"the word {word!r} leads up through a folder, which cannot be checked"
            if not self._may(path, writes=writes):
                return f"{path} is outside the folders granted for {need}"
        return None

    def _may(self, path: str, *, writes: bool) -> bool:
        roots = self.write if writes else (*self.read, *self.write)
        return any(below(root, path) for root in roots)


def _adds_arguments(found: Unwrapped | Opaque | None) -> bool:
    """Return whether a wrapper gives its command words from its standard input, as xargs does."""
    return isinstance(found, Unwrapped) and found.open_ended and not found.between


def _gives_names(found: Unwrapped | Opaque | None) -> bool:
    """Return whether a wrapper gives its commands names that it finds, as find does."""
    return isinstance(found, Unwrapped) and found.open_ended and bool(found.between)


def _reads_found(commands: Iterable[PlannedCommand]) -> str | None:
    """Return which command would read what is found: a link there may lead anywhere."""
    for one in commands:
        file, given = one.executable, any("{}" in word for word in one.argv[1:])
        if file is None or not given:
            continue
        if contents_of(one.argv, file.path, file.realpath) is not Contents.NONE:
            return (
                f"{one.argv[0]} would read what is found, also through links, which {_UNHELD}; "
                "name the files, or use grep -r"
            )
    return None


def _folder_outside(folder: str, need: str) -> str:
    return f"the working directory {folder} is outside the folders granted for {need}"


def _unheld(command: PlannedCommand, file: PinnedFile, *, gets_more: bool) -> str | None:
    """Return why it is unknown what a command will name, ``None`` if its words say it."""
    if gets_more:
        return f"{command.argv[0]} would get arguments from standard input, which {_UNHELD}"
    names = names_of(command.argv[0]) | names_of(file.path) | names_of(file.realpath)
    kind = wrapper_kind(names, len(command.argv) - 1)
    return None if kind is None else f"{kind}, and what it runs {_UNHELD}"


def _may_write(command: PlannedCommand, file: PinnedFile) -> bool:
    """Return whether a command may do more than read, as far as its names say; unknown is yes."""
    for path in dict.fromkeys((file.path, file.realpath)):
        argv = (path, *command.argv[1:])
        can = effects(argv)
        if can is None or not bounded(argv) or not can <= _HARMLESS | {Effect.NETWORK}:
            return True
    return False


def _named_by(
    command: PlannedCommand, file: PinnedFile, at: Surroundings
) -> Iterator[tuple[str, str | None]]:
    """Yield each path that a command may name, with the word that does."""
    for word in command.argv[1:]:
        for path in _paths(word, at):
            yield word, path
    if "ln" in names_of(file.path) | names_of(file.realpath):
        yield from seen_from_links(command.argv, at)


def _paths(word: str, at: Surroundings) -> Iterator[str | None]:
    """Yield each absolute path that a word may name, ``None`` for one that is unknown."""
    word = without_addresses(word)
    begin = starts(word)
    if not word.startswith("-") or word == "-":
        begin.add(0)
    elif _CLIMBS.search(word):
        yield None
    for start in sorted(begin):
        yield from _named(word[start:], at)


def _named(part: str, at: Surroundings) -> Iterator[str | None]:
    steps = part.split("/")
    climbs = [index for index, step in enumerate(steps) if step == ".."]
    # After a link, `a/..` is not where it seems to be; some programs expand `~` themselves.
    if part.startswith("~") or climbs != list(range(len(climbs))):
        yield None
        return
    path = normal(join(at.cwd, part))
    yield path
    if path in at.real:
        yield at.real[path]
