"""Name the files that an interpreter tries for a word, in the order in which it tries them.

If a path that is tried before the file that is found does not exist, it must not appear: it would
run instead.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from core.files.lookup import is_file, is_folder
from core.planning.code.files.packages import PACKAGE, mains
from core.planning.code.words.interpreters import interpreter_of
from core.planning.code.words.parts import held

_FOLDER: Final = ("/__main__.py", "/__main__.pyc")
_NODE: Final = ("", ".js", ".node", f"/{PACKAGE}", "/index.js", "/index.node")
_LOADERS: Final = (
    *("", ".tsx", ".jsx", ".mts", ".ts", ".mjs", ".js", ".cjs", ".cts", ".node"),
    *(f"/{PACKAGE}", "/index.tsx", "/index.ts", "/index.mjs", "/index.js", "/index.node"),
)
WITHIN: Final = tuple(dict.fromkeys((*_NODE, *_LOADERS, *_FOLDER)))
"""What interpreters add to a word that names a folder, or a module without its suffix."""


_OF_MAKE: Final = (
    *("%.sh", "%.o", "%.c", "%.cc", "%.C", "%.cpp", "%.p", "%.f", "%.F", "%.m", "%.r", "%.s"),
    *("%.S", "%.mod", "%,v", "RCS/%,v", "RCS/%", "s.%", "SCCS/s.%"),
)
"""From what make's implicit rules build a file, even a makefile (`make -p -f /dev/null`)."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """How the interpreters called ``names`` find a file: which ``endings`` they add, in order.

    ``lexical``: `..` removes the part before it, even if that is a link. ``any_order``: it is not
    known which of several existing files is taken. ``sources`` are the names (``%`` is the file's
    own) from which the program rebuilds the file before it continues.
    """

    names: re.Pattern[str]
    endings: tuple[str, ...]
    lexical: bool = False
    any_order: bool = False
    sources: tuple[str, ...] = ()


_LOADS_MORE: Final = re.compile(
    r"bun|deno|tsx|ts-node(?:-[a-z]+)*|nodemon|node-dev|tsnd|vite-node|esno|jiti|zx|babel-node|swc-node"
    r"|sucrase-node|mocha|jest|eslint|vite|webpack|rollup"
)
NODE: Final = Lookup(re.compile(r"node|nodejs"), _NODE, lexical=True)
PLAIN: Final = Lookup(re.compile(r"(?!)"), ("",))
MAKE: Final = Lookup(re.compile(r"[bg]?make"), ("",), sources=_OF_MAKE)
_KNOWN: Final = (
    NODE,
    Lookup(_LOADS_MORE, _LOADERS, lexical=True, any_order=True),
    Lookup(re.compile(r"(?:python|pypy)[0-9.]*[a-z]?"), ("", *_FOLDER)),
    Lookup(
        re.compile(r"ruby[0-9.]*|rake|rspec|irb|pry|rubocop|rackup|sidekiq|puma|cucumber"),
        ("", ".rb", ".so"),
    ),
    Lookup(re.compile(r"lua(?:jit)?[0-9.]*"), ("", ".lua", "/init.lua", ".so")),
    Lookup(re.compile(r"gawk"), ("", ".awk")),
    MAKE,
)
_REQUIRES: Final = re.compile(r"(-r|--require|--import|--loader|--experimental-loader)(?:=(.*))?")
_PATH: Final = re.compile(r"\.{0,2}/")
_ADDRESS: Final = re.compile(r"[?#].*", re.DOTALL)


@dataclass(slots=True)
class Looked:
    """The files that exist for a path, and the missing ones that would be taken ``ahead`` of them.

    A path that ends in ``/`` is a folder.
    """

    files: list[str] = field(default_factory=list)
    ahead: list[str] = field(default_factory=list)


def lookups(argv: Sequence[str], realpath: str) -> tuple[Lookup, ...]:
    """Return how the interpreters that a command names look for their files."""
    own = interpreter_of(argv[0]) or interpreter_of(realpath)
    named = {os.path.basename(word) for word in ((argv[0], realpath) if own else argv)}  # noqa: PTH119 - pathlib is ten times slower here
    return tuple(one for one in _KNOWN if any(map(one.names.fullmatch, named)))


def look(path: str, lookup: Lookup) -> Looked:
    """Return the files that exist for a path, and the missing ones that would be taken first."""
    found, missing, first = Looked(), list[str](), -1
    for one in _tried(path, lookup.endings):
        if is_file(one):
            found.files.append(one)
            if first < 0 and not one.endswith(f"/{PACKAGE}"):
                first = len(missing)
        else:
            missing.append(f"{one}/" if is_folder(one) else one)
    whole = first < 0 or (lookup.any_order and path not in found.files)
    found.ahead = missing if whole else missing[:first]
    for one in _sources(path, lookup):
        (found.files if is_file(one) else found.ahead).append(one)
    return found


def _sources(path: str, lookup: Lookup) -> Iterator[str]:
    folder, _, name = path.rpartition("/")
    yield from (f"{folder}/{one.replace('%', name)}" for one in lookup.sources)


def _tried(path: str, endings: Sequence[str]) -> Iterator[str]:
    for ending in endings:
        yield path + ending
        if ending == f"/{PACKAGE}":
            yield from mains(path + ending)


def readings(path: str, cwd: str, lookup: Lookup) -> tuple[str, ...]:
    """Return the paths that a word may mean, the likeliest first: without its `..`, as written.

    A URL (`./x.js?1`, `./%78.js`) is also read as the path that it encodes.
    """
    if not lookup.lexical:
        return (os.path.join(cwd, path),)  # noqa: PTH118 - as above
    named = dict.fromkeys((path, unquote(_ADDRESS.sub("", path))))
    written = [os.path.join(cwd, one) for one in named if one and "\0" not in one]  # noqa: PTH118 - as above
    return tuple(dict.fromkeys((*map(os.path.normpath, written), *written)))


def required(argv: Sequence[str]) -> frozenset[str]:
    """Return the paths of code that options of node require, for which a file must exist."""
    found = []
    for word, following in pairwise((*argv, "")):
        option = _REQUIRES.fullmatch(word)
        if option is not None:
            found.append(following if option[2] is None else option[2])
        elif word.startswith("-r"):
            found += held(word)
    return frozenset(one for one in found if _PATH.match(one))
