"""What a word of a command may name, before anybody looks whether there is such a file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

ENDS_OF_WORDS: Final = re.compile(r"[\s'\"`;|&<>(){}$=,]+")
_VALUE_OF: Final = re.compile(r"--?[A-Za-z][\w-]*=(.+)", re.DOTALL)
_GLUED: Final = re.compile(r"-[A-Za-z](.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CodeWord:
    """A word that may name a file of code; ``sure`` where it can be nothing else."""

    path: str
    sure: bool = False


def held(option: str) -> Iterator[str]:
    """Yield what an option may hold itself: ``--import=x.js``, ``-r./x``."""
    for shape in (_VALUE_OF, _GLUED):
        found = shape.fullmatch(option)
        if found is not None:
            yield found.group(1)
