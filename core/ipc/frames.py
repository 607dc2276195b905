"""Read and write one JSON-RPC frame; whatever could be read in two ways is refused.

Python's JSON reader takes NaN, doubled keys and lone surrogates, and 1e999 as infinity: each of
them means something else to the next reader, so none of them passes here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NoReturn

MAX_FRAME = 8 << 20
"""Bytes of a frame, its line feed included."""
MAX_NESTING = 32
LARGEST_NUMBER = 2**53 - 1
"""The largest number that every reader of JSON holds exactly (RFC 8259 section 6)."""

Id = int | str
_MEMBERS = frozenset(("jsonrpc", "id", "method", "params"))
_LONGEST_NAME = 200


class Code(IntEnum):
    """Error codes: JSON-RPC 2.0's own, LSP's for cancellation, ours from -32000 on."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    CANCELLED = -32800
    FAILED = -32000
    FORBIDDEN = -32001
    DEADLINE = -32002
    BUSY = -32003


class FrameError(ValueError):
    """A frame cannot be understood; ``id`` is its id where one could be read."""

    def __init__(self, code: Code, message: str, id: Id | None = None) -> None:  # noqa: A002  # the protocol's word
        super().__init__(message)
        self.code = code
        self.id = id


@dataclass(frozen=True, slots=True)
class Call:
    """A request; a notification has no ``id``."""

    id: Id | None
    method: str
    params: dict[str, object]


def read_frame(line: bytes) -> Call:
    """Read one line.

    Raises:
        FrameError: with the code and the words to answer.
    """
    value = _parsed(line)
    if isinstance(value, list):
        raise FrameError(Code.INVALID_REQUEST, "batches are not taken; send one request a line")
    if not isinstance(value, dict):
        raise FrameError(Code.INVALID_REQUEST, "a frame is one JSON object")
    frame_id = _id(value)
    if not _is_call(value):
        raise FrameError(
            Code.INVALID_REQUEST,
            'a request has "jsonrpc": "2.0", a "method" and perhaps "id" and "params"; no more',
            frame_id,
        )
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise FrameError(Code.INVALID_PARAMS, "params must be an object", frame_id)
    _check_content(line, value, frame_id)
    return Call(frame_id, str(value["method"]), params)


def read_object(text: bytes) -> dict[str, object]:
    """Read one JSON object that is no frame, such as an HTTP body, as strictly as a frame.

    Raises:
        FrameError: with the code and the words to answer.
    """
    value = _parsed(text, _BODY_DECODER)
    if not isinstance(value, dict):
        raise FrameError(Code.INVALID_REQUEST, "the frame has to be one JSON object")
    _check_content(text, value, None)
    return value


def _parsed(line: bytes, decoder: json.JSONDecoder | None = None) -> object:
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


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise ValueError("a number is too large")
    return value


def _number(text: str) -> float | int:
    """Return a number; ``2.0`` is the whole number that JSON Schema takes it for (6.1.1)."""
    value = _finite(text)
    return _exact(int(value)) if value.is_integer() else value


def _exact(value: int) -> int:
    if abs(value) > LARGEST_NUMBER:
        raise ValueError("a number is too large")
    return value


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _integer(text: str) -> int:
    if len(text) > len("-9223372036854775808"):
        raise ValueError("a number is too large")
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_finite,
    parse_int=_integer,
    parse_constant=_no_constant,
)


_BODY_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=_number,
    parse_int=lambda text: _exact(_integer(text)),
    parse_constant=_no_constant,
)


def _id(frame: dict[str, object]) -> Id | None:
    if "id" not in frame:
        return None
    found = frame["id"]
    fits = isinstance(found, int) and not isinstance(found, bool)
    if fits or (isinstance(found, str) and len(found) <= _LONGEST_NAME and _is_clean(found)):
        return found  # type: ignore[return-value]  # narrowed by the two tests together
    raise FrameError(Code.INVALID_REQUEST, "id must be an integer or a string of 200 at most")


def _is_call(frame: dict[str, object]) -> bool:
    method = frame.get("method")
    return (
        frame.get("jsonrpc") == "2.0"
        and isinstance(method, str)
        and len(method) <= _LONGEST_NAME
        and frame.keys() <= _MEMBERS
    )


def _check_content(line: bytes, frame: dict[str, object], frame_id: Id | None) -> None:
    """Refuse deep nesting, and strings that no program could be given.

    In valid UTF-8 a NUL or a lone surrogate can only come from an escape, and depth only from
    brackets: frames without either, nearly all, are not walked.
    """
    deep = line.count(b"[") + line.count(b"{") > MAX_NESTING
    if not deep and b"\\u" not in line:
        return
    left: list[tuple[object, int]] = [(frame, 1)]
    while left:
        value, depth = left.pop()
        if depth > MAX_NESTING:
            raise FrameError(Code.PARSE_ERROR, "the frame is nested too deeply", frame_id)
        if isinstance(value, str) and not _is_clean(value):
            message = "a string holds NUL or half a character"
            raise FrameError(Code.INVALID_PARAMS, message, frame_id)
        if isinstance(value, dict):
            left.extend((part, depth + 1) for pair in value.items() for part in pair)
        elif isinstance(value, list):
            left.extend((part, depth + 1) for part in value)


def _is_clean(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def result_frame(frame_id: Id, result: object) -> bytes:
    """Return the answer to a request.

    Raises:
        ValueError: the result holds a NaN or a cycle, or is larger than a frame.
        TypeError: the result holds something that is not JSON.
    """
    frame = _line({"jsonrpc": "2.0", "id": frame_id, "result": result})
    if len(frame) > MAX_FRAME:
        raise ValueError(f"a result of {len(frame)} bytes does not fit in a frame")
    return frame


def notification_frame(method: str, params: Mapping[str, object]) -> bytes:
    """Return a notification: what happens while a request is in flight.

    Raises:
        TypeError: the params hold something that is not JSON.
    """
    return _line({"jsonrpc": "2.0", "method": method, "params": params})


def error_frame(
    frame_id: Id | None, code: Code, message: str, data: dict[str, object] | None = None
) -> bytes:
    """Return an error; ``frame_id`` is ``None`` where the request's could not be read."""
    error: dict[str, object] = {"code": int(code), "message": message}
    if data is not None:
        error["data"] = data
    return _line({"jsonrpc": "2.0", "id": frame_id, "error": error})


def _line(frame: dict[str, object]) -> bytes:
    return _ENCODER.encode(frame).encode("ascii") + b"\n"


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
