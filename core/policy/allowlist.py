"""Know what may run for one agent: its allowlist (S1 "Allowlist (per agent)").

An entry covers a program by its path (``path_index``), or, where it has an ``argv``, that program
with exactly these arguments (DESIGN §6 "Trust"). Patterns without a directory are ignored with a
warning, for a base name says nothing about which file it is.
"""

from collections.abc import Iterable, Sequence

from core.errors import ConfigError
from core.model.approval import AllowlistEntry
from core.policy.path_index import PathIndex, at_home, complaint, covers_everything
from core.policy.templates import ArgvTemplate, Surroundings

_Paths = PathIndex[AllowlistEntry]


class Allowlist:
    """An agent's entries, indexed: a look-up costs microseconds at 100,000 of them."""

    __slots__ = ("_lint", "_literal", "_paths", "_typed")

    def __init__(self, entries: Iterable[AllowlistEntry], home: str) -> None:
        self._paths: _Paths = PathIndex()
        self._literal: dict[tuple[str, ...], _Paths] = {}
        self._typed: dict[int, list[tuple[ArgvTemplate, _Paths]]] = {}
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
        self, paths: Sequence[str], arguments: tuple[str, ...], at: Surroundings
    ) -> AllowlistEntry | None:
        """Return the entry that covers one of the paths with exactly these arguments."""
        literal = self._literal.get(arguments)
        found = None if literal is None else literal.match(paths)
        if found is not None or not self._typed:
            return found
        for template, index in self._typed.get(len(arguments), ()):
            if template.fits(arguments, at):
                found = index.match(paths)
                if found is not None:
                    return found
        return None

    def _add(self, entry: AllowlistEntry, home: str) -> None:
        why = complaint(entry.pattern, home)
        if why is not None:
            self._lint.append(f"{entry.pattern!r} is ignored: {why}")
            return
        pattern = at_home(entry.pattern, home)
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

    def _vectors(self, template: ArgvTemplate) -> _Paths:
        """Return the index of the programs that are listed with these arguments."""
        if template.literal:
            return self._literal.setdefault(template.elements, PathIndex())
        alike = self._typed.setdefault(len(template.elements), [])
        for known, index in alike:
            if known == template:
                return index
        alike.append((template, PathIndex()))
        return alike[-1][1]
