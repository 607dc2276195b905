"""Format and parse the two JSON-RPC frames of a proof."""

import json
from collections.abc import Mapping

from bot.gate_proof.entry_points import params_of
from core.errors import SaysoError
from core.gate.guards.marks import SESSION, Mark
from core.model.identity import AgentId
from core.policy.rules.capabilities import TOOL

_ID = 1


def frame_of(mark: Mark) -> bytes:
    """Return the request for a marked command, without a newline."""
    return _frame("exec.run", params_of(mark))


def tool_frame_of(mark: Mark, agent: AgentId) -> bytes:
    """Return the call of Exec with a marked vector, without a newline."""
    args = {"argv": list(mark.argv)}
    return _frame("tool.call", {"tool": TOOL, "args": args, "agent": agent, "session": SESSION})


def _frame(method: str, params: Mapping[str, object]) -> bytes:
    frame = {"jsonrpc": "2.0", "id": _ID, "method": method, "params": params}
    return json.dumps(frame).encode()


def result_of(text: bytes | str) -> object:
    """Return the result in a frame.

    Raises:
        SaysoError: it is an error, the answer to another request, or not a frame.
    """
    try:
        frame = json.loads(text)
    except ValueError:
        frame = None
    if not isinstance(frame, Mapping) or frame.get("id") not in {_ID, None}:
        raise SaysoError("connection closed, or the response is not a JSON-RPC frame")
    if "result" not in frame:
        error = frame.get("error")
        raise SaysoError(str(error.get("message")) if isinstance(error, Mapping) else "no result")
    return frame["result"]
