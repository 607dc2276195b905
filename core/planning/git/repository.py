"""Find what a repository's own configuration would make git start beyond the line (git-config(1)).

Git obeys the configuration of the repository around its working directory, and, for each submodule
that it reads, the submodule's. Whoever may write there can name filters, text conversions and other
programs, which the line does not show.
"""

# ruff: noqa: PTH118, PTH120
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice, pairwise, product
from typing import Final

from core.files.lookup import is_there
from core.model.command import PlannedCommand
from core.planning.git.config import Setting, UnreadableConfig, read_settings
from core.planning.git.discovery import (
    LARGEST,
    OddLink,
    Repository,
    first_bytes,
    folders_of,
    mode_of,
    repositories_around,
    repositories_within,
)
from core.planning.git.folder_listing import Listing, links_away, listing_of
from core.planning.git.obedience import (
    HOOKS_PATH,
    INCLUDES,
    REMOTE_URL,
    WORKTREE,
    Obedience,
    hooks_of,
    is_plain_host,
    notable,
    obedience_of,
    public_hosts,
    steers,
    takes_remote,
)
from core.planning.git.received import received_by
from core.planning.git.started import Started, commands_in
from core.planning.paths.contents import contents_of, digest_of
from core.planning.paths.symlinks import is_link_elsewhere, leads_elsewhere

_MOST: Final = 64
"""Repositories that one command may look into: its own, those around it, the submodules."""

_DEEPEST: Final = 10
"""Files that include one another (git's own limit)."""

_MOST_READ: Final = 2 * LARGEST
"""Bytes of all configurations that one command obeys."""

_MOST_INCLUDED: Final = 64
"""Files that configurations include, one through another; each counts as often as it is named."""

_MOST_ENTERED: Final = 32
"""Folders in which one command may run git."""

_TEMPLATES: Final = frozenset(("--template", "init.templatedir"))

_MOST_NAMED: Final = 8
_MOST_FOUND: Final = 4_096
"""Clauses about one folder; its author chooses which come first, so nobody writes as many."""

_LONGEST_VALUE: Final = 200

_PLAIN_PATH = re.compile(r"(?:~/)?[A-Za-z0-9/._@+,=-]+(?: [A-Za-z0-9/._@+,=-]+)*", re.ASCII)
_REMOTE = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_CONFIGS: Final = ("config", "config.worktree")
_LEGACY_REMOTES: Final = ("remotes", "branches")
_USERS_HOST: Final = "sayso.host"
_NONE_KNOWN: Final[Mapping[str, Listing]] = {}


@dataclass(slots=True)
class _Look:
    """A look at what one command obeys; ``left`` are the bytes of configurations still to read.

    ``hooks`` are folders that may be used as the one of the hooks.
    """

    cwd: str
    hooks: tuple[str, ...] = ()
    left: int = _MOST_READ
    started: Started = field(default_factory=Started)

    def spend(self, size: int, path: str) -> None:
        """Count what is read: two files that include each other twice count as a thousand.

        Raises:
            OddLink: it is more than is read for one command.
        """
        self.left -= size
        if self.left < 0:
            raise OddLink(f"with `{path}` there are more git configurations than are read")


def steering(command: PlannedCommand, cwd: str) -> str:
    """Return what steers a command beyond its vector, as clauses; ``""`` if nothing does."""
    obeys = obedience_of(command)
    if obeys is None:
        return ""
    return steering_in(_folders(command.argv, cwd), obeys, _hooks_paths(command.argv))


def steering_in(folders: Iterable[str], obeys: Obedience, hooks: Iterable[str] = ()) -> str:
    """Return what in folders steers an invocation of git that may run there.

    ``hooks`` may be used as folders of hooks, besides those that the settings name.
    """
    found: list[str] = []
    look = _Look("", tuple(hooks))
    for count, look.cwd in enumerate(folders):
        if count > _MOST_ENTERED:
            found.append(f"it names more than {_MOST_ENTERED} folders")
            break
        found += islice(_around_and_within(look, obeys), _MOST_FOUND)
    named = list(dict.fromkeys(found))
    return "; ".join((*named[:_MOST_NAMED], *_further(named[_MOST_NAMED:])))


def _further(clauses: list[str]) -> Iterator[str]:
    """Yield a clause for those that nobody would read: how many, and by which digest they are held.

    What is not in the text may change unnoticed, and whoever writes the settings chooses how many
    come first.
    """
    if clauses:
        digest = _digest("; ".join(clauses))
        yield f"and {len(clauses)} more (SHA-256 {digest})"


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def obeyed_folders(cwd: str) -> tuple[str, ...]:
    """Return the folders and files that git would obey in a folder, by their real paths."""
    found: list[str] = []
    try:
        for one in repositories_around(cwd):
            for place in folders_of(one):
                found.append(place)
                found += _named_elsewhere(place + "/config", one)
    except OddLink:
        pass  # asked about in any case
    return tuple(map(os.path.realpath, found))


def _named_elsewhere(config: str, repository: Repository) -> Iterator[str]:
    """Yield the files that a configuration includes and the folder that it keeps its hooks in."""
    for file, one in _settings(config, None, _Look(config)):
        yield file
        if isinstance(one, Setting) and one.name == HOOKS_PATH:
            yield os.path.join(repository.tree, os.path.expanduser(one.value))  # noqa: PTH111


def _hooks_paths(argv: tuple[str, ...]) -> Iterator[str]:
    """Yield the folders that words make those of the hooks, now or for later commands."""
    for word, following in pairwise((*argv[1:], "")):
        option, _, value = word.removeprefix("--config=").partition("=")
        set_here = value or following
        if not set_here or "\0" in set_here:
            continue
        if option.lower() == HOOKS_PATH:
            yield set_here
        elif option.lower() in _TEMPLATES:
            yield set_here + "/hooks"


def _roots(repository: Repository, look: _Look) -> tuple[str, ...]:
    """Return the folders from which the paths of settings may start."""
    return (repository.tree or repository.folder, repository.folder, look.cwd)


def _folders(argv: tuple[str, ...], cwd: str) -> Iterator[str]:
    """Yield where a command may run; an entry or a rule can let ``-C`` and ``--git-dir`` pass."""
    yield cwd
    folder = cwd
    for option, following in pairwise((*argv[1:], "")):
        name, _, joined = option.partition("=")
        if name == "-C":
            folder = os.path.realpath(os.path.join(folder, following))
            yield folder
        elif name == "--git-dir":
            yield os.path.realpath(os.path.join(folder, joined or following))


def _around_and_within(look: _Look, obeys: Obedience) -> Iterator[str]:
    """Yield a clause for each finding around a folder and in submodules."""
    below, cwd = obeys.below(), look.cwd
    try:
        waiting = [(one, obeys) for one in repositories_around(cwd)]
        waiting[1:] = [(one, replace(obeys, operands=())) for one, _ in waiting[1:]]
        seen: set[str] = set()
        while waiting:
            repository, obedience = waiting.pop(0)
            if repository.folder in seen:
                continue
            seen.add(repository.folder)
            if len(seen) > _MOST:
                yield f"more than {_MOST} repositories are around and within `{cwd}`"
                return
            yield from _steered_by(repository, obedience, look)
            if obeys.may("enter"):
                waiting += [(one, below) for one in repositories_within(repository, below)]
    except OddLink as odd:
        yield str(odd)


def _steered_by(repository: Repository, obeys: Obedience, look: _Look) -> Iterator[str]:
    """Yield what in a repository makes git start something, or keeps that from being known."""
    places = folders_of(repository)
    remotes: set[str] = set()
    yield from _by_settings(places, repository, obeys, look, remotes)
    known = {} if repository.listing is None else {repository.folder: repository.listing}
    for place in places:
        away = tuple(links_away(place, known)) if obeys.writes else ()
        folder = place + "/hooks"
        own = place == repository.folder
        linked = not own or repository.may_link()
        elsewhere = linked and is_link_elsewhere(folder)
        yield from _hooks(folder, obeys, elsewhere=elsewhere, known=known)
        yield from away
    for value in look.hooks:
        yield from _hooks_within(value, obeys, _roots(repository, look))
    if obeys.may("reach"):
        yield from _legacy(places, repository, known)
        yield from _unknown_remote(obeys, remotes, repository.folder)
        yield from received_by(obeys, _roots(repository, look))


def _by_settings(
    places: list[str], repository: Repository, obeys: Obedience, look: _Look, remotes: set[str]
) -> Iterator[str]:
    """Yield a clause for each setting that matters; the names of remotes go to ``remotes``."""
    roots = _roots(repository, look)
    for path in (f"{place}/{name}" for place, name in product(places, _CONFIGS)):
        if len(places) == 1 and not repository.may_hold(path.rpartition("/")[2]):
            continue
        for file, one in _settings(path, obeys, look):
            if isinstance(one, str):
                yield one
                continue
            if one.section == "remote" and one.inner and one.key == "url":
                remotes.add(one.inner)
            if _matters(one, obeys, repository):
                yield _worded(file, one) + look.started.by(commands_in(one), roots)
            elif one.key == "hookspath" and one.name == HOOKS_PATH and not obeys.covers(HOOKS_PATH):
                yield from _hooks_at(file, one, obeys, roots)


def _settings(
    path: str, obeys: Obedience | None, look: _Look, depth: int = 0
) -> Iterator[tuple[str, Setting | str]]:
    """Yield each setting with its file, those of included files too, or a clause instead.

    Where an invocation is given, only the settings that are notable for it.

    Raises:
        OddLink: it is more than is read.
    """
    look.spend(_MOST_READ // _MOST_INCLUDED if depth else 0, path)
    content = None if depth else first_bytes(path, os.O_NOFOLLOW)
    if content is None:  # a link, nothing, or what is not read
        mode = mode_of(path)
        if (depth or (mode is not None and stat.S_ISLNK(mode))) and leads_elsewhere(path):
            yield path, f"`{path}` leads each process to a file of its own"
            return
        if mode is None:
            return
        content = first_bytes(path)
    look.spend(len(content or b""), path)
    read = _understood(path, content)
    if isinstance(read, str) or depth > _DEEPEST:
        yield path, read if isinstance(read, str) else f"`{path}` is included too deeply"
        return
    for one in read if obeys is None else notable(read, obeys):
        yield path, one
        if one.section.startswith("include") and one.form in INCLUDES:
            at = os.path.join(os.path.dirname(path), os.path.expanduser(one.value))  # noqa: PTH111
            if _PLAIN_PATH.fullmatch(one.value) is None or one.value.startswith("~"):
                yield path, _worded(path, one) + contents_of(at)
            yield from _settings(at, obeys, look, depth + 1)


def _understood(path: str, content: bytes | None) -> tuple[Setting, ...] | str:
    if content is None:
        return f"`{path}` cannot be read"
    if len(content) > LARGEST:
        return f"`{path}` is larger than {LARGEST} bytes"
    settings = read_settings(content.decode(errors="surrogateescape"))
    if isinstance(settings, UnreadableConfig):
        return f"line {settings.line} of `{path}` is not understood"
    return settings


def _matters(setting: Setting, obeys: Obedience, repository: Repository) -> bool:
    """Return whether a setting makes a difference to what a command does beyond its line."""
    form = setting.form
    if form == HOOKS_PATH or form in INCLUDES:
        return False  # checked where they lead
    if form == WORKTREE:
        counts = obeys.looks and not repository.absorbed
        return counts and _leads_away(setting.value, repository)
    if form == REMOTE_URL and obeys.may("reach"):
        at = setting.value
        return not (is_plain_host(at, public_hosts()) or is_plain_host(at, _users_hosts()))
    return steers(setting, obeys)


def _users_hosts() -> frozenset[str]:
    """Return the hosts that the user's own configuration names for Sayso (``sayso.host``)."""
    path = os.path.expanduser("~/.gitconfig")  # noqa: PTH111 - as above
    read = _understood(path, first_bytes(path))
    if isinstance(read, str):
        return frozenset()
    return frozenset(one.value.lower() for one in read if one.name == _USERS_HOST)


def _worded(path: str, setting: Setting) -> str:
    value = setting.value
    if len(value) > _LONGEST_VALUE:
        value = f"{value[:_LONGEST_VALUE]}… (SHA-256 {_digest(value)})"
    found = f"line {setting.line} of `{path}` sets `{setting.name} = {value}`"
    return found.encode(errors="replace").decode()


def _hooks_at(
    path: str, setting: Setting, obeys: Obedience, roots: tuple[str, ...]
) -> Iterator[str]:
    """Yield the hooks in the folder that ``core.hooksPath`` names; report what cannot be read."""
    value = setting.value
    if _PLAIN_PATH.fullmatch(value) is None and obeys.hooks:
        yield _worded(path, setting)
    yield from _hooks_within(value, obeys, roots)


def _hooks_within(value: str, obeys: Obedience, roots: tuple[str, ...]) -> Iterator[str]:
    places = {os.path.expanduser(value), value}  # noqa: PTH111 - as above
    for folder in sorted({os.path.join(root, place) for root in roots for place in places}):
        yield from _hooks(folder, obeys, elsewhere=leads_elsewhere(folder))


def _hooks(
    folder: str, obeys: Obedience, *, elsewhere: bool, known: Mapping[str, Listing] = _NONE_KNOWN
) -> Iterator[str]:
    """Yield the hooks of a folder that a command would run; ``elsewhere``: each its own folder."""
    wanted = hooks_of(obeys)
    if not wanted:
        return
    if elsewhere:
        yield f"the hooks in `{folder}` differ for each process"
        return
    listing = known.get(folder) or listing_of(folder)
    # Without a listing the folder can be entered but not read, or it does not exist.
    held = (name for name in wanted if listing is None or listing.may_hold(name))
    found = [name for name in held if is_there(f"{folder}/{name}")]
    if len(found) == 1:
        yield f"it runs the hook `{folder}/{found[0]}`{contents_of(f'{folder}/{found[0]}')}"
    elif found:
        digest = digest_of(f"{folder}/{name}" for name in found)
        yield f"it runs the hooks {', '.join(found)} in `{folder}` (SHA-256 {digest} of all)"


def _legacy(
    places: list[str], repository: Repository, known: Mapping[str, Listing]
) -> Iterator[str]:
    """Yield folders in which each file is a remote's address (gitrepository-layout(5))."""
    alone = len(places) == 1
    for place, name in product(places, _LEGACY_REMOTES):
        folder = f"{place}/{name}"
        if alone and not repository.may_hold(name):
            continue
        listing = known.get(folder) or listing_of(folder)
        if listing.names if listing is not None else is_there(folder):
            yield f"`{folder}` holds addresses of other repositories"


def _unknown_remote(obeys: Obedience, remotes: set[str], folder: str) -> Iterator[str]:
    """Yield a remote that has no address: git takes its name for a path."""
    for named in obeys.operands[: takes_remote(obeys.subcommand)]:
        if _REMOTE.fullmatch(named) and named not in remotes:
            yield f"`{named}` is not a remote of `{folder}`"


def _leads_away(worktree: str, repository: Repository) -> bool:
    """Return whether files are read elsewhere than where the repository was found."""
    named = os.path.join(repository.folder, worktree)
    return leads_elsewhere(named) or os.path.realpath(named) != os.path.realpath(repository.tree)
