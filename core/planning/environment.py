"""Build a child's environment from nothing (S3 "Env scrubbing", CVE-2014-6271, CVE-2014-0475)."""

# ruff: noqa: PTH112, PTH117
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import pwd
import re
from collections.abc import Mapping

from core.model.stdio import Environ
from core.programs.neutral_environment import everywhere

RESERVED_PREFIX = "SAYSO_"
"""Names that a request may not set: recovery finds a run by ``SAYSO_RUN``."""

RUN_MARK = "SAYSO_RUN"
"""Set at spawn to the run id, outside the digest: the id is younger than what was approved."""

_LOCALE_NAMES = (
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NUMERIC",
    "LC_TIME",
)
_LOCALE_VALUE = re.compile(r"[A-Za-z0-9_.@:-]{1,64}", re.ASCII)
"""No slash: libc opens a locale by path if its name has one (CVE-2014-0475)."""

_ZONE_VALUE = re.compile(r"(?!.*\.\.)[A-Za-z][A-Za-z0-9_+/,.<>-]{0,63}", re.ASCII)

_UTF8 = "C.UTF-8"

_EXEC_TOOL = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - S3's value: the tool's child gets no home
    "LANG": _UTF8,
    "LC_ALL": _UTF8,
    "TERM": "dumb",
    "SHELL": "/bin/sh",
    "GIT_CONFIG_GLOBAL": "/dev/null",  # anybody could put a .gitconfig into this HOME
}
"""What S3's Exec tool gives every child (S3 §3), besides ``USER`` and what keeps git quiet."""

_NAME = re.compile(r"[^=\0]+")

Account = tuple[str, str]
"""A Unix user's name and home."""


def account_of(user: str) -> Account | None:
    """Return another user's account, ``None`` where none has this name."""
    try:
        found = pwd.getpwnam(user)
    except KeyError:
        return None
    return found.pw_name, found.pw_dir


def base_environment(
    search_path: str, source: Mapping[str, str], account: Account | None = None
) -> dict[str, str]:
    """Return what every child gets: a fixed list of names, only harmless values kept.

    ``source`` (usually the gateway's own environment) supplies home, locale, zone and TMPDIR;
    everything else in it, secrets included, is left out. Another ``account`` supplies name and
    home, and has no TMPDIR, because the gateway's may be closed to it.
    """
    user, home = account or _account(source)
    base = {
        "PATH": search_path,
        "HOME": home,
        "USER": user,
        "LOGNAME": user,
        "SHELL": "/bin/sh",
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        **dict(everywhere()),  # a request may set no name that begins with GIT_
    }
    base.update(_matching(source, _LOCALE_NAMES, _LOCALE_VALUE))
    base.update(_matching(source, ("TZ",), _ZONE_VALUE))
    temporary = "" if account else source.get("TMPDIR", "")
    if os.path.isabs(temporary) and os.path.isdir(temporary):
        base["TMPDIR"] = temporary
    return {name: value for name, value in base.items() if _utf8(value)}


class Tables:
    """The fixed tables, made once; ``source`` and ``account`` as for ``base_environment``."""

    def __init__(
        self, search_path: str, source: Mapping[str, str], account: Account | None = None
    ) -> None:
        standard = base_environment(search_path, source, account)
        user, home = account or _account(source)
        remote = {"PATH": search_path, "HOME": home, "LANG": _UTF8, "LC_ALL": _UTF8}
        self.home = standard.get("HOME", "")
        self._pairs = {
            Environ.STANDARD: _pairs(standard),
            # Beyond S3: `git status` counts as harmless because of it.
            Environ.EXEC_TOOL: _pairs({**_EXEC_TOOL, **dict(everywhere()), "USER": user}),
            Environ.REMOTE: _pairs({name: text for name, text in remote.items() if _utf8(text)}),
        }

    def environment(
        self, which: Environ, changes: tuple[tuple[str, str], ...]
    ) -> tuple[tuple[str, str], ...]:
        """Return a child's whole environment, sorted: a table with the requested changes."""
        pairs = self._pairs[which]
        return _pairs({**dict(pairs), **dict(changes)}) if changes else pairs


def _pairs(table: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(table.items()))


def environment_fault(changes: tuple[tuple[str, str], ...]) -> str | None:
    """Return why requested changes cannot be part of an environment, or ``None``."""
    seen: set[str] = set()
    for name, value in changes:
        if not _NAME.fullmatch(name):
            return "an environment name is empty or contains `=` or NUL"
        if name.startswith(RESERVED_PREFIX):
            return f"the environment name `{name}` is reserved for Sayso"
        if "\0" in value:
            return f"the value of the environment name `{name}` contains NUL"
        if name in seen:
            return f"the environment name `{name}` is set twice"
        seen.add(name)
    return None


def _matching(
    source: Mapping[str, str], names: tuple[str, ...], value: re.Pattern[str]
) -> dict[str, str]:
    return {name: source[name] for name in names if value.fullmatch(source.get(name, ""))}


def _utf8(value: str) -> bool:
    """Return whether a value can be stored and shown: an environment's may be any bytes."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _account(source: Mapping[str, str]) -> tuple[str, str]:
    """Return the user's name and home; a uid without an account has ``uid-N`` and ``/``."""
    uid = os.getuid()
    try:
        account = pwd.getpwuid(uid)
        user, home = account.pw_name, account.pw_dir
    except KeyError:
        user, home = f"uid-{uid}", "/"
    given = source.get("HOME", "")
    return user, given if os.path.isabs(given) else home
