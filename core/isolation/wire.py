"""Frame the calls between gateway and executor: JSON-RPC 2.0, one object per line.

Both sides use it, so it needs the standard library only.
"""

import json
import re

LONGEST_LINE = 1024 * 1024
"""In bytes; a longer line ends the connection. The output of commands is not sent this way."""

PING = "ping"
RUN = "run"
END_RUN = "end_run"
EXECUTE_PROMPT = "execute_prompt"
CANCEL_PROMPT = "cancel_prompt"
SPAWN_TERMINAL = "spawn_terminal"
END_TERMINAL = "end_terminal"
GET_API_KEY = "get_api_key"
REQUEST_PERMISSION = "request_permission"
REPORT_MESSAGE = "report_message"
REPORT_COMPLETION = "report_completion"

PRIVATE_FOLDERS = ".sayso-sandbox"
"""A folder in a user's home that contains one folder for each of the user's sandboxed runs."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
INVALID_PARAMS = -32602
FAILED = -32000

Object = dict[str, object]

_COUNT = re.compile(r"[A-Za-z][A-Za-z_]{0,39}")
"""The name of a count, such as ``inputTokens``: no room for a sentence or for a secret."""
_MOST_COUNTS, _LARGEST_COUNT = 32, 2**53


def counts(usage: object) -> dict[str, int]:
    """Return the usage that an agent reports for its model, limited to counts with plain names."""
    found = usage.items() if isinstance(usage, dict) else ()
    plain = [
        (name, count)
        for name, count in found
        if isinstance(name, str) and _COUNT.fullmatch(name) and type(count) is int
    ]
    return {name: count for name, count in plain[:_MOST_COUNTS] if 0 <= count <= _LARGEST_COUNT}


class LongLine(Exception):
    """A line exceeds the limit."""


class Lines:
    """Cut a stream of bytes into lines."""

    __slots__ = ("_longest", "_rest")

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now.

        Raises:
            LongLine: one exceeds the limit.
        """
        self._rest += data
        *lines, rest = self._rest.split(b"\n")
        if any(len(line) > self._longest for line in (*lines, rest)):
            raise LongLine
        self._rest = rest
        return [bytes(line) for line in lines]


def encode(message: Object) -> bytes:
    """Return a message as its line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def request(number: int, method: str, params: Object) -> bytes:
    """Return the line of a call that expects an answer."""
    return encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notification(method: str, params: Object) -> bytes:
    """Return the line of a call that gets no answer."""
    return encode({"jsonrpc": "2.0", "method": method, "params": params})


def result(number: object, value: object) -> bytes:
    """Return the line of an answer."""
    return encode({"jsonrpc": "2.0", "id": number, "result": value})


def error(number: object, code: int, message: str) -> bytes:
    """Return the line of an answer that reports an error."""
    return encode({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})
