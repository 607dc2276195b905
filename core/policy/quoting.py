"""Write vectors as a shell line that means exactly them: for the round trip and for people."""

import re
from collections.abc import Sequence

from core.model.command import Connector, Reading

# HEAD~1 and HEAD^ stay bare: after a letter or digit no shell expands a tilde.
_HEAD = "[A-Za-z0-9_./:@%+,-]"
_TAIL = "(?:(?<=[A-Za-z0-9_])~[A-Za-z0-9_./:@%+,=^-]*+)*"
_NAME = rf"{_HEAD}[A-Za-z0-9_./:@%+,^-]*+"
_WORD = rf"{_HEAD}[A-Za-z0-9_./:@%+,=^-]*+{_TAIL}"
_BARE = re.compile(_WORD)
_BARE_LINE = re.compile(rf"{_NAME}(?: {_WORD})*")
_JOINS = {
    Connector.PIPE: " | ",
    Connector.AND: " && ",
    Connector.OR: " || ",
    Connector.THEN: "; ",
}


def quote_word(word: str) -> str:
    """Write one word: bare where no shell could read more into it, else in single quotes."""
    if _BARE.fullmatch(word):
        return word
    if word and "'" not in word:
        return f"'{word}'"
    return r"\'".join(f"'{piece}'" if piece else "" for piece in word.split("'")) or "''"


def quote_argv(argv: Sequence[str]) -> str:
    """Write one vector; a name with ``=`` is quoted, or a shell would assign a variable."""
    line = " ".join(argv)
    if _BARE_LINE.fullmatch(line) and line.count(" ") == len(argv) - 1:
        return line
    words = [word if _BARE.fullmatch(word) else quote_word(word) for word in argv]
    if "=" in words[0] and words[0] == argv[0]:
        words[0] = f"'{argv[0]}'"
    return " ".join(words)


def quote_reading(reading: Reading) -> str:
    """Write a whole reading; reading the result again gives an equal reading."""
    if not reading.connectors:
        return quote_argv(reading.argvs[0])
    pieces = [quote_argv(reading.argvs[0])]
    for connector, argv in zip(reading.connectors, reading.argvs[1:], strict=True):
        pieces += _JOINS[connector], quote_argv(argv)
    return "".join(pieces)
