"""Determine which settings and hooks of a repository one invocation of git obeys (git-config(1)).

``data/git_settings.toml`` says which settings steer nothing, which power a subcommand needs to obey
the others, and which subcommand has it; ``data/neutral.toml`` covers what is switched off.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Final

from core.model.command import PinnedFile, PlannedCommand
from core.planning.git.config import Setting
from core.programs.neutral_environment import Pairs, is_reading, rows_of, takes_effect
from core.programs.profiles.tables import section, table, words
from core.programs.wrappers import names_of

WORKTREE: Final = "core.worktree"
"""Harmless only where it names the folder in which the repository was found."""

HOOKS_PATH: Final = "core.hookspath"
"""Harmless only where no hook that the subcommand runs exists."""

INCLUDES: Final = frozenset(("include.path", "includeif.*.path"))
"""Followed as if each condition held."""

REMOTE_URL: Final = "remote.*.url"
"""Harmless only where it names a host that may be reached."""

_LEADING: Final = INCLUDES | {HOOKS_PATH, WORKTREE, REMOTE_URL}

ALL: Final = frozenset(("*",))
"""The powers of a subcommand that no table lists."""

_OBJECTS: Final = frozenset(("lack",))
_SWITCHES: Final = frozenset(("", "true", "false", "yes", "no", "on", "off", "0", "1"))
_VALUED: Final = frozenset(
    ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env")
)
_IN_A_TEXT: Final = re.compile(
    r"(?<![\w.-])(?:gh|glab|git(?:\s+([a-z][a-z-]*)(?=[\s;&|)]|\Z))?)(?![\w.])"
)
"""A program that reads a repository, with the subcommand that certainly follows."""

_QUOTES: Final = re.compile(r"['\"\\]")
_LFS: Final = "filter.lfs."
_PLACEHOLDER = re.compile(r"%[-+ ]?G|signature")
# Tracking branches are the remote's own; what it says never replaces local branches or tags.
_PLAIN: Final = {
    "remote.*.fetch": re.compile(r"\^?\+?[^:]*|\+?[^:]+:refs/remotes/[^:]*"),
    "branch.*.remote": re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*|\."),
}
_USER = r"(?:[A-Za-z0-9._%+-]+(?::[A-Za-z0-9._%+-]*)?@)?"
_PATH = r"[A-Za-z0-9._~/+-]*"
_URLS = (
    re.compile(rf"(?:https|ssh)://{_USER}([A-Za-z0-9.-]+)(?::[0-9]+)?/{_PATH}", re.ASCII),
    re.compile(rf"(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]{{2,}}):(?!/?/){_PATH}", re.ASCII),
)


@dataclass(frozen=True, slots=True)
class Obedience:
    """What one invocation obeys.

    ``powers`` are those of its subcommand, or ``ALL``. ``covered`` are patterns of settings that
    its environment switches off in the repository itself, ``covered_below`` also in submodules.
    ``operands`` are the words after the subcommand that are not options. ``writes``: it may change
    the repository.
    """

    subcommand: str
    powers: frozenset[str]
    hooks: frozenset[str]
    covered: tuple[str, ...] = ()
    covered_below: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    writes: bool = False

    def may(self, power: str) -> bool:
        """Return whether the subcommand has a power."""
        return self.powers is ALL or power in self.powers

    @property
    def looks(self) -> bool:
        """Return whether the subcommand reads more than objects."""
        return bool(self.powers - _OBJECTS)

    def below(self) -> "Obedience":
        """Return what git obeys in a submodule: it reads its state, or does the same there."""
        return _below(self)

    def covers(self, name: str) -> bool:
        """Return whether a setting, or ``hooks.NAME``, is switched off."""
        lowered = name.lower()
        return any(fnmatchcase(lowered, pattern) for pattern in self.covered)


@lru_cache(maxsize=256)
def _below(obeys: Obedience) -> Obedience:
    state = _by_subcommand("reading")["status"]
    return Obedience(
        obeys.subcommand,
        ALL if obeys.powers is ALL else obeys.powers.union(state),
        obeys.hooks,
        obeys.covered_below,
        obeys.covered_below,
        writes=obeys.writes,
    )


@lru_cache(maxsize=256)
def hooks_of(obeys: Obedience) -> tuple[str, ...]:
    """Return the hooks that an invocation runs and that nothing switches off, sorted."""
    return tuple(sorted(name for name in obeys.hooks if not obeys.covers(f"hooks.{name}")))


def obedience_of(command: PlannedCommand) -> Obedience | None:
    """Return what a command obeys, ``None`` if it reads no repository."""
    file = command.executable
    if file is None or not _program(command.argv[0], file.path):
        return None
    return _obedience(command.argv, file, command.neutral)


@lru_cache(maxsize=256)
def _obedience(argv: tuple[str, ...], file: PinnedFile, neutral: Pairs) -> Obedience:
    program = _program(argv[0], file.path)
    reads = is_reading(argv, file)
    rows = rows_of(argv[0], file.path, file.realpath)
    covered = tuple(row for row in rows if takes_effect(row, neutral))
    subcommand, operands = subcommand_of(argv) if program == "git" else (program, ())
    return Obedience(
        subcommand,
        _powers(subcommand, reads=reads),
        _hooks(subcommand, reads=reads),
        tuple(one for row in covered for one in row.covers),
        tuple(one for row in covered if not row.is_setting for one in row.covers),
        operands,
        writes=not reads,
    )


def obedience_in(text: str) -> Obedience | None:
    """Return what git obeys where a text that nobody reads names it, ``None`` where none does.

    That is anything, unless a subcommand that may write follows each time.
    """
    named = frozenset(one[1] or "" for one in _IN_A_TEXT.finditer(_QUOTES.sub("", text)))
    return _of_any(named) if named else None


@lru_cache(maxsize=256)
def _of_any(subcommands: frozenset[str]) -> Obedience:
    powers = [_powers(one, reads=False) for one in subcommands]
    hooks = (_hooks(one, reads=False) for one in subcommands)
    together = ALL if ALL in powers else frozenset[str]().union(*powers)
    return Obedience("", together, frozenset[str]().union(*hooks), writes=True)


def subcommand_of(argv: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return git's subcommand (``stash list`` in two words) and its operands; ``""`` if unclear."""
    rest = list(argv[1:])
    while rest and rest[0].startswith("-"):
        if rest[0] == "--version":
            return "version", ()
        taken = 2 if rest[0] in _VALUED else 1
        del rest[:taken]
    if not rest:
        return "", ()
    pair = " ".join(rest[:2])
    known = _pairs()
    name = pair if pair in known else rest[0]
    return name, tuple(word for word in rest[name.count(" ") + 1 :] if not word.startswith("-"))


@lru_cache(maxsize=512)
def notable(settings: tuple[Setting, ...], obeys: Obedience) -> tuple[Setting, ...]:
    """Return the settings that steer an invocation, and those that lead to what may."""
    return tuple(one for one in settings if one.form in _LEADING or steers(one, obeys))


def steers(setting: Setting, obeys: Obedience) -> bool:
    """Return whether git may start a program, or read other files or hosts, for a setting."""
    if setting.section == "alias":
        return _is_alias(setting, obeys)
    known = _harmless().get((setting.section, setting.inner is None), frozenset())
    if "*" in known or setting.key in known or setting.section not in _sections():
        return False
    if not _concerns(setting, obeys):
        return False
    return _counts(setting, obeys)


def is_plain_host(value: str, hosts: frozenset[str]) -> bool:
    """Return whether a remote's address is a plain one at one of some hosts."""
    return _plain_host(value) in hosts


@lru_cache(maxsize=1024)
def _plain_host(value: str) -> str | None:
    found = next(filter(None, (url.fullmatch(value) for url in _URLS)), None)
    return None if found is None or ".." in value else found.group(1).lower()


@cache
def public_hosts() -> frozenset[str]:
    """Return the hosts that git may talk to without a question."""
    return frozenset(words(section(table("git_settings"), "git"), "hosts"))


@cache
def takes_remote(subcommand: str) -> bool:
    """Return whether the first operand of a subcommand may be a remote."""
    return subcommand not in words(section(table("git_settings"), "git"), "no_remotes")


def _concerns(setting: Setting, obeys: Obedience) -> bool:
    """Return whether a subcommand has a power that a setting steers, which is not switched off."""
    needed = _needed().get(setting.form) or _needed().get(setting.any_key)
    if needed is None:
        return not obeys.covers(setting.name)
    if not any(map(obeys.may, needed)):
        return False
    return ("lazy" in needed and obeys.may("lazy")) or not obeys.covers(setting.name)


def _counts(setting: Setting, obeys: Obedience) -> bool:
    """Return whether a setting's value makes a difference."""
    form, value = setting.form, setting.value
    if form in _listed("switches"):
        return value.lower() not in _SWITCHES
    if form in _listed("unless_shell"):
        return value.lstrip().startswith("!")
    if form in _PLAIN:
        return _PLAIN[form].fullmatch(value) is None
    if form in {"format.pretty", "pretty.*"}:
        return _PLACEHOLDER.search(value) is not None
    named = setting.name
    if named.startswith(_LFS) and obeys.powers is not ALL and obeys.may("smudge"):
        return True
    return value not in (_values().get(named) or _values().get(form) or ())


def _is_alias(setting: Setting, obeys: Obedience) -> bool:
    """Return whether an alias is what a command runs; it never shadows a builtin."""
    if obeys.powers is not ALL or not obeys.subcommand:
        return obeys.powers is ALL
    name = setting.key if setting.inner is None else setting.inner
    return name.lower() == obeys.subcommand.partition(" ")[0].lower()


@lru_cache(maxsize=4096)
def _program(word: str, path: str) -> str:
    """Return ``git``, a program that runs it, ``git-`` for one of its own, or nothing."""
    names = names_of(word) | names_of(path)
    known = sorted(names & _listed("programs"))
    if known:
        return "git" if "git" in known else known[0]
    return "git-" if any(name.startswith("git-") for name in names) else ""


@lru_cache(maxsize=1024)
def _powers(subcommand: str, *, reads: bool) -> frozenset[str]:
    found = _by_subcommand("reading" if reads else "writing").get(subcommand)
    return ALL if found is None else frozenset(found)


@lru_cache(maxsize=1024)
def _hooks(subcommand: str, *, reads: bool) -> frozenset[str]:
    known = _by_subcommand("hooks")
    name = "reading" if reads and _powers(subcommand, reads=reads) is not ALL else subcommand
    return frozenset(known.get(name, known["*"]))


@cache
def _by_subcommand(name: str) -> dict[str, tuple[str, ...]]:
    holder = section(table("git_settings"), name)
    return {one: words(holder, names) for names in holder for one in names.split("|")}


@cache
def _pairs() -> frozenset[str]:
    known = (*_by_subcommand("reading"), *_by_subcommand("writing"))
    return frozenset(name for name in known if " " in name)


@cache
def _needed() -> dict[str, frozenset[str]]:
    """Return the powers that each form of a setting's name needs."""
    holder = section(table("git_settings"), "steers")
    found: dict[str, frozenset[str]] = {}
    for power in holder:
        for form in words(holder, power):
            found[form] = found.get(form, frozenset()) | {power}
    return found


@cache
def _values() -> dict[str, tuple[str, ...]]:
    holder = section(table("git_settings"), "values")
    return {name: words(holder, name) for name in holder}


@cache
def _sections() -> frozenset[str]:
    return frozenset(words(section(table("git_settings"), "git"), "sections"))


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(words(table("git_settings"), name))


@cache
def _harmless() -> dict[tuple[str, bool], frozenset[str]]:
    """Return the harmless keys by section, of the section itself and of its quoted parts."""
    settings = section(table("git_settings"), "settings")
    return {
        (name, place == "keys"): frozenset(words(section(settings, name), place))
        for name in settings
        for place in ("keys", "inner")
    }
