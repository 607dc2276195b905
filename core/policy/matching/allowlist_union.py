"""Look up an entry in two allowlists as if in one: an agent's own, and what people granted."""

from collections.abc import Iterable, Iterator, Sequence

from core.model.approval import AllowlistEntry
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.template_element import Surroundings


class Either(Allowlist):
    """Two allowlists, each as indexed once; where both have an entry, the first one's counts."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: Allowlist, second: Allowlist) -> None:
        super().__init__((), "/")
        self._first = first
        self._second = second

    def lint(self) -> tuple[str, ...]:
        """Return the warnings about the entries of both."""
        return (*self._first.lint(), *self._second.lint())

    def exact(self, paths: Sequence[str]) -> AllowlistEntry | None:
        """Return the entry that names one of the paths without a wildcard."""
        return self._first.exact(paths) or self._second.exact(paths)

    def match(self, paths: Sequence[str]) -> AllowlistEntry | None:
        """Return the entry that covers one of the paths, an exact one first."""
        return self.exact(paths) or self._first.match(paths) or self._second.match(paths)

    def match_vector(
        self,
        paths: Sequence[str],
        arguments: tuple[str, ...],
        at: Surroundings,
        *,
        strict: bool = True,
    ) -> AllowlistEntry | None:
        """Return the entry that covers one of the paths with exactly these arguments."""
        own = self._first.match_vector(paths, arguments, at, strict=strict)
        return own or self._second.match_vector(paths, arguments, at, strict=strict)

    @property
    def binds(self) -> bool:
        """Return whether any entry has content."""
        return self._first.binds or self._second.binds

    def bound(
        self, paths: Sequence[str], arguments: tuple[str, ...] | None, files: Iterable[str]
    ) -> Iterator[AllowlistEntry]:
        """Yield the entries with content for one of the paths and exactly these arguments."""
        pinned = tuple(files)
        yield from self._first.bound(paths, arguments, pinned)
        yield from self._second.bound(paths, arguments, pinned)
