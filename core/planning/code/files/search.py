"""Search folders for the code of a command, as the interpreters that it names would."""

# ruff: noqa: PTH118, PTH119
# pathlib is ten times slower here.

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

from core.files.lookup import is_file, is_folder, is_there
from core.planning.code.files.caches import caches_of
from core.planning.code.files.lookup import (
    MAKE,
    NODE,
    PLAIN,
    WITHIN,
    Lookup,
    look,
    lookups,
    readings,
    required,
)
from core.planning.code.words.parts import CodeWord, resolved
from core.planning.library_modules import MODULES
from core.planning.paths.pins import real_parent
from core.planning.python_modules import MODULE_ENDS, at_start, builds_of, tags_of

_UNPLAIN: Final = re.compile(r"/\.\./|/\Z|[%?#]")
_PACKAGE: Final = "/__init__.py"
_OF_LIBRARIES: Final = tuple(one for ends in MODULES.values() for one in ends if one != ".so")
_MAINS: Final = ("/__main__.py", "/__main__.pyc")
_FILES: Final = (".js", ".mjs", ".cjs", ".ts", ".node")
_IN_FOLDERS: Final = tuple(one for one in WITHIN if one[:1] == "/")


def stays_absent(word: CodeWord) -> bool:
    """Return whether a file that a word names is among those of ``Search.beside`` if missing."""
    return word.whole and word.path.endswith(MODULE_ENDS)


class Search:
    """The files that a command's words lead to, and the paths at which no file may appear.

    Each word is looked for in all ``folders``, in the way of each interpreter that ``argv`` names.
    """

    def __init__(self, argv: Sequence[str], realpath: str, folders: Sequence[str]) -> None:
        self.files: dict[str, None] = {}
        self.absent: dict[str, None] = {}
        self._ahead: dict[str, None] = {}
        self._modules: list[str] = []
        self._folders = folders
        self._argv = argv
        self._lookups = lookups(argv, realpath) or (PLAIN,)
        self._required = required(argv) if any(one.lexical for one in self._lookups) else ()
        self._tags = tags_of(realpath, *argv)
        self._gone: set[str] = set()
        self._real: dict[str, str] = {}
        self._started: set[str] = set()
        self._libraries: dict[str, list[str]] = {}

    def add(self, word: CodeWord) -> None:
        """Look for the files that a word names."""
        path = resolved(word.path)
        if word.whole and path.endswith(_OF_LIBRARIES):
            self._add_library(path)
            return
        if word.whole:
            for folder in self._folders:
                if path.endswith(_MAINS):  # one that runs; for one that is imported, Python has run
                    self._add_start(folder)
                for one in builds_of(path, self._tags):
                    self._add_module(os.path.join(folder, one))
            return
        if not path:
            return
        looked = [
            (folder, self._add_path(path, folder, lookup))
            for lookup in self._lookups
            for folder in self._folders
        ]
        if word.sure or word.path in self._required:
            self._note_missing(looked)

    def beside(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the paths that would be taken before the files, and the files' Python caches."""
        kept = [real_parent(one) for one in self._modules]
        for paths in self._libraries.values():
            # If none of them exists, the module is in one of the system's folders.
            if not self.files.keys().isdisjoint(paths):
                self._ahead |= dict.fromkeys(_missing(paths))
        return tuple(self._ahead), tuple(caches_of(kept, self._tags, self._argv, self._folders[0]))

    def _note_missing(self, looked: Sequence[tuple[str, list[str]]]) -> None:
        """Note the missing paths of a word for the folders in which it names no file."""
        found = {folder for folder, missing in looked if not missing}
        if not found:
            first = (missing for folder, missing in looked if folder == self._folders[0])
            self._note_absent([*chain.from_iterable(first)])
            return
        # A program may be in either folder, if it changes to one at all.
        other = (missing for folder, missing in looked if folder not in found)
        for path in chain.from_iterable(other):
            self._ahead[self._real_parent(path, path.rpartition("/")[0])] = None

    def _note_absent(self, missing: Sequence[str]) -> None:
        """Note the missing paths of a word that names no file: one that appears there would run."""
        new = [one for one in missing if not is_there(one)]
        first = 1 if new[:1] == list(missing[:1]) else len(new)
        self.absent |= dict.fromkeys(new[:first])
        above = [one.rpartition("/")[0] for one in new[first:]]
        self._ahead |= dict.fromkeys(map(self._real_parent, new[first:], above))

    def _add_path(self, path: str, folder: str, lookup: Lookup) -> list[str]:
        """Look in one folder; return the missing paths if the first reading finds no file."""
        first = list[str]()
        for place, one in enumerate(readings(path, folder, lookup)):
            seen = look(one, lookup)
            self.files |= dict.fromkeys(seen.files)
            for file in seen.files:
                if file.endswith(_MAINS):
                    self._modules.append(file)
                    self._add_start(file.rpartition("/")[0])
            if seen.files:
                self._ahead |= dict.fromkeys(_missing(seen.ahead))
            elif place == 0:
                first = seen.ahead
        return first

    def _add_module(self, path: str) -> None:
        above = path.rpartition("/")[0]
        if above not in self._gone and not is_folder(above):
            self._gone.add(above)
        if above not in self._gone and is_file(path):
            self.files[path] = None
            self._modules.append(path)
        elif path.endswith(MODULE_ENDS):
            self._ahead[self._real_parent(path, above)] = None

    def _add_library(self, path: str) -> None:
        """Look for a file of a library module, which is loaded from the first path that exists."""
        for folder in self._folders:
            at = os.path.join(folder, path)
            self._libraries.setdefault(os.path.basename(path).partition(".")[0], []).append(at)
            if is_file(at):
                self.files[at] = None

    def _add_start(self, folder: str) -> None:
        """Look for the modules that Python imports first when it runs a module of a folder."""
        if folder not in self._started:
            self._started.add(folder)
            for one in at_start(folder, self._tags):
                self._add_module(one)

    def _real_parent(self, path: str, above: str) -> str:
        # A module has twenty names in a folder, and each of its packages is one more folder.
        if above not in self._real:
            self._real[above] = os.path.realpath(above)
        return os.path.join(self._real[above], path[len(above) + 1 :])


class Guesses:
    """The same for words if it is not known which program reads them."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self._ahead: dict[str, None] = {}
        self._modules: set[str] = set()
        self._folders: dict[str, bool] = {}

    def add(self, path: str) -> None:
        """Look for the files that a path names, in each way in which it may be read."""
        for one in readings(path, "/", NODE) if _UNPLAIN.search(path) else (path,):
            self._add(one)

    def add_made(self, path: str) -> None:
        """Look for the files from which make would rebuild a makefile."""
        if is_file(path):
            seen = look(path, MAKE)
            self.files |= dict.fromkeys(seen.files)
            self._ahead |= dict.fromkeys(_missing(seen.ahead))

    def _add(self, path: str) -> None:
        above, _, name = path.rpartition("/")
        if name.startswith("__init__."):
            self._modules.add(above)
        if not self._is_folder(f"{above}/"):
            return
        if is_file(path):
            self.files[path] = None
        else:
            self._add_within(path)

    def _is_folder(self, path: str) -> bool:
        if path not in self._folders:
            self._folders[path] = is_folder(path)
        return self._folders[path]

    def beside(self, paths: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the paths that would be taken before files, and the files' Python caches."""
        kept = set(paths)
        if not kept:
            return (), ()
        modules = [one for one in kept if self._is_module(one)]
        first = (*self._packages(kept), *self._at_start(kept))
        ahead = dict.fromkeys((*self._ahead, *map(real_parent, first)))
        return tuple(ahead), tuple(caches_of(modules, tags_of(), (), "/"))

    def _add_within(self, path: str) -> None:
        endings = (*_FILES, *_IN_FOLDERS) if is_folder(path) else _FILES
        found = [path + one for one in endings if is_file(path + one)]
        if found:
            seen = look(path, NODE)
            self.files |= dict.fromkeys((*found, *seen.files))
            self._ahead |= dict.fromkeys(_missing(seen.ahead if seen.files else ()))

    def _is_module(self, path: str) -> bool:
        names = (path.removesuffix(".py"), path.removesuffix(_PACKAGE))
        return path.endswith((_PACKAGE, "/__main__.py")) or not self._modules.isdisjoint(names)

    def _packages(self, kept: set[str]) -> Iterator[str]:
        """Yield the missing package files that would be imported instead of a file or before it."""
        for module in self._modules:
            if f"{module}.py" in kept or is_folder(module):
                for one in (f"{module}/__init__{ending}" for ending in (".py", ".pyc", ".so")):
                    if not is_file(one):
                        yield one

    def _at_start(self, kept: set[str]) -> Iterator[str]:
        """Yield the missing files that Python would import first if it ran one of the files."""
        run = (one for one in self._modules if f"{one}.py" in kept or is_folder(one))
        mains = (one.rpartition("/")[0] for one in kept if one.endswith(_MAINS))
        for folder in dict.fromkeys((*(one.rpartition("/")[0] for one in run), *mains)):
            yield from (one for one in at_start(folder) if not is_file(one))


def _missing(paths: Iterable[str]) -> Iterator[str]:
    """Yield the real paths of missing files: `x/../y` is missing if `x` is, even if `y` exists."""
    yield from (at for at in map(real_parent, paths) if not is_file(at))
