"""Say what one run sees of the files: everything read-only, but for some places."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a place is inside: empty, without content, as it is outside, or changeable too.

    ``PRIVATE`` places are empty at first and the run's own.
    """

    PRIVATE = "private"
    EMPTIED = "emptied"
    BLANKED = "blanked"
    SHOWN = "shown"
    WORKSPACE = "workspace"


_AS_OUTSIDE = frozenset((Kind.SHOWN, Kind.WORKSPACE))
_UNSEEN = ("/dev", "/proc")


@dataclass(frozen=True, slots=True)
class View:
    """The places of one run by real path, outer ones first: the innermost decides.

    ``workspace`` is the one of that kind, ``None`` where nothing may be changed.
    """

    places: tuple[tuple[str, Kind], ...]
    workspace: str | None = None

    def sees(self, path: str) -> bool:
        """Tell whether a real path is inside what it is outside."""
        return self._as_outside(path, but=None)

    def enters(self, folder: str) -> bool:
        """Tell whether a folder is there inside, if only as an empty one."""
        return any(folder == path for path, _ in self.places) or self.sees(folder)

    def sees_without_mount(self, folder: str) -> bool:
        """Tell whether a workspace could be seen if it were none."""
        return self._as_outside(folder, but=Kind.WORKSPACE)

    def in_workspace(self, path: str) -> bool:
        """Tell whether a path is the workspace or lies in it."""
        return self.workspace is not None and is_within(path, self.workspace)

    def of_mounts(self) -> Iterator[tuple[str, Kind]]:
        """Yield the places that matter where nothing else of the files outside is inside."""
        for path, kind in self.places:
            outer = [one for one, other in self.places if one != path and other in _AS_OUTSIDE]
            if kind not in {Kind.EMPTIED, Kind.BLANKED} or any(is_within(path, o) for o in outer):
                yield path, kind

    def _as_outside(self, path: str, *, but: Kind | None) -> bool:
        seen = not any(is_within(path, one) for one in _UNSEEN)
        for place, kind in self.places:
            if kind is not but and is_within(path, place):
                seen = kind in _AS_OUTSIDE
        return seen


def is_within(path: str, folder: str) -> bool:
    """Tell whether a path is a folder or lies in it; both are real paths."""
    return path == folder or path.startswith(folder if folder == "/" else f"{folder}/")
