"""Hold an agent to the tools and files that it was granted (S3 "Capability requirements").

Where an agent has capabilities, a command runs only if the tool ``Exec`` is granted, its program,
its folder and every path that its words may name lie below granted folders; a command that can do
more than read needs folders granted for writing. What cannot be checked is refused. A path counts
as it is written and, where the planner found a link in it, as it leads as well.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import join

from core.model.command import ExecPlan, PinnedFile, PlannedCommand
from core.policy.matching.matchers import surroundings
from core.policy.matching.path_arguments import normal, seen_from_links, starts, without_addresses
from core.policy.matching.template_element import Surroundings, below
from core.policy.profiles.carrier_profile import Effect
from core.policy.programs.carriers import bounded, effects
from core.policy.programs.wrappers import names_of, wrapper_kind

TOOL = "Exec"
"""The tool that S3 calls by this name, for it takes vectors only."""

_CLIMBS = re.compile(r"/\.\.(?:/|\Z)")
_HARMLESS = frozenset((Effect.READS,))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What one agent was granted; roots are absolute folders without a last slash."""

    tools: frozenset[str]
    read: tuple[str, ...]
    write: tuple[str, ...]

    def problem(self, plan: ExecPlan) -> str | None:
        """Return what of a plan goes beyond the grants, ``None`` if nothing does."""
        if TOOL not in self.tools:
            return f"the tool {TOOL} is not granted"
        if plan.unreadable is not None:
            return "a line that only a shell can read cannot be held to the granted folders"
        found = (self._command(command, plan.cwd.path) for command in plan.commands)
        return next((one for one in found if one is not None), None)

    def may_read(self, path: str) -> bool:
        """Return whether a normal absolute path is below a folder that is granted at all."""
        return self._may(path, writes=False)

    def _command(self, command: PlannedCommand, folder: str) -> str | None:
        file = command.executable
        if file is None:
            return None  # it is denied all the same, with a better reason
        if not all(self._may(path, writes=False) for path in (file.path, file.realpath)):
            return f"the program {file.realpath} is outside the folders granted for reading"
        at = surroundings(command, folder)
        if command.inner:
            inner = (self._command(one, at.cwd) for one in command.inner)
            return next((one for one in inner if one is not None), None)
        names = names_of(command.argv[0]) | names_of(file.path) | names_of(file.realpath)
        kind = wrapper_kind(names, len(command.argv) - 1)
        if kind is not None:
            return f"{kind}, and what it runs cannot be held to the granted folders"
        return self._words(command, file, at)

    def _words(self, command: PlannedCommand, file: PinnedFile, at: Surroundings) -> str | None:
        writes = _may_write(command, file)
        need = "writing" if writes else "reading"
        if not self._may(at.cwd, writes=writes):
            return f"the working directory {at.cwd} is outside the folders granted for {need}"
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
    # Behind a link, `a/..` is not where it seems to be; some programs expand `~` themselves.
    if part.startswith("~") or climbs != list(range(len(climbs))):
        yield None
        return
    path = normal(join(at.cwd, part))
    yield path
    if path in at.real:
        yield at.real[path]
