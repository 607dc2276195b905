"""List the files that a command may read besides those it names: ``data/contents.toml``."""

from collections.abc import Sequence
from enum import Enum, auto
from functools import cache, lru_cache

from core.programs.carriers import carries, harmless, in_system_directory
from core.programs.profiles.tables import section, table, words


class Contents(Enum):
    """Which files the contents that a command may print or send can come from."""

    NONE = auto()
    FILES = auto()
    """The files that it names."""
    FOLDERS = auto()
    """The files and folders that it names, and everything in these."""
    ANYWHERE = auto()
    """Also anything in the folder that it runs in."""


@lru_cache(maxsize=16_384)
def contents_of(argv: tuple[str, ...], path: str, realpath: str) -> Contents:
    """Return what a command may read; both of a program's paths must agree on what it is."""
    paths = tuple(dict.fromkeys((path, realpath)))
    if not all(map(in_system_directory, paths)):
        return Contents.ANYWHERE
    found = [_contents(one.rpartition("/")[2], argv[1:], paths) for one in paths]
    return max(found, key=_width)


def names_no_file(count: int, path: str, realpath: str) -> bool:
    """Return whether a command only prints and no argument is a file, whatever it looks like.

    ``count`` is how many arguments it has at most. Both of a program's paths must agree on what it
    is.
    """
    known = _list("no_files") | (frozenset() if count else _list("no_files_bare"))
    paths = (path, realpath)
    return all(in_system_directory(one) and one.rpartition("/")[2] in known for one in paths)


def reads_elsewhere(argv: tuple[str, ...], path: str, realpath: str) -> bool:
    """Return whether an option makes a command follow links in folders, or read listed files."""
    names = {one.rpartition("/")[2] for one in (path, realpath)}
    following = (words(section(table("contents"), "follows"), name) for name in names)
    return any(
        carries(option, word) for listed in following for option in listed for word in argv[1:]
    )


def _width(contents: Contents) -> int:
    return contents.value


def _contents(name: str, arguments: tuple[str, ...], paths: Sequence[str]) -> Contents:
    if any(carries(option, word) for option in _spreads(name) for word in arguments):
        return Contents.ANYWHERE
    if any(loading in word for loading in _loads(name) for word in arguments):
        return Contents.ANYWHERE
    if name in _list("none") or f"{name}.{''.join(arguments[:1])}" in _list("none_commands"):
        return Contents.NONE
    listed = next((found for key, found in _IF_HARMLESS.items() if name in _list(key)), None)
    return Contents.ANYWHERE if listed is None or not harmless(paths, arguments) else listed


_IF_HARMLESS = {
    "none_if_harmless": Contents.NONE,
    "files": Contents.FILES,
    "folders": Contents.FOLDERS,
}


@cache
def _list(key: str) -> frozenset[str]:
    return frozenset(words(table("contents"), key))


@cache
def _spreads(name: str) -> tuple[str, ...]:
    return words(section(table("contents"), "spreads"), name)


@cache
def _loads(name: str) -> tuple[str, ...]:
    return words(section(table("contents"), "loads"), name)
