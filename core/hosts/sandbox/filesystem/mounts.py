"""Define what one run sees of the files: a few places, and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a place is inside the sandbox.

    ``SYSTEM``, ``LINK`` (a top folder's, as in ``/bin``) and ``SHOWN`` places are as outside and
    cannot be changed; the first two are this machine's, so a container has its own instead. A
    ``WORKSPACE`` can be changed. ``PRIVATE`` ones are the run's own and empty at first; ``EMPTIED``
    folders and ``BLANKED`` files have no content.
    """

    SYSTEM = "system"
    LINK = "link"
    SHOWN = "shown"
    WORKSPACE = "workspace"
    PRIVATE = "private"
    EMPTIED = "emptied"
    BLANKED = "blanked"


_HIDDEN = frozenset((Kind.PRIVATE, Kind.EMPTIED, Kind.BLANKED))
_GIVEN = frozenset((Kind.SHOWN, Kind.WORKSPACE))


@dataclass(frozen=True, slots=True)
class View:
    """The places of one run by real path, outer ones first: the innermost decides.

    ``workspace`` is the one of that kind, ``None`` if nothing may be changed. ``barred`` is the
    folder of the run and why it cannot be one, whatever its name; both are empty if it can.
    """

    places: tuple[tuple[str, Kind], ...]
    workspace: str | None = None
    barred: tuple[str, str] = ("", "")

    def sees(self, path: str) -> bool:
        """Return whether a path shows the same inside as outside."""
        return self._sees(path, but=None)

    def sees_without_mount(self, folder: str) -> bool:
        """Return whether a workspace could be seen even if it were not mounted as one."""
        return self._sees(folder, but=Kind.WORKSPACE)

    def enters(self, folder: str) -> bool:
        """Return whether a folder exists inside, if only as an empty one."""
        leads = folder == "/" or any(is_within(place, folder) for place, _ in self.places)
        return leads or self.sees(folder)

    def why_unseen(self, folder: str) -> str:
        """Return, as a clause, why a folder is not inside, and what to do."""
        ran_in, barred = self.barred
        if barred and is_within(folder, ran_in) and not self.enters(ran_in):
            return f"{ran_in} {barred}"
        over = [(place, kind) for place, kind in self.places if is_within(folder, place)]
        place, kind = over[-1] if over else ("", None)
        match kind:
            case Kind.PRIVATE:
                why = f"each run has a private {place} of its own there"
            case None:
                why = "it is neither a system folder nor a project"
            case _:
                why = f"{place} is hidden there"
        return f"{why}. Run it in a project's folder, or set sandbox.workspace or sandbox.show"

    def in_workspace(self, path: str) -> bool:
        """Return whether a path is the workspace or inside it."""
        return self.workspace is not None and is_within(path, self.workspace)

    def in_its_workspace(self) -> tuple[str, ...]:
        """Return the places that are in the workspace, relative to it."""
        if self.workspace is None:
            return ()
        base = f"{self.workspace}/"
        return tuple(path.removeprefix(base) for path, _ in self.places if path.startswith(base))

    def beside_a_system(self) -> Iterator[tuple[str, Kind]]:
        """Yield the places that matter if a system other than this machine's is inside."""
        given = [path for path, kind in self.places if kind in _GIVEN]
        for path, kind in self.places:
            inside = any(is_within(path, one) for one in given)
            if kind in _GIVEN or kind is Kind.PRIVATE or (kind in _HIDDEN and inside):
                yield path, kind

    def _sees(self, path: str, *, but: Kind | None) -> bool:
        seen = False
        for place, kind in self.places:
            if kind is not but and is_within(path, place):
                seen = kind not in _HIDDEN
        return seen


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or inside it; both are real paths."""
    return path == folder or path.startswith(folder if folder == "/" else f"{folder}/")
