"""Match what may run for one agent: its allowlist (S1 "Allowlist (per agent)").

An entry covers a program by its path (``path_index``), or, where it has an ``argv``, that program
with exactly these arguments. One with ``content`` covers it only while its files are as they
were and no other code is read; it is looked up separately (``core.policy.judge.script_pins``).
Patterns without a directory are ignored with a warning, because a base name says nothing about
which file it is.
"""

from collections.abc import Iterable, Iterator, Sequence

from core.errors import ConfigError
from core.model.approval import AllowlistEntry
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.matching.path_patterns import (
    PathIndex,
    at_home,
    complaint,
    covers_everything,
    is_glob,
)
from core.policy.matching.template_element import Surroundings, looks_typed
from core.programs.carriers import harmless

_Paths = PathIndex[AllowlistEntry]
_Shape = tuple[int | None, str | None]
_Bound = PathIndex[list[AllowlistEntry]]
_NO_FILE = ""
_LOOSE = "`content` goes with one whole path and, where it has `argv`, with literal words"


def ill_bound(entry: AllowlistEntry) -> str:
    """Return why an entry with content can never match, or return an empty string."""
    if entry.content is None:
        return ""
    loose = any(map(looks_typed, entry.argv or ()))
    return _LOOSE if loose or is_glob(entry.pattern) else ""


class Allowlist:
    """An agent's entries, indexed: a look-up costs microseconds at 100,000 of them."""

    __slots__ = ("_bound", "_lint", "_literal", "_paths", "_typed")

    def __init__(self, entries: Iterable[AllowlistEntry], home: str) -> None:
        self._paths: _Paths = PathIndex()
        self._literal: dict[tuple[str, ...], _Paths] = {}
        self._typed: dict[_Shape, list[tuple[ArgvTemplate, _Paths]]] = {}
        self._bound: dict[tuple[tuple[str, ...] | None, str], _Bound] = {}
        self._lint: list[str] = []
        for entry in entries:
            self._add(entry, home)

    def lint(self) -> tuple[str, ...]:
        """Return a sentence for each entry that is ignored or matches every program."""
        return tuple(self._lint)

    def match(self, paths: Sequence[str]) -> AllowlistEntry | None:
        """Return the entry that covers one of the paths with any arguments, an exact one first.

        ``paths`` are the invoked and the real path of one program. A path that is relative, not
        normal (``..``, ``//``) or holds a control character never matches.
        """
        return self._paths.match(paths)

    def exact(self, paths: Sequence[str]) -> AllowlistEntry | None:
        """Return the entry that names one of the paths without a wildcard; the cheap half."""
        return self._paths.exact(paths)

    def match_vector(
        self,
        paths: Sequence[str],
        arguments: tuple[str, ...],
        at: Surroundings,
        *,
        strict: bool = True,
    ) -> AllowlistEntry | None:
        """Return the entry that covers one of the paths with exactly these arguments.

        ``strict``: what an entry leaves to the program's profile must be harmless by it.
        """
        literal = self._literal.get(arguments)
        found = None if literal is None else literal.match(paths)
        if found is not None or not self._typed:
            return found
        for template, index in self._shaped(arguments):
            if template.fits(arguments, at):
                found = index.match(paths)
                judged = strict and template.by_profile
                if found is not None and not (judged and not harmless(paths, arguments)):
                    return found
        return None

    def _shaped(self, arguments: tuple[str, ...]) -> Iterator[tuple[ArgvTemplate, _Paths]]:
        """Yield the templates of as many words, and those of any number, that begin alike."""
        for length in (len(arguments), None):
            for first in (None, *arguments[:1]):
                yield from self._typed.get((length, first), ())

    @property
    def binds(self) -> bool:
        """Return whether any entry has content."""
        return bool(self._bound)

    def bound(
        self, paths: Sequence[str], arguments: tuple[str, ...] | None, files: Iterable[str]
    ) -> Iterator[AllowlistEntry]:
        """Yield the entries with content for one of the paths and exactly these arguments.

        ``files`` are the real paths of what a plan pins; whether each has that content is not
        checked. ``None`` means any arguments. An entry whose content is empty has no file.
        """
        for file in (_NO_FILE, *files):
            index = self._bound.get((arguments, file))
            if index is not None:
                for path in paths:
                    yield from index.exact((path,)) or ()

    def _add(self, entry: AllowlistEntry, home: str) -> None:
        why = complaint(entry.pattern, home)
        if why is not None:
            self._lint.append(f"{entry.pattern!r} is ignored: {why}")
            return
        pattern = at_home(entry.pattern, home)
        if entry.content is not None:
            self._bind(entry, pattern)
            return
        if entry.argv is None:
            if covers_everything(entry.pattern):
                self._lint.append(f"{entry.pattern!r} lets every program run")
            self._paths.add(pattern, entry)
            return
        try:
            template = ArgvTemplate.of_rule(entry.argv)
        except ConfigError as error:
            self._lint.append(f"{entry.words!r} is ignored: {error}")
            return
        self._vectors(template).add(pattern, entry)

    def _bind(self, entry: AllowlistEntry, pattern: str) -> None:
        """Index an entry by a file of its own, as many scripts share program and arguments."""
        why = ill_bound(entry)
        if why:
            self._lint.append(f"{entry.words!r} is ignored: {why}")
            return
        files = [path for path, _ in entry.content or ()]
        file = next((path for path in files if path != pattern), (*files, _NO_FILE)[0])
        index = self._bound.setdefault((entry.argv, file), PathIndex())
        known = index.exact((pattern,))
        if known is None:
            index.add(pattern, [entry])
        else:
            known.append(entry)

    def _vectors(self, template: ArgvTemplate) -> _Paths:
        """Return the index of the programs that are listed with these arguments."""
        if template.literal:
            return self._literal.setdefault(template.elements, PathIndex())
        alike = self._typed.setdefault((template.length, template.literal_at(0)), [])
        for known, index in alike:
            if known == template:
                return index
        alike.append((template, PathIndex()))
        return alike[-1][1]
