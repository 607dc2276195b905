"""Write vectors as a shell line that means exactly them: for the round trip and for people."""

import re
from collections.abc import Sequence
from typing import cast

from core.model.command import (
    UNROUTED,
    Connector,
    ErrorTo,
    OpenWord,
    PartKind,
    Reading,
    Routing,
    Word,
)

# HEAD~1 and HEAD^ stay bare: after a letter or digit no shell expands a tilde.
_HEAD = "[A-Za-z0-9_./:@%+,-]"
_TAIL = "(?:(?<=[A-Za-z0-9_])~[A-Za-z0-9_./:@%+,=^-]*+)*"
_NAME = rf"{_HEAD}[A-Za-z0-9_./:@%+,^-]*+"
_WORD = rf"{_HEAD}[A-Za-z0-9_./:@%+,=^-]*+{_TAIL}"
_BARE = re.compile(_WORD)
_BARE_LINE = re.compile(rf"{_NAME}(?: {_WORD})*")
# After a variable's name, what could not belong to it; a literal needs no quotes then.
_BARE_PART = re.compile(r"[/.,:@%+-][A-Za-z0-9_./:@%+,-]*")
_MARKS = {PartKind.VALUE: "${}", PartKind.QUOTED_VALUE: '"${}"', PartKind.STATUS: '"${}"'}
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
    if not reading.connectors and not reading.routings and not reading.loops:
        return _quote_words(reading.argvs[0])
    commands = [_quote_words(words) for words in reading.argvs]
    if reading.routings:
        routed = zip(commands, reading.routings, strict=True)
        commands = [command + quote_routing(routing) for command, routing in routed]
    for loop in reading.loops:
        words = " ".join(_quote_words((word,)) for word in loop.words)
        commands[loop.start] = f"for {loop.variable} in {words}; do {commands[loop.start]}"
        commands[loop.end - 1] += "; done"
    pieces = [commands[0]]
    for connector, command in zip(reading.connectors, commands[1:], strict=True):
        pieces += _JOINS[connector], command
    return "".join(pieces)


def quote_routing(routing: Routing) -> str:
    """Write redirections that lead the streams there, with a blank in front; often nothing."""
    if routing is UNROUTED:
        return ""
    written = " </dev/null" if routing.null_input else ""
    nowhere = " >/dev/null" if routing.null_output else ""
    if routing.error is ErrorTo.OUTPUT:
        return f"{written} 2>&1{nowhere}"
    if routing.error is ErrorTo.NULL:
        return f"{written}{nowhere} 2>&1" if nowhere else f"{written} 2>/dev/null"
    return written + nowhere


def _quote_words(words: Sequence[Word]) -> str:
    if OpenWord not in map(type, words):
        return quote_argv(cast("Sequence[str]", words))
    return " ".join(
        quote_argv([word]) if isinstance(word, str) else _quote_open(word) for word in words
    )


def _quote_open(word: OpenWord) -> str:
    """Write a word whose expansions stay expansions, and whose literal text stays literal."""
    pieces = []
    for at, part in enumerate(word.parts):
        if part.kind is PartKind.LITERAL and at and word.parts[at - 1].kind is PartKind.TILDE:
            # Only a slash that is not quoted ends the tilde's prefix (XCU 2.6.1).
            rest = part.text[1:]
            pieces.append("/" + (_quote_part(rest) if rest else ""))
        elif part.kind is PartKind.LITERAL:
            pieces.append(_quote_part(part.text))
        else:
            pieces.append(_MARKS.get(part.kind, "{}").format(part.text))
    return "".join(pieces)


def _quote_part(text: str) -> str:
    if _BARE_PART.fullmatch(text):
        return text
    return r"\'".join(f"'{piece}'" if piece else "" for piece in text.split("'"))
