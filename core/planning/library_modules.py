"""Name the files of modules that perl and ruby load: `perl -Ilib -MTool`, `ruby -e 'require "x"'`.

They are looked for in the folders that the options or the code name, in that order.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

_MOST_NAMED: Final = 32
_FLAGS: Final = (
    r"-(?:[acfgnpstuvwSTUWX]|l[0-7]*+|0(?:[xX][0-9A-Fa-f]++|[0-7]*+)|C[0-9IOEioADSLa]*+)*"
)
"""Options of perl, in one word, before another (perlrun(1)); ruby's are among them."""

_FOLDER: Final = re.compile(rf"{_FLAGS}I(.*)", re.DOTALL)
_OF_PERL: Final = re.compile(rf"{_FLAGS}[mM]-?([A-Za-z_][\w:']*)(.*)", re.DOTALL)
_OF_DEBUGGER: Final = re.compile(r"-[A-Za-z]*dt?:([A-Za-z_][\w:']*).*", re.DOTALL)
_PARTS: Final = re.compile(r"::|'")
_LISTED: Final = re.compile(r"[\s=,'\"():;]+")
_REQUIRES: Final = re.compile(r"(?:-(?:[A-Zac-qs-z0-9:]*r)|--require=?)(.*)", re.DOTALL)
_USED: Final = re.compile(r"\b(?:use|require|no)\s+([A-Za-z_]\w*+(?:(?:::|')\w++)*)([^;]*+)")
_REQUIRED: Final = re.compile(
    r"\b(require_relative|require|load|autoload)\b[\s(]*+(?::\w+\s*,\s*)?['\"]([^'\"\n]+)['\"]"
)
_SEARCHED: Final = {
    "perl": re.compile(r"@INC\b([^;\n]*+)"),
    "ruby": re.compile(r"\$(?::|-I|LOAD_PATH\b)([^;\n]*+)"),
}
_LITERAL: Final = re.compile(r"['\"]([^'\"\n]+)['\"]")

MODULES: Final = {"perl": (".pmc", ".pm"), "ruby": (".rb", ".so")}
"""The endings of a module's files, in the order in which they are tried."""


def modules_of(language: str, words: Sequence[str], texts: Sequence[str] = ()) -> Iterator[str]:
    """Yield the files that may be loaded for the modules that options or texts name, in order."""
    folders, names = _named(language, words)
    for text in texts:
        folders += (
            one for found in _SEARCHED[language].findall(text) for one in _LITERAL.findall(found)
        )
        if language == "ruby":
            names += (found[2].removesuffix(".rb") for found in _REQUIRED.finditer(text))
        else:
            for found in _USED.finditer(text):
                _add_module(found[1], found[2], folders, names)
    for name in dict.fromkeys(islice(names, _MOST_NAMED)):
        within = ("",) if name[0] == "/" else ("", *folders)
        for folder in islice(dict.fromkeys(within), _MOST_NAMED):
            place = f"{folder}/{name}" if folder else name
            yield from (place + ending for ending in MODULES[language])


def _named(language: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the folders that are searched, and the paths of the modules within them."""
    folders: list[str] = []
    names: list[str] = []
    for word, following in pairwise((*words, "")):
        found = _FOLDER.fullmatch(word)
        if found is not None:
            folders += (found[1] or following).split(":")
        elif language == "ruby":
            required = _REQUIRES.fullmatch(word)
            names += [required[1] or following] if required else []
        else:
            _add_perl(word, folders, names)
    return folders, [one for one in names if one and not one.startswith("/")]


def _add_perl(word: str, folders: list[str], names: list[str]) -> None:
    found = _OF_DEBUGGER.fullmatch(word)
    if found is not None:
        names.append("Devel/" + _PARTS.sub("/", found[1]))
        return
    found = _OF_PERL.fullmatch(word)
    if found is not None:
        _add_module(found[1], found[2], folders, names)


def _add_module(module: str, given: str, folders: list[str], names: list[str]) -> None:
    """Add a module of perl, or the folders that `use lib` is given."""
    if module in {"lib", "blib"}:
        folders += (one for one in _LISTED.split(given) if one not in {"", "qw"})
        folders += ["blib/lib"] * (module == "blib")
    else:
        names.append(_PARTS.sub("/", module))
