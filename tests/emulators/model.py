"""Act as a model for real agents: three streamed APIs; WRITE: PATH in a prompt becomes a call.

Anthropic's Messages, Gemini's generateContent and OpenAI's chat completions, as far as coding
agents use them. The answer to a prompt with ``WRITE: PATH`` is one call of the tool with which the
agent writes files; after a tool result, or without such a line, it is a text.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.emulators.local_http import Quiet, served

CONTENT = "written by a real agent\n"
_WRITE = re.compile(r"WRITE: (\S+?)(?=[\"\\\s]|$)")


@dataclass
class RealModel:
    """Its address, and the headers of the requests."""

    url: str
    asked: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def real_model() -> Iterator[RealModel]:
    """Serve the three APIs on a port of this machine."""
    found = RealModel("")

    class Handler(_Handler):
        model = found

    with served(Handler) as found.url:
        yield found


class _Handler(Quiet, BaseHTTPRequestHandler):
    model: RealModel

    def do_POST(self) -> None:
        self.model.asked.append(self.asked())
        body = json.loads(self.body() or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/messages"):
            self._anthropic(body)
        elif "count_tokens" in path or "countTokens" in path:
            self._json({"input_tokens": 10, "totalTokens": 10})
        elif "enerateContent" in path:
            self._gemini(body, streamed="stream" in path)
        elif path.endswith("/chat/completions"):
            self._openai(body)
        else:
            self._json({"error": {"message": "no such method"}}, 404)

    def do_GET(self) -> None:
        self._json({"data": []})

    def do_HEAD(self) -> None:
        self._json({})

    def _anthropic(self, body: dict[str, Any]) -> None:
        call = _call(body.get("messages", []), body.get("tools"), "tool_result")
        usage = {"input_tokens": 12, "output_tokens": 1}
        message: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        if call is None:
            block: dict[str, Any] = {"type": "text", "text": ""}
            delta: dict[str, Any] = {"type": "text_delta", "text": "It is done."}
        else:
            given = json.dumps({"file_path": call, "content": CONTENT})
            block = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": given}
        reason = "end_turn" if call is None else "tool_use"
        if not body.get("stream"):
            whole = {"type": "text", "text": "It is done."}
            self._json({**message, "content": [whole], "stop_reason": "end_turn"})
            return
        ended = {"stop_reason": reason, "stop_sequence": None}
        self._events(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
            named=True,
        )

    def _gemini(self, body: dict[str, Any], *, streamed: bool) -> None:
        call = _call(body.get("contents", []), body.get("tools"), "functionResponse")
        part: dict[str, Any] = {"text": "It is done."}
        if call is not None:
            given = {"file_path": call, "content": CONTENT}
            part = {"functionCall": {"name": "write_file", "args": given}}
        answer = {
            "candidates": [
                {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
            ],
            "usageMetadata": {
                "promptTokenCount": 12,
                "candidatesTokenCount": 9,
                "totalTokenCount": 21,
            },
        }
        if streamed:
            self._events(answer)
        else:
            self._json(answer)

    def _openai(self, body: dict[str, Any]) -> None:
        call = _call(body.get("messages", []), body.get("tools"), '"role": "tool"')
        delta: dict[str, Any] = {"role": "assistant", "content": "It is done."}
        if call is not None:
            given = json.dumps({"filePath": call, "content": CONTENT})
            function = {"name": "write", "arguments": given}
            tool = {"index": 0, "id": "call_1", "type": "function", "function": function}
            delta = {"role": "assistant", "content": None, "tool_calls": [tool]}
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        usage = {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}
        reason = "stop" if call is None else "tool_calls"
        if not body.get("stream"):
            choice = {"index": 0, "message": delta, "finish_reason": "stop"}
            self._json({**head, "choices": [choice], "usage": usage})
            return
        self._events(
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {**head, "choices": [], "usage": usage},
            last="[DONE]",
        )

    def _events(self, *events: dict[str, Any], named: bool = False, last: str = "") -> None:
        text = ""
        for one in events:
            text += f"event: {one['type']}\n" if named else ""
            text += f"data: {json.dumps(one)}\n\n"
        text += f"data: {last}\n\n" if last else ""
        self._send(text, "text/event-stream", 200)

    def _json(self, value: dict[str, Any], status: int = 200) -> None:
        self._send(json.dumps(value), "application/json", status)

    def _send(self, text: str, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


def _call(messages: list[Any], tools: object, result: str) -> str | None:
    """Return the file to write, or ``None`` if a text is the answer."""
    said = json.dumps(messages)
    found = _WRITE.findall(said)
    return found[-1] if tools and found and result not in said else None
