"""Find the modules that `python -m` and code in words import in the working folder.

``python3 -m json.tool`` and ``python3 -c 'import json'`` search it before Python's own library, so
that a ``json.py`` there is what runs (docs.python.org, "sys.path initialization").
"""

# pathlib is ten times slower here.

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Final

from core.files.lookup import check_looked
from core.model.command import PinnedFile, PlannedCommand
from core.planning.paths.contents import digest_of, files_in

_RUN_CODE: Final = frozenset(
    {
        *("bdb", "cProfile", "code", "doctest", "idlelib", "inspect", "pdb", "pickle", "profile"),
        *("pydoc", "runpy", "test", "timeit", "trace", "unittest"),
    }
)
"""Modules that run code which they are given: whoever allowed them allowed the project's."""

_AT_START: Final = (
    *("_collections_abc", "_heapq", "_weakrefset", "collections", "contextlib", "copyreg", "enum"),
    *("functools", "genericpath", "heapq", "importlib", "keyword", "operator", "os", "pkgutil"),
    *("posixpath", "re", "reprlib", "runpy", "sre_compile", "sre_constants", "sre_parse", "stat"),
    *("types", "typing", "warnings", "weakref"),
)
"""What `runpy` imports before the module that it runs (3.6 to 3.13, also with ``-S``)."""

MODULE_ENDS: Final = (".py", ".pyc", ".so")

MOST_FILES: Final = 1_024
"""Names of files that are looked for; a module within a hundred packages has fewer."""

_MOST_NAMED: Final = 32
_NAME: Final = r"[^\W\d]\w*(?:\s?\.\s?[^\W\d]\w*)*"
_AS: Final = r"(?:\s+as\s+\w++)?"
_IMPORTS: Final = re.compile(
    rf"\bfrom[ \t]++({_NAME})\s+import\b[\s(]*+([\w\s,]*+)"
    rf"|\bimport[ \t]++({_NAME}{_AS}(?:\s*,\s*{_NAME}{_AS})*)"
)
_BY_NAME: Final = re.compile(
    r"\b(?:__import__|import_module|run_module|resolve_name|find_spec|load_module)\s*\(\s*[rbu]?"
    rf"['\"]({_NAME})"
)
_SEARCHES: Final = re.compile(r"\bsys\.path\b[^\n;]*+")
_LITERAL: Final = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
_LISTED: Final = re.compile(r"\s*,\s*")
_SPACE: Final = re.compile(r"\s+")
_DOTTED: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_VALUE_OF: Final = re.compile(r"-m|--?[a-z]+=")
_VERSION: Final = re.compile(r"(python|pypy)(3\.\d+)[a-z]?")
_KINDS: Final = {"python": "cpython-", "pypy": "pypy"}
_PLATFORM: Final = f"{os.uname().machine}-linux-gnu"

_TAKE_A_WORD: Final = "WX"
"""Letters of options with a value of their own (python(1), 3.8 to 3.14)."""

_LONGEST_PATH: Final = 4_096
"""Characters; the kernel opens no file by a longer one (PATH_MAX)."""

_RUNS: Final = "mc"
_RUN: Final = re.compile(r"/__main__\.\w+\Z")
_ALONE: Final = "IP"
"""Letters of options that take the working folder off the search path."""


def shadowed(command: PlannedCommand, cwd: str) -> str:
    """Return what in a folder replaces a module that a command imports; ``""`` if nothing does.

    Raises:
        OSError: the lookup failed (``core.files.lookup``).
    """
    if command.executable is None or not _is_python(command.executable):
        return ""
    module = _module(command.argv[1:])[0].partition(".")[0]
    if module not in sys.stdlib_module_names or module in _RUN_CODE:
        return ""
    found = sorted(_replacing(cwd))
    if not found:
        return ""
    contents = digest_of(one for name in found for one in files_in(f"{cwd}/{name}"))
    more = f" and {len(found) - 1} more" if found[1:] else ""
    return (
        f"`python -m {module}` may import `{found[0]}`{more} (SHA-256 {contents})"
        " instead of Python's own module"
    )


def imported(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the names of files that `-m` may import from the working folder, and runs.

    What a module that runs others is given, as `pdb` is, may be code as well. Of more than
    ``MOST_FILES`` one more than that is named: whoever binds them has to refuse.
    """
    yield from islice(_imported(arguments), MOST_FILES + 1)


def _imported(arguments: Sequence[str]) -> Iterator[str]:
    module, rest = _module(arguments)
    yield from imported_by((_code(arguments), *(rest if module in _RUN_CODE else ())))
    if not module or len(module) > _LONGEST_PATH:
        return
    yield from _files_of(module)
    if module.partition(".")[0] in _RUN_CODE:
        yield from rest
        for word in rest[:_MOST_NAMED]:
            name = _VALUE_OF.sub("", word).partition(":")[0].removesuffix(".py").replace("/", ".")
            if _DOTTED.fullmatch(name):
                yield from _files_of(name)


def imported_by(texts: Iterable[str]) -> Iterator[str]:
    """Yield the names of files that code may import from the folders that it searches."""
    names = dict.fromkeys(name for text in texts for name in _names_in(text))
    yield from dict.fromkeys(
        file for name in names for file in _files_of(name[:_LONGEST_PATH]) if not _RUN.search(file)
    )


def _names_in(code: str) -> Iterator[str]:
    """Yield the modules that code names: `import a.b as c`, `from a import b`, by `__import__`."""
    if "import" not in code and "module" not in code:
        return
    for found in _IMPORTS.finditer(code):
        said = found[2] or found[3] or ""
        listed = (_SPACE.split(one)[0] for one in _LISTED.split(said.strip()))
        if found[1] is None:
            yield from listed
            continue
        module = _SPACE.sub("", found[1])
        yield module
        yield from (f"{module}.{one}" for one in listed if one)
    yield from (one[1] for one in _BY_NAME.finditer(code))


def searched_by(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the folders that code in words adds to the search path: `sys.path.insert(0, "d")`."""
    yield from searched_in(_code(arguments))


def searched_in(code: str) -> Iterator[str]:
    """Yield the folders that code adds to the search path."""
    for line in _SEARCHES.findall(code):
        yield from (one or other for one, other in _LITERAL.findall(line))


def files_named(value: str) -> Iterator[str]:
    """Yield the names of files of the modules in a list: `a.b`, or `a,b:c` with what is in them.

    Of more than ``MOST_FILES`` one more than that is named, as by ``imported``.
    """
    names = (one.partition(":")[0] for one in value[:_LONGEST_PATH].split(","))
    known = (one for one in dict.fromkeys(names) if _DOTTED.fullmatch(one))
    yield from islice((file for one in known for file in _files_of(one)), MOST_FILES + 1)


def _files_of(module: str) -> Iterator[str]:
    """Yield the files that may be imported for a module, and for the packages that it is in."""
    path = ""
    for part in module.split("."):
        path = f"{path}/{part}" if path else part
        yield from (f"{path}{one}{suffix}" for one in ("/__init__", "") for suffix in MODULE_ENDS)
    yield from (f"{path}/__main__{suffix}" for suffix in MODULE_ENDS)


def at_start(folder: str, tags: Sequence[str] = ()) -> Iterator[str]:
    """Yield the files of a folder that Python imports before a module there that it runs.

    ``tags`` are as in ``builds_of``.
    """
    for name, place in product(_AT_START, ("", "/__init__")):
        for one in (f"{folder}/{name}{place}{suffix}" for suffix in MODULE_ENDS):
            yield from builds_of(one, tags)


def tags_of(*programs: str) -> tuple[str, ...]:
    """Return what the versions that programs may be put into file names: `cpython-311`."""
    for program in programs:
        named = _VERSION.fullmatch(program.rpartition("/")[2])
        if named is not None:
            return (f"{_KINDS[named[1]]}{named[2].replace('.', '')}",)
    kind = "pypy" if any("pypy" in one for one in programs) else "python"
    return tuple(f"{_KINDS[kind]}3{minor}" for minor in range(6, 17))


def builds_of(path: str, tags: Iterable[str]) -> Iterator[str]:
    """Yield a path, and for a compiled module (`x.so`) the other names that it may have."""
    yield path
    if path.endswith(".so"):
        yield f"{path[:-3]}.abi3.so"
        yield from (f"{path[:-3]}.{one}-{_PLATFORM}.so" for one in tags if one.startswith("c"))


def _is_python(file: PinnedFile) -> bool:
    names = (one.rpartition("/")[2] for one in (file.path, file.realpath))
    return any(name.startswith(("python", "pypy")) for name in names)


def _module(arguments: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the module that ``-m`` names, where the working folder is searched, and what follows.

    The module is ``""`` where there is none.
    """
    letter, module, rest = _run(arguments)
    return (module, rest) if letter == "m" else ("", ())


def _code(arguments: Sequence[str]) -> str:
    """Return the code that ``-c`` gives, where the working folder is searched, or ``""``."""
    letter, code, _ = _run(arguments)
    return code if letter == "c" else ""


def _run(arguments: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
    """Return ``m`` or ``c``, its value, and what follows; only ``""`` where there is neither."""
    words = iter(arguments)
    for word in words:
        if word == "--check-hash-based-pycs":
            next(words, "")
        elif not word.startswith("--"):
            for at, letter in enumerate(word[1:] if word.startswith("-") else _ALONE, 2):
                if letter in _ALONE:
                    return "", "", ()
                if letter in _RUNS:
                    return letter, word[at:] or next(words, ""), tuple(words)
                if letter in _TAKE_A_WORD:
                    word[at:] or next(words, "")
                    break
    return "", "", ()


def _replacing(cwd: str) -> Iterator[str]:
    """Yield what has the name of a module of Python's library, in the order of the listing."""
    try:
        with os.scandir(cwd) as entries:
            yield from (one.name for one in entries if _is_module(one))
    except OSError as error:
        check_looked(error)


def _is_module(entry: "os.DirEntry[str]") -> bool:
    name = entry.name.partition(".")[0]
    if name not in sys.stdlib_module_names:
        return False
    return entry.name.endswith(MODULE_ENDS) or (entry.name == name and _is_package(entry))


def _is_package(entry: "os.DirEntry[str]") -> bool:
    """Return whether a folder is imported as a package; one without ``__init__`` comes last."""
    try:
        return any(name.startswith("__init__.") for name in os.listdir(entry.path))  # noqa: PTH208
    except OSError as error:
        check_looked(error)
        return False
