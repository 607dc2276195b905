"""Find the files that choose the program, or the version of it, that really runs.

A version manager puts a shim in the program's place, and the shim starts what a file of the project
names, even for `--version`; some tools load the project's own copy of themselves. A profile
describes only the program itself (data/shims.toml).
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from core.programs.carriers import carrier_problem, effects, is_known
from core.programs.profiles.carrier_profile import Effect
from core.programs.profiles.tables import Table, section, table, words
from core.programs.wrappers import names_of

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*|lts/(?:\*|[a-z]+)")
_CHANNEL = re.compile(
    r"(?:stable|beta|nightly|[0-9]+\.[0-9]+(?:\.[0-9]+)?)"
    r"(?:-[0-9]{4}-[0-9]{2}-[0-9]{2})?(?:-[a-z0-9_]+-[a-z0-9]+-[a-z0-9-]+)?"
)
_TOOLCHAIN_KEYS: Final = frozenset(("channel", "components", "targets", "profile"))
_CHOOSING_KEYS: Final = frozenset(("packageManager", "devEngines", "volta"))
_TOKEN = re.compile(r"//registry\.npmjs\.org/:_authToken")


@dataclass(frozen=True, slots=True)
class Chooser:
    """A file, by its path below a folder, that may choose; ``reading`` is how its text is read.

    ``{name}`` in the path is the name that the program was called by.
    """

    path: str
    reading: str


@dataclass(frozen=True, slots=True)
class Manager:
    """A program that starts what ``choosers`` select; without any, what it starts is unknown.

    ``marks`` are in the scripts that it writes as shims, ``within`` in its own binary.
    """

    name: str
    programs: frozenset[str]
    paths: tuple[str, ...]
    marks: tuple[bytes, ...]
    within: tuple[bytes, ...]
    choosers: tuple[Chooser, ...]


@cache
def managers() -> tuple[Manager, ...]:
    """Return the known version managers, the generic folders of shims last."""
    known = section(table("shims"), "managers")
    return tuple(_manager(name, section(known, name)) for name in known)


def manager_named(path: str) -> Manager | None:
    """Return the manager that a program's path indicates: its name, or the folder of its shims."""
    name = path.rpartition("/")[2].lower()
    found = (one for one in managers() if name in one.programs or any(p in path for p in one.paths))
    return next(found, None)


def manager_marked(content: bytes, *, script: bool) -> Manager | None:
    """Return the manager that the content of a shim indicates."""
    for one in managers():
        if any(mark in content for mark in (one.marks if script else one.within)):
            return one
    return None


@cache
def served() -> frozenset[str]:
    """Return the names under which only version managers install copies of themselves."""
    known = section(table("shims"), "managers")
    return frozenset(name for row in known for name in words(section(known, row), "serves"))


@lru_cache(maxsize=4096)
def own_paths(path: str, realpath: str) -> tuple[str, ...]:
    """Return the paths of a program whose names say what it is.

    A link to a version manager is the program that the link is named after, in the chosen version.
    """
    name = realpath.rpartition("/")[2].lower()
    if path == realpath or any(name in one.programs for one in managers()):
        return (path,)
    return (path, realpath)


def is_query(arguments: Sequence[str]) -> bool:
    """Return whether arguments only ask a program about itself."""
    return bool(arguments) and _queries().issuperset(arguments)


def runs_code(path: str, arguments: tuple[str, ...]) -> bool:
    """Return whether a rule that allows these arguments also allowed the project's code.

    It then matters little which version of the program runs it.
    """
    if is_query(arguments) or is_vouched_for(path, arguments):
        return False
    known = effects((path, *arguments))
    return known is not None and Effect.RUNS in known


def is_vouched_for(path: str, arguments: tuple[str, ...]) -> bool:
    """Return whether the tables know these arguments to be harmless for this program."""
    return is_known(path) and carrier_problem(path, arguments) is None


def is_imitation(path: str, interpreter: str) -> bool:
    """Return whether a script started by this interpreter cannot be the program of its name."""
    scripts, names = section(table("shims"), "scripts"), names_of(path)
    languages = names_of(interpreter) & scripts.keys()
    return all(names.isdisjoint(words(scripts, one)) for one in languages)


@lru_cache(maxsize=4096)
def loads_more(path: str) -> bool:
    """Return whether a program may obey or load files around it besides its configuration."""
    return not names_of(path).isdisjoint(section(table("shims"), "programs"))


@lru_cache(maxsize=4096)
def loaded_by(path: str, arguments: tuple[str, ...]) -> tuple[Chooser, ...]:
    """Return the files around a program that it obeys or loads for these arguments."""
    known, first = section(table("shims"), "programs"), "".join(arguments[:1])
    found: list[Chooser] = []
    for name in sorted(names_of(path) & known.keys()):
        row = section(known, name)
        only = words(row, "only")
        if first in only if only else not runs_code(path, arguments):
            found += _choosers(row)
    return tuple(found)


def chooses_plainly(reading: str, text: str) -> bool:
    """Return whether a file chooses nothing but a version that its manager installed itself.

    A file that is not understood counts as choosing more.
    """
    try:
        return _READINGS[reading](text)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return False


def _manager(name: str, row: Table) -> Manager:
    return Manager(
        name=name,
        programs=frozenset(words(row, "names")),
        paths=words(row, "paths"),
        marks=tuple(mark.encode() for mark in words(row, "marks")),
        within=tuple(mark.encode() for mark in words(row, "within")),
        choosers=_choosers(row),
    )


def _choosers(row: Table) -> tuple[Chooser, ...]:
    files = section(row, "files")
    unknown = files.keys() - _READINGS.keys()
    if unknown:
        msg = f"policy data: shims.toml reads no file as {', '.join(sorted(unknown))}"
        raise ValueError(msg)
    return tuple(Chooser(path, how) for how in files for path in words(files, how))


@cache
def _queries() -> frozenset[str]:
    return frozenset(words(table("shims"), "queries"))


def _exists(_: str) -> bool:
    return False


def _is_version(text: str) -> bool:
    """Return whether each word names a version in the manager's own folder, and not a path."""
    lines = filter(None, (line.partition("#")[0].strip() for line in text.split("\n")))
    return all(_VERSION.fullmatch(word) for line in lines for word in line.split())


def _are_tools(text: str) -> bool:
    """Return whether each line is a tool and its versions (not asdf's `path:` or `ref:`)."""
    lines = filter(None, (line.partition("#")[0].split() for line in text.split("\n")))
    return all(
        re.fullmatch(r"[A-Za-z0-9_-]+", tool) and all(map(_VERSION.fullmatch, versions))
        for tool, *versions in lines
    )


def _is_toolchain(text: str) -> bool:
    """Return whether an official Rust toolchain is chosen, not a path or a custom name."""
    if "[" not in text:
        return _CHANNEL.fullmatch(text.strip()) is not None
    holder = tomllib.loads(text)
    chosen = holder["toolchain"] if holder.keys() == {"toolchain"} else None
    return (
        isinstance(chosen, dict)
        and chosen.keys() <= _TOOLCHAIN_KEYS
        and _CHANNEL.fullmatch(chosen.get("channel", "stable")) is not None
    )


def _is_package(text: str) -> bool:
    """Return whether a package.json leaves the choice of Node's tools to others."""
    holder = json.loads(text)
    return isinstance(holder, dict) and _CHOOSING_KEYS.isdisjoint(holder)


def _is_npmrc(text: str) -> bool:
    """Return whether an .npmrc sets only what cannot send a query elsewhere."""
    lines = (line.strip() for line in re.split(r"[\r\n]", text))
    return all(map(_is_harmless, (line for line in lines if line and line[0] not in "#;")))


def _is_harmless(line: str) -> bool:
    key, _, value = (one.strip() for one in line.partition("="))
    rows = section(table("shims"), "npmrc")
    if key == "registry":
        return value in words(rows, "registries")
    return key in words(rows, "keys") or _TOKEN.fullmatch(key) is not None


_READINGS: Final[Mapping[str, Callable[[str], bool]]] = {
    "exists": _exists,
    "version": _is_version,
    "tools": _are_tools,
    "rust": _is_toolchain,
    "package": _is_package,
    "npmrc": _is_npmrc,
}
