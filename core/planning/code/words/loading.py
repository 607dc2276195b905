"""Name the modules that code loads: `python3 -c 'import a'`, `node -e 'require("./x")'`."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Final

from core.planning.code.words.interpreters import Interpreter
from core.planning.code.words.parts import CodeWord
from core.planning.library_modules import MODULES, modules_of
from core.planning.python_modules import imported, imported_by

_GIVEN: Final = r"(?:[^()\n]++|\((?:[^()\n]++|\([^()\n]*+\))*\))*"
_LOADS: Final = re.compile(
    rf"\b(?:require|import)(?:\.resolve)?\s*\(({_GIVEN})"
    r"|\b(?:import|from)\s*(['\"][^'\"\n]+['\"])"
)
_LITERAL: Final = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|`([^`\n]+)`")
_PATH: Final = re.compile(r"\.{0,2}/")
_PACKAGES: Final = "node_modules/"


def loaded_modules(reader: Interpreter, words: Sequence[str]) -> Iterator[CodeWord]:
    """Yield the files of the modules that an interpreter's options and its code in words name."""
    if reader.modules:
        yield from _files(imported((*reader.within, *words)))
        return
    texts = tuple(_texts(reader, words))
    if reader.library:
        yield from _files(modules_of(reader.library, words, texts))
    elif reader.verbs:
        yield from map(CodeWord, _of_node(texts))


def loaded_by_text(reader: Interpreter, texts: Sequence[str]) -> Iterator[str]:
    """Yield the names of files of the modules that an interpreter loads for texts of code."""
    if reader.modules:
        yield from imported_by(texts)
    elif reader.library:
        yield from modules_of(reader.library, (), texts)
    elif reader.verbs:
        yield from _of_node(texts)


def loaded_by_any(texts: Sequence[str]) -> Iterator[str]:
    """Yield the same for texts that may be in any of these languages."""
    yield from imported_by(texts)
    yield from chain.from_iterable(modules_of(one, (), texts) for one in MODULES)
    yield from _of_node(texts)


def _files(names: Iterator[str]) -> Iterator[CodeWord]:
    return (CodeWord(one, whole=True) for one in names)


def _texts(reader: Interpreter, words: Sequence[str]) -> Iterator[str]:
    """Yield the code that options contain, or that follows them."""
    for word, following in pairwise((*words, "")):
        found = reader.inline.match(word)
        if found is not None:
            yield word[found.end() :] or following


def _of_node(texts: Sequence[str]) -> Iterator[str]:
    """Yield what code of Node requires or imports: a path, or a package of the folder."""
    calls = (found for text in texts for found in _LOADS.finditer(text))
    for found in dict.fromkeys(one[1] or one[2] for one in calls):
        for literal in _LITERAL.finditer(found):
            name = literal[1] or literal[2] or literal[3]
            yield name if _PATH.match(name) else _PACKAGES + name
            if literal.start():  # after the folder: `process.cwd() + "/x"`, `join("d", "x")`
                yield name.lstrip("/")
