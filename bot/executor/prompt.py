"""Run one prompt: start the agent, talk to it, pass on what it asks and says, end it."""

import os
import queue
import select
import signal
import subprocess  # noqa: TID251 - the executor starts agents
import time
from typing import IO

from bot.executor.acp import Answer, Conversation
from bot.executor.connection import Connection
from bot.executor.model_proxy import ModelProxy, NoKey, Upstream
from core.isolation import wire
from core.runner.supervisor.processes import procfs, reaper

_LONGEST_LINE = 32 * 1024 * 1024
_CHUNK = 64 * 1024
_FLUSH_S = 0.04
"""Time between two reports of text: half of what a session token allows."""
_MOST_TEXT = 16 * 1024
"""Characters of what an agent says in one report."""
_GRACE_S = 5.0
"""How long an agent may take to stop when asked to."""
_KEY_PATIENCE_S = 30.0
_LAST_WORDS = 2_000
_MOST_UNREAD = 32 * 1024 * 1024
"""How many bytes are buffered at most for an agent that does not read them."""


class Prompt:
    """The call ``execute_prompt``: under way from its start until ``answer`` is set.

    Raises:
        KeyError, TypeError, ValueError: a parameter is missing or wrong.
        OSError: the agent cannot be started.
    """

    def __init__(self, connection: Connection, params: wire.Object) -> None:
        self.answer: wire.Object | None = None
        self._connection = connection
        self._token = str(params["session_token"])
        self._text = ""
        self._flush_at = self._kill_at = self._reported_at = 0.0
        self._out = bytearray()
        self._lines = wire.Lines(_LONGEST_LINE)
        self._last_words = b""
        environ = self._environment(params)
        command, cwd = params["command"], str(params["cwd"])
        if not isinstance(command, list) or not command:
            raise TypeError("`command` is not a list of words")
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
            signal.signal(number, _unheeded)  # caught, so that children have the default
        self._process = subprocess.Popen(  # noqa: S603 - the gateway's call names it
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environ,
            start_new_session=True,
        )
        self._pipes = [_nonblocking(pipe) for pipe in self._streams()]
        self._talk = Conversation(self._write, self, cwd, str(params["prompt"]))
        leaders = [procfs.identity(self._process.pid), procfs.identity(os.getpid())]
        self._report("agent_started", {"leaders": leaders})
        self._talk.begin()

    @property
    def patience_ms(self) -> int | None:
        """Return how long to wait for input until ``turn`` is due, ``None`` for no limit."""
        due = [at for at in (self._flush_at, self._kill_at) if at]
        return max(0, round((min(due) - time.monotonic()) * 1000) + 1) if due else None

    def register(self, poll: select.poll) -> None:
        """Register the descriptors that this prompt waits for."""
        stdin, *readable = self._pipes
        for fd in readable:
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        if self._out and stdin >= 0:
            poll.register(stdin, select.POLLOUT)

    def turn(self, ready: set[int]) -> None:
        """Process what has arrived, and do what is due."""
        stdin, stdout, stderr = self._pipes
        if stderr in ready:
            self._last_words = (self._last_words + self._read(2))[-_LAST_WORDS:]
        if stdout in ready:
            self._hear(self._read(1))
        if stdin in ready:
            self._write(b"")
        now = time.monotonic()
        if self._flush_at and now >= self._flush_at:
            self._flush()
        if self._kill_at and now >= self._kill_at:
            self.over("cancelled", {})

    def ended(self, pid: int, status: int) -> None:
        """Handle the end of a child: without its agent there is no answer to wait for."""
        if pid != self._process.pid:
            return
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._hear(self._read(1))
        words = (self._last_words + self._read(2))[-_LAST_WORDS:].decode(errors="replace")
        how = f"the agent ended ({self._process.returncode}) before it had answered"
        said = " ".join(words.split())
        self.over("failed", {"error": f"{how}: {said}" if said else how})

    def cancel(self) -> None:
        """Ask the agent to stop, and end it if it does not."""
        self._kill_at = time.monotonic() + _GRACE_S
        self._talk.cancel()

    def said(self, text: str) -> None:
        """Report what the agent says at once, and what follows closely in batches."""
        self._text += text
        now = time.monotonic()
        if len(self._text) >= _MOST_TEXT or now >= self._reported_at + _FLUSH_S:
            self._flush()
        elif not self._flush_at:
            self._flush_at = self._reported_at + _FLUSH_S

    def reported(self, kind: str, data: wire.Object) -> None:
        """Report a tool call, after what was said before it."""
        self._flush()
        self._report(kind, data)

    def asked(self, tool_call: wire.Object, answer: Answer) -> None:
        """Have the gateway decide; anything other than a clear allow denies."""
        self._flush()

        def decided(message: wire.Object) -> None:
            result = message.get("result")
            outcome = result.get("outcome") if isinstance(result, dict) else None
            answer(outcome if outcome in {"allow", "cancelled"} else "deny")

        params: wire.Object = {"session_token": self._token, "tool_call": tool_call}
        self._connection.call(wire.REQUEST_PERMISSION, params, decided)

    def over(self, status: str, data: wire.Object) -> None:
        """End the agent and everything that it started, then set the answer."""
        if self.answer is not None:
            return
        self._flush()
        reaper.kill_all(set())
        if self._process.returncode is None:
            self._process.returncode = -9
        self._close()
        left = len(procfs.own_children())
        self.answer = {"status": status, "left": left, "token_usage": {}, **data}
        done: wire.Object = {"session_token": self._token, "status": status, "left": left}
        self._connection.send(wire.notification(wire.REPORT_COMPLETION, done))

    def _environment(self, params: wire.Object) -> dict[str, str]:
        given, model = params["env"], params.get("model")
        if not isinstance(given, dict):
            raise TypeError("`env` is not an object")
        environ = {str(name): str(value) for name, value in given.items()}
        if isinstance(model, dict):
            to = Upstream(str(model["url"]), str(model["header"]), str(model["prefix"]))
            service = str(model["service"])
            proxy = ModelProxy(to, lambda: self._key(service))
            for name, value in environ.items():
                environ[name] = value.replace("{url}", proxy.url).replace("{token}", proxy.token)
        return environ

    def _key(self, service: str) -> str:
        """Return a key from the gateway, for one request; called from the proxy's threads.

        Raises:
            NoKey: there is none.
        """
        box: queue.SimpleQueue[wire.Object] = queue.SimpleQueue()
        params: wire.Object = {"session_token": self._token, "service": service}
        self._connection.call(wire.GET_API_KEY, params, box.put)
        try:
            answer = box.get(timeout=_KEY_PATIENCE_S)
        except queue.Empty:
            raise NoKey("the gateway did not answer") from None
        result = answer.get("result")
        key = result.get("api_key") if isinstance(result, dict) else None
        if not isinstance(key, str):
            failure = answer.get("error")
            raise NoKey(str(failure.get("message")) if isinstance(failure, dict) else "no answer")
        return key

    def _hear(self, data: bytes) -> None:
        try:
            for line in self._lines.feed(data):
                if self.answer is None:
                    self._talk.hear(line)
        except wire.LongLine:
            self.over("failed", {"error": "the agent sent a line that is too long"})

    def _read(self, which: int) -> bytes:
        """Return everything received on a stream; close it at its end."""
        data = b""
        while self._pipes[which] >= 0 and len(data) < 16 * _CHUNK:
            try:
                piece = os.read(self._pipes[which], _CHUNK)
            except BlockingIOError:
                break
            if not piece:
                self._pipes[which] = -1
                self._streams()[which].close()
            data += piece
        return data

    def _write(self, line: bytes) -> None:
        """Write as much as the agent takes now; the rest waits."""
        self._out += line
        try:
            while self._out and self._pipes[0] >= 0:
                del self._out[: os.write(self._pipes[0], self._out[:_CHUNK])]
        except BlockingIOError:
            if len(self._out) > _MOST_UNREAD:
                self._out.clear()
                self.over("failed", {"error": "the agent does not read what is sent to it"})
        except OSError:
            self._out.clear()  # it has ended, which is handled elsewhere

    def _flush(self) -> None:
        text, self._text, self._flush_at = self._text, "", 0.0
        if text:
            self._reported_at = time.monotonic()
        for start in range(0, len(text), _MOST_TEXT):  # a report is one line, and must be short
            self._report("agent_message", {"text": text[start : start + _MOST_TEXT]})

    def _report(self, kind: str, data: wire.Object) -> None:
        params: wire.Object = {"session_token": self._token, "message_type": kind, "data": data}
        self._connection.send(wire.notification(wire.REPORT_MESSAGE, params))

    def _streams(self) -> list[IO[bytes]]:
        process = self._process
        return [one for one in (process.stdin, process.stdout, process.stderr) if one is not None]

    def _close(self) -> None:
        self._pipes = [-1, -1, -1]
        for one in self._streams():
            try:
                one.close()
            except OSError:
                continue


def _unheeded(_number: int, _frame: object) -> None:
    """Do nothing: the executor ends with its connection."""


def _nonblocking(pipe: IO[bytes]) -> int:
    os.set_blocking(pipe.fileno(), False)
    return pipe.fileno()
