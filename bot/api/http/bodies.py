"""Read a request's body: bounded in bytes and time, JSON as strict as a frame on the socket."""

import asyncio

from starlette.types import Receive, Scope

from bot.api.http.errors import Fault, FaultCode
from core.ipc.errors import FrameError
from core.ipc.strict_json import read_object

_JSON = b"application/json"


async def read_body(scope: Scope, receive: Receive, most: int, patience_s: float) -> bytes:
    """Return the whole body.

    Raises:
        Fault: it is larger than ``most`` bytes, takes longer than ``patience_s`` seconds, or the
        client disconnected.
    """
    announced = header(scope, b"content-length")
    if announced is not None and int(announced) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    held = 0
    try:
        async with asyncio.timeout(patience_s):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Fault(FaultCode.BAD_REQUEST, "The request ended early.")
                held += len(message.get("body", b""))
                if held > most:
                    raise _too_large(most)
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        words = f"The body did not arrive within {patience_s:g} s."
        raise Fault(FaultCode.BAD_REQUEST, words, {"Connection": "close"}) from None


def read_json(scope: Scope, body: bytes) -> dict[str, object]:
    """Return the JSON object that a body holds.

    Raises:
        Fault: it is not JSON, or JSON that two readers could understand differently.
    """
    kind = (header(scope, b"content-type") or b"").partition(b";")[0].strip().lower()
    if kind != _JSON or header(scope, b"content-encoding") not in {None, b"identity"}:
        raise Fault(FaultCode.WRONG_TYPE, "The body must be application/json, not compressed.")
    try:
        return read_object(body)
    except FrameError as wrong:
        words = str(wrong).replace("the frame", "the body")
        raise Fault(FaultCode.BAD_REQUEST, f"{words[0].upper()}{words[1:]}.") from None


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return the only header of a name, ``None`` if it is absent.

    Raises:
        Fault: it is present twice, and two readers could take either.
    """
    found = [value for key, value in scope["headers"] if key == name]
    if len(found) > 1:
        raise Fault(FaultCode.BAD_REQUEST, f"Duplicate header {name.decode()}.")
    return found[0] if found else None


def _too_large(most: int) -> Fault:
    words = f"The body exceeds {most} bytes (http.limits.bodyBytes)."
    return Fault(FaultCode.TOO_LARGE, words)
