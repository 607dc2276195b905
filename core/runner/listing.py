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

from core.policy.elements import below as lies_below
from core.runner.fileid import FileIdentity, identity
from core.runner.leads import real_path

_MOST_ENTRIES: Final = 50_000
"""Entries of a repository's own folder that are looked at for links."""

_SETTLED_NS: Final = 100_000_000
"""Age of a folder's last change from which another one has another time (file systems' ticks)."""

_NOT_GITS: Final = frozenset(("annex", "lfs", "modules"))
"""Folders in a repository's own in which git itself does not write; submodules' are apart."""

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
        """Tell whether a name in lower case may be found in the folder."""
        return self.odd or name in self.names


_NOTHING: Final = Listing(frozenset(), False, (), ())


def listing_of(folder: str) -> Listing | None:
    """Return what a folder lists, ``None`` if it is none or cannot be read."""
    try:
        status = os.stat(folder)  # noqa: PTH116 - pathlib is ten times slower
    except (OSError, ValueError):
        return None
    # A process can set mtime back, never ctime; both count, so that neither hides a change.
    changed_ns = max(status.st_mtime_ns, status.st_ctime_ns)
    if time.time_ns() - changed_ns < _SETTLED_NS:
        return _read(folder)
    return _kept(folder, identity(status))


@lru_cache(maxsize=16_384)
def _kept(folder: str, as_it_is: FileIdentity) -> Listing | None:
    del as_it_is  # part of the key
    return _read(folder)


def _read(folder: str) -> Listing | None:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return None
    return Listing(
        frozenset(one.name.lower() for one in found),
        not all(one.name.isascii() for one in found),
        tuple(one.path for one in found if one.is_symlink()),
        tuple(one.path for one in found if one.is_dir(follow_symlinks=False)),
    )


def links_away(place: str) -> Iterator[str]:
    """Yield a clause for a link of a repository's own folder that leads git's writing elsewhere."""
    waiting = [(place, True)]
    left = _MOST_ENTRIES
    while waiting:
        folder, top = waiting.pop()
        listing = listing_of(folder) or _NOTHING
        left -= len(listing.names)
        if left < 0:
            yield f"`{place}` holds more files than are looked at"
            return
        away = next((one for one in listing.links if not _stays(one, place)), None)
        if away is not None:
            yield f"`{away}` is a link out of the repository, and git writes through it"
            return
        waiting += [(one, False) for one in listing.folders if _is_written(one, top=top)]


def _is_written(folder: str, *, top: bool) -> bool:
    apart = top and folder.rpartition("/")[2] in _NOT_GITS
    return not apart and _OBJECTS.fullmatch(folder) is None


def _stays(path: str, place: str) -> bool:
    return lies_below(os.path.realpath(place), real_path(path, "/"))
