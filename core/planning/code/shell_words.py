"""Read the words of a shell: its options end differently from those of other interpreters.

A lone ``-`` or ``--`` ends them, in dash, bash and busybox, and a lone ``+`` is an option: in none
of these is it the script. The text of ``-c`` is the first word that is no option.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from core.planning.code.words import CodeWord, held

ALONE: Final = re.compile(
    r"-[abcefhiklmnpsuvxBCEHPT]+|\+[a-nA-Np-zP-Z]*|--(?:login|norc|noprofile|posix|verbose)"
)
"""Options that take no word after them."""

_ENDS: Final = frozenset(("-", "--"))


@dataclass(frozen=True, slots=True)
class ShellWords:
    """``scripts`` are the script, and what an option may have taken or holds; or ``texts`` are.

    ``rest`` are the words behind: what the code is given. ``fed``: code is read from its input.
    """

    scripts: tuple[CodeWord, ...]
    texts: tuple[str, ...]
    rest: tuple[str, ...]
    fed: bool


@lru_cache(maxsize=256)  # a plan asks for the same words several times
def shell_words(words: tuple[str, ...]) -> ShellWords:
    """Return what the words behind a shell's name are to it."""
    options, plain, rest = _split(words)
    short = [word for word in options if not word.startswith("--")]
    scripts = [CodeWord(part) for word in options for part in held(word)]
    if any("c" in word for word in short):
        # Where it was a letter of a value the first of these is a script.
        scripts += (CodeWord(one.path) for one in plain if not all(map(_is_alone, options)))
        return ShellWords(tuple(scripts), tuple(one.path for one in plain), rest, fed=not plain)
    fed = [word for word in short if "s" in word]
    data = any(word[0] == "-" and _is_alone(word) for word in fed)
    scripts += (one for one in plain if not (data and one.sure))
    unnamed = not any(one.sure for one in plain)
    return ShellWords(tuple(scripts), (), rest, fed=unnamed or bool(fed))


def _is_alone(option: str) -> bool:
    return ALONE.fullmatch(option) is not None


def _split(words: Sequence[str]) -> tuple[list[str], list[CodeWord], tuple[str, ...]]:
    """Return the options, the words up to the first that no option can have taken, and the rest."""
    options: list[str] = []
    plain: list[CodeWord] = []
    ended = taken = False
    for place, word in enumerate(words):
        if not ended and word in _ENDS:
            ended, taken = True, False
        elif not ended and word[:1] in {"-", "+"}:
            options.append(word)
            taken = not _is_alone(word)
        else:
            plain.append(CodeWord(word, sure=not taken))
            if not taken:
                return options, plain, tuple(words[place + 1 :])
            taken = False
    return options, plain, ()
