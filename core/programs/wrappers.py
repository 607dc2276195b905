"""Recognise programs that start other programs: shells, multiplexers, wrappers, builtins.

A program is known by the last part of the invoked path *and* of the real path, so that a link to
``/bin/sh`` is a shell under any name. Version digits, suffixes and toolchain prefixes are stripped
(``python3.11``, ``vim.basic``, ``x86_64-linux-gnu-gcc-12``): what may be a wrapper counts as one.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from core.programs.profiles.tables import table, words

_VERSION = re.compile(r"[-._]?[0-9][0-9.]*$")
_TRIPLET = re.compile(
    r"^(?:[a-z0-9_]+-(?:[a-z0-9]+-)*(?:gnu|musl|darwin|mingw32|eabi|elf|wasi|(?:linux-)?android)[a-z0-9]*"
    r"|avr|msp430)-"
)


@lru_cache(maxsize=65_536)
def names_of(path: str) -> frozenset[str]:
    """Return every name by which a path or word may be known in the tables."""
    name = path.rpartition("/")[2].lower()
    return frozenset(_peel(name) - {""})


def _peel(name: str) -> set[str]:
    found = {name, name.removesuffix(".exe"), _TRIPLET.sub("", name)}
    found |= {_VERSION.sub("", one) for one in found}
    found |= {one.partition(".")[0] for one in found if not one.startswith(".")}
    found |= {_VERSION.sub("", one) for one in found}
    # GNU programs are installed with a leading g on macOS and BSD: gtimeout, gfind, gsed.
    found |= {one[1:] for one in found if one.startswith("g")}
    return found


@cache
def _kinds() -> dict[str, str]:
    known = table("wrappers")
    kinds = dict.fromkeys(words(known, "builtins"), "a word that a shell obeys itself")
    kinds |= dict.fromkeys(words(known, "dispatch"), "a wrapper that starts another program")
    kinds |= dict.fromkeys(words(known, "privilege"), "a wrapper that changes privilege or root")
    kinds |= dict.fromkeys(words(known, "multiplexers"), "many programs in one")
    kinds |= dict.fromkeys(words(known, "shells"), "a shell")
    return kinds


@cache
def _bare_only() -> frozenset[str]:
    return frozenset(words(table("wrappers"), "bare_only"))


@cache
def _shells() -> frozenset[str]:
    return frozenset(words(table("wrappers"), "shells"))


@cache
def _builtins() -> frozenset[str]:
    return frozenset(words(table("wrappers"), "builtins"))


def is_builtin(name: str) -> bool:
    """Return whether a word is a shell builtin."""
    return name in _builtins()


def wrapper_kind(names: Iterable[str], argument_count: int) -> str | None:
    """Return what kind of wrapper a program is, in words; ``None`` for an ordinary program."""
    kinds = _kinds()
    for name in names:
        if name in kinds:
            return f"{name} is {kinds[name]}"
        if argument_count and name in _bare_only():
            return f"{name} with arguments may start another program"
    return None


def is_shell(names: Iterable[str]) -> bool:
    """Return whether a program is a shell, which no ACL entry may start (S4)."""
    return not _shells().isdisjoint(names)
