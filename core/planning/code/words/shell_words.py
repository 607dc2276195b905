"""Read the words of a shell: its options end differently from those of other interpreters.

In dash, bash and busybox, a lone ``-`` or ``--`` ends the options and a lone ``+`` is one: none of
these is ever the script. The text of ``-c`` is the first word that is not an option.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from core.planning.code.words.parts import CodeWord, held

ALONE: Final = re.compile(
    r"-[abcefhiklmnpsuvxBCEHPT]+|\+[a-nA-Np-zP-Z]*|--(?:login|norc|noprofile|posix|verbose)"
)
"""Options that take no word after them."""

_ENDS: Final = frozenset(("-", "--"))


@dataclass(frozen=True, slots=True)
class ShellWords:
    """The words that name code (``scripts``) or are code themselves (``texts`` of ``-c``).

    ``scripts`` include the words that an option may have taken or contains. ``rest`` are the words
    after the code, its arguments. ``fed``: the shell reads code from its input.
    """

    scripts: tuple[CodeWord, ...]
    texts: tuple[str, ...]
    rest: tuple[str, ...]
    fed: bool


@lru_cache(maxsize=256)  # a plan asks for the same words several times
def shell_words(words: tuple[str, ...]) -> ShellWords:
    """Sort the words after a shell's name into scripts, texts and arguments."""
    options, plain, rest = _split(words)
    short = [word for word in options if not word.startswith("--")]
    scripts = [CodeWord(part) for word in options for part in held(word)]
    if any("c" in word for word in short):
        # If the `c` was a letter of a value, the first of these words is a script.
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
