"""Find every repository that git might take around a folder and within one (git(1), gitmodules(5)).

Which folder git takes is not imitated but covered: every one that it might take is found, and
whatever is not written as git itself writes it is an ``OddLink``.
"""

# ruff: noqa: PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from core.files.lookup import check_looked, is_folder, is_there, status_of
from core.planning.git.folder_listing import Listing, listing_of
from core.planning.git.obedience import Obedience
from core.planning.git.submodules import submodules
from core.planning.paths.pins import Unpinned
from core.planning.paths.symlinks import leads_elsewhere

LARGEST: Final = 256 * 1024
"""Bytes of a file that is read; nobody writes a larger configuration."""

_MOST_BELOW_MODULES: Final = 20_000
"""Folders below ``modules`` that are checked: a submodule's objects are in up to 258."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository's own folder (``.git``), and where its files are, ``""`` if it is bare.

    The files of an ``absorbed`` one are where they are not looked for. ``listing`` is what its own
    folder lists, ``None`` where that is not known.
    """

    folder: str
    tree: str
    absorbed: bool = False
    listing: Listing | None = None

    def may_hold(self, name: str) -> bool:
        """Return whether something of that name may be in it, without looking it up."""
        return self.listing is None or self.listing.may_hold(name)

    def may_link(self) -> bool:
        """Return whether a link may be in it, without looking."""
        return self.listing is None or bool(self.listing.links)


class OddLink(Exception):
    """A file that leads to a repository is not written as git writes it."""


def repositories_around(cwd: str) -> Iterator[Repository]:
    """Yield each repository around a folder: git takes the first one that it finds complete."""
    folder = cwd
    while True:
        found = _at(folder)
        if found is not None:
            yield found
        if is_there(folder + "/HEAD"):  # `objects` and `refs` may be elsewhere (commondir)
            yield Repository(folder, "")
        if folder in {"", "/"}:
            return
        folder = folder.rpartition("/")[0] or "/"


def trees_for(text: str, cwd: str) -> tuple[str, ...]:
    """Return the folders in which git may start what a text names, besides the working folder.

    An alias starts at the top of the work tree, `git submodule foreach` in each submodule.
    """
    if "git" not in text:
        return ()
    top = _tree_around(cwd)
    return (top, *_submodules_in(top)) if top and "foreach" in text else (top,)


def _tree_around(cwd: str) -> str:
    """Return the folder of the files around a folder, or ``""``."""
    folder = cwd
    while folder not in {"", "/"}:
        if is_there(folder + "/.git"):
            return folder
        folder = folder.rpartition("/")[0]
    return ""


def _submodules_in(tree: str) -> Iterator[str]:
    try:
        repository = _at(tree)
    except OddLink:
        return  # asked about in any case
    named = () if repository is None else submodules(repository.folder)
    if not isinstance(named, Unpinned):
        yield from (os.path.join(tree, path) for path in named)


def repositories_within(repository: Repository, obeys: Obedience) -> Iterator[Repository]:
    """Yield the submodules that git may enter."""
    if repository.tree:
        named = submodules(repository.folder)
        if isinstance(named, Unpinned):
            raise OddLink(named.why)
        for path in named:
            within = os.path.join(repository.tree, path)
            check_same_for_all(within)
            found = _at(within)
            if found is not None:
                yield found
    # `git fetch` needs no files of them; `git switch` may bring one that the index does not list.
    brings = obeys.may("reach") or (obeys.writes and obeys.may("smudge"))
    if brings and repository.may_hold("modules"):
        yield from _absorbed(repository.folder + "/modules")


def _absorbed(modules: str) -> Iterator[Repository]:
    """Yield the repositories of submodules that are inside their superproject's (``.git/modules``).

    A submodule's name may have slashes, even into what resembles another one's repository.
    """
    check_same_for_all(modules)
    waiting = [modules] if is_folder(modules) else []
    for number, folder in enumerate(waiting):
        listing = listing_of(folder)
        if listing is None or number > _MOST_BELOW_MODULES:
            raise OddLink(f"`{modules}` holds more than is checked")
        if listing.links:
            link = listing.links[0]
            raise OddLink(f"`{link}` is a link, and git may find a repository behind it")
        if listing.may_hold("head"):
            yield Repository(folder, "", absorbed=True, listing=listing)
        waiting += listing.folders


def _at(tree: str) -> Repository | None:
    """Return the repository whose files are in a folder, by its ``.git`` there."""
    dot = tree.rstrip("/") + "/.git"
    status = status_of(dot, follow=False)
    if status is None:
        return None
    if stat.S_ISDIR(status.st_mode):
        return Repository(dot, tree, listing=listing_of(dot, status))
    if stat.S_ISLNK(status.st_mode):
        check_same_for_all(dot)
    if is_folder(dot):
        return Repository(dot, tree, listing=listing_of(dot))
    named = _link(dot, b"gitdir: ")
    folder = os.path.join(tree, named)
    check_same_for_all(folder)
    return Repository(folder, tree) if is_folder(folder) else None


def _link(path: str, head: bytes) -> str:
    """Return the path that a ``.git`` file or ``commondir`` holds.

    Git strips only line ends and stops at NUL, so only what has no other reading is accepted.

    Raises:
        OddLink: it is not one line of printable text without blanks around it.
    """
    content = first_bytes(path)
    if content is not None and content.startswith(head) and len(content) <= LARGEST:
        line = content.removeprefix(head).removesuffix(b"\n")
        text = line.decode(errors="replace")
        if text and text.isprintable() and text == text.strip() and "\ufffd" not in text:
            return text
    raise OddLink(f"`{path}` is not one line as git writes it")


def folders_of(repository: Repository) -> list[str]:
    """Return the folders that hold a repository's configuration and hooks."""
    leads = repository.folder + "/commondir"  # a linked work tree has another's
    if not repository.may_hold("commondir") or not is_there(leads):
        return [repository.folder]
    common = os.path.join(repository.folder, _link(leads, b""))
    check_same_for_all(common)
    return [repository.folder, common]


def check_same_for_all(path: str) -> None:
    """Refuse a path that leads each process somewhere else: /proc/self/cwd, /dev/stdin.

    Raises:
        OddLink: what git would find there cannot be known before it runs.
    """
    if leads_elsewhere(path):
        raise OddLink(f"`{path}` leads each process to a file of its own")


def mode_of(path: str) -> int | None:
    """Return the mode of a file, of a link itself, ``None`` if it does not exist."""
    status = status_of(path, follow=False)
    return None if status is None else status.st_mode


def first_bytes(path: str, flags: int = 0) -> bytes | None:
    """Return the first bytes of a regular file, ``None`` if it is not one or cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags)
    except OSError as error:
        check_looked(error)
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None  # a pipe may hold for git what it does not hold now
        return os.read(fd, LARGEST + 1)
    except OSError as error:
        check_looked(error)
        return None
    finally:
        os.close(fd)
