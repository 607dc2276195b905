"""Speak the protocol with an agent, message by message."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bot.executor.acp import LONGEST_INPUT, Answer, Conversation

FOR_GOOD = {"optionId": "g", "name": "Always", "kind": "allow_always"}
ONCE = {"optionId": "o", "name": "Once", "kind": "allow_once"}
NO = {"optionId": "n", "name": "No", "kind": "reject_once"}
NEVER = {"optionId": "nn", "name": "Never", "kind": "reject_always"}


class Scene:
    """A conversation, what it sent, and what it reported."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.reports: list[tuple[str, dict[str, Any]]] = []
        self.questions: list[tuple[dict[str, Any], Answer]] = []
        self.ends: list[tuple[str, dict[str, Any]]] = []
        self.talk = Conversation(self._send, self, "/work", "do it")
        self.talk.begin()

    def _send(self, line: bytes) -> None:
        self.sent.append(json.loads(line))

    def said(self, text: str) -> None:
        """Receive a text."""
        self.texts.append(text)

    def reported(self, kind: str, data: dict[str, Any]) -> None:
        """Receive a tool call."""
        self.reports.append((kind, data))

    def asked(self, tool_call: dict[str, Any], answer: Answer) -> None:
        """Keep a question."""
        self.questions.append((tool_call, answer))

    def over(self, status: str, data: dict[str, Any]) -> None:
        """Receive the end."""
        self.ends.append((status, data))

    def hear(self, **message: object) -> None:
        """Have the agent say a message."""
        self.talk.hear(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def open(self) -> None:
        """Continue until the prompt is there."""
        self.hear(id=1, result={"protocolVersion": 1})
        self.hear(id=2, result={"sessionId": "s"})

    def ask(self, *options: Mapping[str, object], **call: object) -> None:
        """Have the agent ask whether it may use a tool."""
        words = {"toolCallId": "c", "title": "t", **call}
        params = {"sessionId": "s", "toolCall": words, "options": options}
        self.hear(id="q", method="session/request_permission", params=params)


@pytest.fixture
def scene() -> Scene:
    """Return a conversation whose prompt is in progress."""
    found = Scene()
    found.open()
    return found


def test_greets_opens_and_prompts(scene: Scene) -> None:
    """Three calls, which offer the agent nothing of ours."""
    assert [one["method"] for one in scene.sent] == ["initialize", "session/new", "session/prompt"]
    offered = scene.sent[0]["params"]["clientCapabilities"]
    assert offered == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    assert scene.sent[1]["params"] == {"cwd": "/work", "mcpServers": []}
    assert scene.sent[2]["params"]["prompt"] == [{"type": "text", "text": "do it"}]


@pytest.mark.parametrize(
    ("outcome", "options", "chosen"),
    [
        ("allow", (FOR_GOOD, ONCE, NO), "o"),
        ("allow", (FOR_GOOD, NO), "n"),
        ("allow", (FOR_GOOD,), None),
        ("deny", (FOR_GOOD, ONCE, NEVER, NO), "n"),
        ("deny", (FOR_GOOD, ONCE, NEVER), None),
        ("cancelled", (FOR_GOOD, ONCE, NO), None),
        ("anything", (FOR_GOOD, ONCE, NO), None),
        ("allow", (), None),
        ("allow", ({"optionId": 7, "kind": "allow_once"}, ONCE), "o"),
        ("allow", ({"optionId": ["o"], "kind": "allow_once"},), None),
        ("allow", ({"optionId": "o", "kind": []}, {"optionId": "o"}, ONCE), "o"),
    ],
)
def test_options_are_chosen_by_kind(
    scene: Scene, outcome: str, options: tuple[dict[str, object], ...], chosen: str | None
) -> None:
    """Only single allows and single rejections are passed on, whatever they are called.

    What is no option by its types is none.
    """
    scene.ask(*options)
    ((_, answer),) = scene.questions
    answer(outcome)
    answer("allow")  # once

    words = {"outcome": "cancelled"}
    if chosen is not None:
        words = {"outcome": "selected", "optionId": chosen}
    assert scene.sent[3:] == [{"jsonrpc": "2.0", "id": "q", "result": {"outcome": words}}]


def test_a_cancel_answers_what_is_open_and_what_comes(scene: Scene) -> None:
    """Every question is answered `cancelled`, and the agent is asked to stop."""
    scene.ask(ONCE, NO)
    scene.talk.cancel()
    scene.ask(ONCE, NO)

    results = [one["result"] for one in scene.sent[3:] if "result" in one]
    assert results == [{"outcome": {"outcome": "cancelled"}}] * 2
    assert [one["method"] for one in scene.sent[3:] if "method" in one] == ["session/cancel"]
    assert len(scene.questions) == 1
    scene.hear(id=3, result={"stopReason": "end_turn"})
    assert scene.ends[0][0] == "cancelled"


def test_a_line_is_named_as_one(scene: Scene) -> None:
    """Only an `execute` with a command is a line; its whole input is shown either way."""
    scene.ask(ONCE, kind="execute", rawInput={"command": "ls", "timeout": 5})
    scene.ask(ONCE, kind="edit", rawInput={"command": "ls"})
    scene.ask(ONCE, kind="edit", content=[{"type": "diff", "path": "/x", "newText": "n"}])

    line, edit, diff = (about for about, _ in scene.questions)
    assert (line["command"], edit["command"], diff["command"]) == ("ls", "", "")
    assert json.loads(str(line["input"])) == {"command": "ls", "timeout": 5}
    assert json.loads(str(diff["input"]))[0]["newText"] == "n"


def test_what_nobody_could_judge_is_rejected(scene: Scene) -> None:
    """Too large an input, and another session's, are not questions."""
    scene.ask(ONCE, NO, rawInput={"content": "x" * LONGEST_INPUT})
    params = {"sessionId": "other", "toolCall": {}, "options": [ONCE, NO]}
    scene.hear(id="q", method="session/request_permission", params=params)

    assert not scene.questions
    assert [one["result"]["outcome"]["optionId"] for one in scene.sent[3:]] == ["n", "n"]


def test_unknown_methods_and_noise(scene: Scene) -> None:
    """A call is answered -32601; a notification, a remark and a stray answer are ignored."""
    scene.hear(id=9, method="fs/write_text_file", params={})
    scene.hear(method="x/y")
    for line in (b"npm notice", b"[]", b"1", b'{"id": 77, "result": {}}', b"[" * 100_000, b""):
        scene.talk.hear(line)

    (answer,) = scene.sent[3:]
    assert answer["error"] == {"code": -32601, "message": "Unknown method: fs/write_text_file"}


def test_nobody_is_said_to_have_stopped_what_nobody_stopped(scene: Scene) -> None:
    """An agent that cancels its prompt on its own has failed; when asked to, it has not."""
    scene.hear(id=3, result={"stopReason": "cancelled"})
    words = "the agent says that it was cancelled, and nobody stopped it"
    assert scene.ends == [("failed", {"error": words})]


def test_what_was_used_has_plain_names_and_counts(scene: Scene) -> None:
    """Nothing else is passed on: no sentence, no line of its own, no secret, no odd number."""
    usage = {
        "inputTokens": 7,
        "output_tokens": 2**53,
        "x) completed (1 s": 1,
        "two\nlines": 1,
        "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8": 1,
        "n\u200bame": 1,
        "a" * 41: 1,
        "": 1,
        "real": 1.5,
        "true": True,
        "text": "1",
        "less": -1,
        "more": 2**53 + 1,
    }
    scene.hear(id=3, result={"stopReason": "end_turn", "usage": usage})
    ((status, data),) = scene.ends
    assert (status, data["token_usage"]) == (
        "completed",
        {"inputTokens": 7, "output_tokens": 2**53},
    )


def test_messages_and_tool_calls(scene: Scene) -> None:
    """Texts are said, tool calls reported; thoughts are not."""
    for update in (
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}},
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}},
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "kind": "edit"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"},
    ):
        scene.hear(method="session/update", params={"sessionId": "s", "update": update})

    assert scene.texts == ["hi"]
    assert scene.reports == [
        ("tool_call", {"id": "c", "kind": "edit", "title": "t"}),
        ("tool_call_update", {"id": "c", "status": "failed"}),
    ]


def test_logs_in_with_a_key_where_a_session_wants_it() -> None:
    """Once, by the method that a key opens; then it is over."""
    scene = Scene()
    methods = [{"id": "oauth-personal"}, {"id": "gemini-api-key"}]
    scene.hear(id=1, result={"protocolVersion": 1, "authMethods": methods})
    scene.hear(id=2, error={"code": -32000, "message": "Authentication required"})
    scene.hear(id=3, result={})
    scene.hear(id=4, error={"code": -32000, "message": "Authentication required"})

    sent = [(one["method"], one["params"].get("methodId")) for one in scene.sent[2:]]
    assert sent == [("authenticate", "gemini-api-key"), ("session/new", None)]
    assert scene.ends == [("failed", {"error": "the agent refused: Authentication required"})]


@pytest.mark.parametrize("version", [0, 2, None, "1"])
def test_another_version_is_the_end(version: object) -> None:
    """Nothing is sent to an agent that speaks another version."""
    scene = Scene()
    scene.hear(id=1, result={"protocolVersion": version})

    assert scene.ends[0][0] == "failed"
    assert len(scene.sent) == 1
