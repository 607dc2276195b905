"""List a folder, and find the links through which git would write outside a repository's own.

What a folder lists changes its times, so a listing is kept for as long as they stay the same.
"""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from core.files.file_identity import FileIdentity, identity
from core.files.lookup import check_looked, status_of
from core.planning.paths.symlinks import real_path
from core.policy.matching.template_element import below as lies_below

_MOST_ENTRIES: Final = 50_000
"""Entries of a repository's own folder that are checked for links."""

_SETTLED_NS: Final = 100_000_000
"""Age of a folder's last change after which another one gets another time (file systems' ticks)."""

_NOT_GITS: Final = frozenset(("annex", "lfs", "modules"))
"""Folders in a repository's own in which git itself does not write; not submodules'."""

_OBJECTS = re.compile(r".*/objects/[0-9a-f]{2}")
"""Folders of loose objects: git makes new files in them and opens none for writing."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a folder holds: names in lower case, and the paths of links and of folders.

    ``odd``: some name is not ASCII. A file system may take it for another one (ext4's casefold and
    HFS+ fold case, normalise, and ignore some code points; CVE-2014-9390).
    """

    names: frozenset[str]
    odd: bool
    links: tuple[str, ...]
    folders: tuple[str, ...]

    def may_hold(self, name: str) -> bool:
        """Return whether a name in lower case may be found in the folder."""
        return self.odd or name in self.names


_NOTHING: Final = Listing(frozenset(), False, (), ())


_WALKED: Final[dict[str, tuple[tuple[str, FileIdentity, Listing], ...]]] = {}
"""Repositories' own folders in which no link was found: the folders below, as they were then."""

_MOST_WALKED: Final = 256


def listing_of(folder: str, status: os.stat_result | None = None) -> Listing | None:
    """Return what a folder lists, ``None`` if it is not one or is closed to us.

    ``status`` is that of the folder, if it was just looked up.

    Raises:
        OSError: the lookup failed (``core.files.lookup``).
    """
    return _looked_up(folder, status)[0]


def _looked_up(
    folder: str, seen: os.stat_result | None = None
) -> tuple[Listing | None, FileIdentity | None]:
    """Return the same, and what stays equal while the folder lists that, if anything does."""
    status = seen or status_of(folder)
    if status is None:
        return None, None
    # A process can set mtime back, never ctime; both count, so that neither hides a change.
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if time.time_ns() - changed_ns < _SETTLED_NS:
        return _read(folder), None
    as_it_is = identity(status)
    return _kept(folder, as_it_is), as_it_is


@lru_cache(maxsize=16_384)
def _kept(folder: str, as_it_is: FileIdentity) -> Listing | None:
    del as_it_is  # part of the key
    return _read(folder)


def _read(folder: str) -> Listing | None:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError as error:
        check_looked(error)  # before anything is kept that was not seen
        return None
    return Listing(
        frozenset(one.name.lower() for one in found),
        not all(one.name.isascii() for one in found),
        tuple(one.path for one in found if one.is_symlink()),
        tuple(one.path for one in found if one.is_dir(follow_symlinks=False)),
    )


def forget() -> None:
    """Re-read every folder at the next check."""
    _kept.cache_clear()
    _WALKED.clear()


def links_away(place: str, known: dict[str, Listing] | None = None) -> Iterator[str]:
    """Yield a clause for a link of a repository's own folder that leads git's writing elsewhere.

    ``known`` are folders that were listed a moment ago; those that are found unchanged are added.
    """
    if not _is_as_walked(place, {} if known is None else known):
        yield from _links_found(place)


def _is_as_walked(place: str, known: dict[str, Listing]) -> bool:
    """Return whether an earlier walk found no link and each folder of it lists the same as then."""
    try:
        for folder, then, listing in _WALKED[place]:
            if known.get(folder) is listing:
                continue
            if identity(os.stat(folder)) != then:  # noqa: PTH116 - pathlib is ten times slower
                return False
            known[folder] = listing
    except (KeyError, OSError):
        return False
    return True


def _links_found(place: str) -> Iterator[str]:
    waiting = [(place, True)]
    left = _MOST_ENTRIES
    walked: list[tuple[str, FileIdentity, Listing]] = []
    whole = True
    while waiting:
        folder, top = waiting.pop()
        found, as_it_is = _looked_up(folder)
        listing = found or _NOTHING
        left -= len(listing.names)
        if left < 0:
            yield f"`{place}` holds more files than are checked"
            return
        away = next((one for one in listing.links if not _stays(one, place)), None)
        if away is not None:
            yield f"`{away}` is a link out of the repository, and git writes through it"
            return
        # What a link leads to may change, and so may what is not settled or cannot be read.
        whole = whole and found is not None and as_it_is is not None and not found.links
        if as_it_is is not None:
            walked.append((folder, as_it_is, listing))
        waiting += [(one, False) for one in listing.folders if _is_written(one, top=top)]
    if whole:
        _keep(place, walked)


def _keep(place: str, walked: list[tuple[str, FileIdentity, Listing]]) -> None:
    if len(_WALKED) >= _MOST_WALKED:
        _WALKED.clear()
    _WALKED[place] = tuple(walked)


def _is_written(folder: str, *, top: bool) -> bool:
    apart = top and folder.rpartition("/")[2] in _NOT_GITS
    return not apart and _OBJECTS.fullmatch(folder) is None


def _stays(path: str, place: str) -> bool:
    return lies_below(os.path.realpath(place), real_path(path, "/"))
