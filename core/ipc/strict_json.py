"""Read JSON strictly; refuse whatever could be read in two ways.

Python's reader accepts NaN, duplicate keys and lone surrogates, and 1e999 as infinity: each of them
means something else to the next reader, so none of them passes here.
"""

import json
from typing import Final, NoReturn

from core.ipc.errors import Code, FrameError, Id

MAX_NESTING = 32
LARGEST_NUMBER = 2**53 - 1
"""The largest number that every reader of JSON represents exactly (RFC 8259 section 6)."""

MOST_PARTS: Final = 1 << 16
"""Values in one text: reading each takes a microsecond, during which nothing else is served."""


def read_object(text: bytes) -> dict[str, object]:
    """Read one JSON object that is not a frame, such as an HTTP body, as strictly as a frame.

    Raises:
        FrameError: with the code and the words to answer.
    """
    value = parsed(text, _BODY_DECODER)
    if not isinstance(value, dict):
        raise FrameError(Code.INVALID_REQUEST, "the frame has to be one JSON object")
    check_content(text, value, None)
    return value


def parsed(line: bytes, decoder: json.JSONDecoder | None = None, most: int = MOST_PARTS) -> object:
    """Return the value of a JSON text, which may contain ``most`` values at most.

    Raises:
        FrameError: with the code and the words to answer.
    """
    if _has_too_many(line, most):
        raise FrameError(Code.PARSE_ERROR, f"the frame has more than {most} values")
    try:
        return (decoder or _DECODER).decode(line.decode())
    except UnicodeDecodeError:
        raise FrameError(Code.PARSE_ERROR, "the frame is not UTF-8") from None
    except RecursionError:
        raise FrameError(Code.PARSE_ERROR, "the frame is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"{error.msg} at character {error.pos}"
        raise FrameError(Code.PARSE_ERROR, f"the frame is not JSON: {where}") from None
    except ValueError as error:
        raise FrameError(Code.PARSE_ERROR, f"the frame is not JSON: {error}") from None


def _has_too_many(text: bytes, most: int) -> bool:
    """Return whether a text has too many values, not counting what is inside strings.

    Including the keys, a number of values has twice as many strings at most.
    """
    if _parts(text) <= most:
        return False
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    between_strings = unescaped.split(b'"', 4 * most)[::2]
    return _parts(b"".join(between_strings)) > most


def _parts(text: bytes) -> int:
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the object of these pairs.

    Raises:
        ValueError: a key occurs twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key in one object")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise ValueError("a number is too large")
    return value


def _number(text: str) -> float | int:
    """Return a number; ``2.0`` is a whole number, as in JSON Schema (6.1.1)."""
    value = _finite(text)
    return _exact(int(value)) if value.is_integer() else value


def _exact(value: int) -> int:
    if abs(value) > LARGEST_NUMBER:
        raise ValueError("a number is too large")
    return value


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _integer(text: str) -> int:
    if len(text) > len("-9223372036854775808"):
        raise ValueError("a number is too large")
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=unique,
    parse_float=_finite,
    parse_int=_integer,
    parse_constant=_no_constant,
)


_BODY_DECODER = json.JSONDecoder(
    object_pairs_hook=unique,
    parse_float=_number,
    parse_int=lambda text: _exact(_integer(text)),
    parse_constant=_no_constant,
)


def check_content(line: bytes, frame: dict[str, object], frame_id: Id | None) -> None:
    """Refuse deep nesting, and strings that no program could be given.

    In valid UTF-8 a NUL or a lone surrogate can only come from an escape, and depth only from
    brackets: frames without either, nearly all, are not walked.

    Raises:
        FrameError: with the code and the words to answer.
    """
    deep = line.count(b"[") + line.count(b"{") > MAX_NESTING
    if not deep and b"\\u" not in line:
        return
    left: list[tuple[object, int]] = [(frame, 1)]
    while left:
        value, depth = left.pop()
        if depth > MAX_NESTING:
            raise FrameError(Code.PARSE_ERROR, "the frame is nested too deeply", frame_id)
        if isinstance(value, str) and not is_clean(value):
            message = "a string contains NUL or bytes that are not UTF-8; correct it"
            raise FrameError(Code.INVALID_PARAMS, message, frame_id)
        if isinstance(value, dict):
            left.extend((part, depth + 1) for pair in value.items() for part in pair)
        elif isinstance(value, list):
            left.extend((part, depth + 1) for part in value)


def is_clean(text: str) -> bool:
    """Return whether a program could be given a text: without NUL or half a character."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
