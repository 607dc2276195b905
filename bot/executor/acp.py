"""Speak the Agent Client Protocol's few messages with an agent: one session, one prompt.

Version 1 of the protocol, JSON-RPC 2.0, one object per line. This client offers neither files nor
terminals, so an agent uses its own, as the Unix user under which it runs.
"""

import json
from collections.abc import Callable
from typing import Protocol

from core.isolation import wire

VERSION = 1
LONGEST_INPUT = 256 * 1024
"""Bytes that describe a tool call; a person could not judge more than that."""
_AUTH_REQUIRED = -32000
_MOST_WORDS = 2_000

Answer = Callable[[str], None]
"""Called with how a permission was decided: ``allow``, ``deny`` or ``cancelled``."""


class ProgressListener(Protocol):
    """Receives the progress of a prompt."""

    def said(self, text: str) -> None:
        """Receive a piece of what the agent says."""

    def reported(self, kind: str, data: wire.Object) -> None:
        """Receive a tool call."""

    def asked(self, tool_call: wire.Object, answer: Answer) -> None:
        """Decide on a tool call, now or later."""

    def over(self, status: str, data: wire.Object) -> None:
        """Receive how the prompt ended, once."""


class Conversation:
    """One prompt to one agent; ``send`` sends it lines."""

    def __init__(
        self, send: Callable[[bytes], None], listener: ProgressListener, cwd: str, text: str
    ) -> None:
        self._send = send
        self._listener = listener
        self._cwd = cwd
        self._text = text
        self._session = ""
        self._login = ""
        self._next = 0
        self._waiting: dict[int, Callable[[wire.Object], None]] = {}
        self._usage: object = None
        self._cancelled = False
        self._open: list[Answer] = []

    def begin(self) -> None:
        """Start: initialise, open a session, send the prompt."""
        none: wire.Object = {"readTextFile": False, "writeTextFile": False}
        offered: wire.Object = {"fs": none, "terminal": False}
        params: wire.Object = {"protocolVersion": VERSION, "clientCapabilities": offered}
        self._call("initialize", params, self._greeted)

    def hear(self, line: bytes) -> None:
        """Process a line from the agent; a line that is not a message is its program's output."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict):
            return
        method = message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            self._take(method, params if isinstance(params, dict) else {}, message)
            return
        number = message.get("id")
        waiting = self._waiting.pop(number, None) if type(number) is int else None
        if waiting is None:
            return
        failure = message.get("error")
        result = message.get("result")
        if isinstance(failure, dict):
            self._refused(waiting, failure)
        else:
            waiting(result if isinstance(result, dict) else {})

    def cancel(self) -> None:
        """Ask the agent to stop, and answer everything that it asked with ``cancelled``."""
        self._cancelled = True
        for answer in tuple(self._open):
            answer("cancelled")
        if self._session:
            self._send(wire.notification("session/cancel", {"sessionId": self._session}))

    def _call(self, method: str, params: wire.Object, then: Callable[[wire.Object], None]) -> None:
        self._next += 1
        self._waiting[self._next] = then
        self._send(wire.request(self._next, method, params))

    def _greeted(self, result: wire.Object) -> None:
        if result.get("protocolVersion") != VERSION:
            version = result.get("protocolVersion")
            self._fail(
                f"the agent speaks version {str(version)[:40]} of the protocol, not {VERSION}"
            )
            return
        self._login = _by_key(result.get("authMethods"))
        self._open_session({})

    def _open_session(self, _result: wire.Object) -> None:
        params: wire.Object = {"cwd": self._cwd, "mcpServers": []}
        self._call("session/new", params, self._opened)

    def _opened(self, result: wire.Object) -> None:
        session = result.get("sessionId")
        if not isinstance(session, str) or not session:
            self._fail("the agent opened no session")
            return
        self._session = session
        block: wire.Object = {"type": "text", "text": self._text}
        params: wire.Object = {"sessionId": session, "prompt": [block]}
        self._call("session/prompt", params, self._ended)

    def _ended(self, result: wire.Object) -> None:
        reason = result.get("stopReason")
        usage = result.get("usage") or _google(result.get("_meta")) or self._usage
        if reason == "cancelled" and not self._cancelled:
            self._fail("the agent says that it was cancelled, and nobody stopped it")
            return
        status = "cancelled" if self._cancelled else "completed"
        self._listener.over(
            status, {"stop_reason": _words(reason), "token_usage": wire.counts(usage)}
        )

    def _refused(self, waiting: Callable[[wire.Object], None], failure: wire.Object) -> None:
        """Log in if a new session requires that, else end."""
        login, self._login = self._login, ""
        if waiting == self._opened and login and failure.get("code") == _AUTH_REQUIRED:
            self._call("authenticate", {"methodId": login}, self._open_session)
            return
        if self._cancelled:
            self._listener.over("cancelled", {})
            return
        self._fail(f"the agent refused: {_words(failure.get('message'))}")

    def _fail(self, why: str) -> None:
        self._listener.over("failed", {"error": why})

    def _take(self, method: str, params: wire.Object, message: wire.Object) -> None:
        if method == "session/update":
            update = params.get("update")
            if isinstance(update, dict):
                self._updated(update)
        elif method == "session/request_permission" and "id" in message:
            self._permit(message["id"], params)
        elif "id" in message:
            words = f"Unknown method: {method}"
            self._send(wire.error(message["id"], wire.UNKNOWN_METHOD, words))

    def _updated(self, update: wire.Object) -> None:
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            content = update.get("content")
            text = content.get("text") if isinstance(content, dict) else None
            if isinstance(text, str):
                self._listener.said(text)
        elif kind == "tool_call":
            self._listener.reported("tool_call", _shown(update))
        elif kind == "tool_call_update" and update.get("status") in {"completed", "failed"}:
            self._listener.reported("tool_call_update", _shown(update))
        elif kind == "usage_update" and isinstance(update.get("used"), int):
            self._usage = {"usedTokens": update["used"]}

    def _permit(self, number: object, params: wire.Object) -> None:
        """Have a permission decided; pass on only what allows or rejects once."""
        ids = _once(params.get("options"))
        done = False

        def answer(outcome: str) -> None:
            nonlocal done
            if done:
                return
            done = True
            self._open.remove(answer)
            kind = {"allow": "allow_once", "deny": "reject_once"}.get(outcome, "")
            # An agent that offers no one-time allow gets a rejection, never a permanent allow.
            chosen = ids.get(kind) or (ids.get("reject_once") if outcome == "allow" else None)
            self._send(wire.result(number, {"outcome": _outcome(chosen)}))

        self._open.append(answer)
        call = params.get("toolCall")
        if self._cancelled:
            answer("cancelled")
        elif not isinstance(call, dict) or params.get("sessionId") != self._session:
            answer("deny")
        else:
            self._ask(call, answer)

    def _ask(self, call: wire.Object, answer: Answer) -> None:
        about = _about(call)
        size = sum(len(json.dumps(part)) for part in about.values())
        if size > LONGEST_INPUT:
            answer("deny")
        else:
            self._listener.asked(about, answer)


def _outcome(chosen: str | None) -> wire.Object:
    if chosen is None:
        return {"outcome": "cancelled"}
    return {"outcome": "selected", "optionId": chosen}


def _once(options: object) -> dict[str, str]:
    """Return the ids of the options by kind, the first of each.

    An id shared by two options is ambiguous: it could mean more than what was decided.
    """
    found: dict[str, str] = {}
    names: list[str] = []
    for one in options if isinstance(options, list) else []:
        kind, name = (one.get("kind"), one.get("optionId")) if isinstance(one, dict) else ("", "")
        if isinstance(kind, str) and isinstance(name, str):
            names.append(name)
            found.setdefault(kind, name)
    return {kind: name for kind, name in found.items() if names.count(name) == 1}


def _about(call: wire.Object) -> wire.Object:
    """Return what a person needs to see of a tool call: everything that it reports of its input."""
    given = call.get("rawInput") or call.get("content") or call.get("locations") or {}
    command = given.get("command") if isinstance(given, dict) else None
    is_line = call.get("kind") == "execute" and isinstance(command, str)
    return {
        "id": _words(call.get("toolCallId")),
        "kind": _words(call.get("kind") or "other"),
        "title": _words(call.get("title")),
        "input": json.dumps(given, ensure_ascii=False, sort_keys=True),
        "command": command if is_line else "",
    }


def _shown(update: wire.Object) -> wire.Object:
    names = {"id": "toolCallId", "kind": "kind", "title": "title", "status": "status"}
    return {name: _words(update.get(key)) for name, key in names.items() if update.get(key)}


def _by_key(methods: object) -> str:
    """Return the login method that uses an API key, ``""`` if there is none."""
    for one in methods if isinstance(methods, list) else []:
        name = one.get("id") if isinstance(one, dict) else None
        if isinstance(name, str) and "api-key" in name:
            return name
    return ""


def _google(meta: object) -> object:
    """Return the token counts from the place where gemini puts them."""
    quota = meta.get("quota") if isinstance(meta, dict) else None
    counts = quota.get("token_count") if isinstance(quota, dict) else None
    return counts if isinstance(counts, dict) else None


def _words(value: object) -> str:
    return value[:_MOST_WORDS] if isinstance(value, str) else ""
