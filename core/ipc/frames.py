"""Read and write one JSON-RPC frame (https://www.jsonrpc.org/specification)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from core.ipc.errors import Code, FrameError, Id
from core.ipc.strict_json import check_content, is_clean, parsed

MAX_FRAME = 8 << 20
"""Bytes of a frame, its line feed included."""
_MEMBERS = frozenset(("jsonrpc", "id", "method", "params"))
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Call:
    """A request; a notification has no ``id``."""

    id: Id | None
    method: str
    params: dict[str, object]


def read_frame(line: bytes) -> Call:
    """Read one line.

    Raises:
        FrameError: with the code and the message to answer.
    """
    value = parsed(line)
    if isinstance(value, list):
        raise FrameError(
            Code.INVALID_REQUEST, "batches are not supported; send one request per line"
        )
    if not isinstance(value, dict):
        raise FrameError(Code.INVALID_REQUEST, "a frame is one JSON object")
    frame_id = _id(value)
    if not _is_call(value):
        raise FrameError(
            Code.INVALID_REQUEST,
            'a request has "jsonrpc": "2.0", "method" and optionally "id" and "params"',
            frame_id,
        )
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise FrameError(Code.INVALID_PARAMS, "params must be an object", frame_id)
    check_content(line, value, frame_id)
    return Call(frame_id, str(value["method"]), params)


def _id(frame: dict[str, object]) -> Id | None:
    if "id" not in frame:
        return None
    found = frame["id"]
    fits = isinstance(found, int) and not isinstance(found, bool)
    if fits or (isinstance(found, str) and len(found) <= _LONGEST_NAME and is_clean(found)):
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


def result_frame(frame_id: Id, result: object) -> bytes:
    """Return the answer to a request.

    Raises:
        ValueError: the result contains a NaN or a cycle, or is larger than a frame.
        TypeError: the result contains something that is not JSON.
    """
    frame = _line({"jsonrpc": "2.0", "id": frame_id, "result": result})
    if len(frame) > MAX_FRAME:
        raise ValueError(f"a result of {len(frame)} bytes does not fit in a frame")
    return frame


def notification_frame(method: str, params: Mapping[str, object]) -> bytes:
    """Return a notification, which reports what happens while a request is in flight.

    Raises:
        TypeError: the params contain something that is not JSON.
    """
    return _line({"jsonrpc": "2.0", "method": method, "params": params})


def error_frame(
    frame_id: Id | None, code: Code, message: str, data: dict[str, object] | None = None
) -> bytes:
    """Return an error; ``frame_id`` is ``None`` if the request's could not be read."""
    error: dict[str, object] = {"code": int(code), "message": message}
    if data is not None:
        error["data"] = data
    return _line({"jsonrpc": "2.0", "id": frame_id, "error": error})


def _line(frame: dict[str, object]) -> bytes:
    return _ENCODER.encode(frame).encode("ascii") + b"\n"


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
