"""Answer the gateway's calls, and own all that is started for them."""

import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable

from bot.executor.connection import Connection
from core.isolation import wire
from core.runner import remains
from core.runner.supervisor.launcher import become_supervisor
from core.runner.supervisor.processes import procfs, reaper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bot.executor.prompt import Prompt
    from bot.executor.terminal import Terminal

_Handler = Callable[[wire.Object], wire.Object | None]


class CallRefused(Exception):
    """A call that cannot be carried out; its message is the answer."""


class Executor:
    """The loop over calls, child exits and signals. ``build`` identifies the sources of this file.

    ``closed``: other processes of the user were locked out before the first instruction.
    """

    def __init__(
        self, connection: Connection, wake: int, build: str, *, closed: bool = False
    ) -> None:
        self._connection = connection
        self._wake = wake
        self._build = build
        self._closed = closed
        self._supervisors: dict[int, str] = {}
        self._private = ""
        self._prompt: Prompt | None = None
        self._prompt_call: object = None
        self._terminal: Terminal | None = None
        self._handlers: dict[str, _Handler] = {
            wire.PING: self._ping,
            wire.RUN: self._run,
            wire.END_RUN: _end_run,
            wire.EXECUTE_PROMPT: self._execute_prompt,
            wire.CANCEL_PROMPT: self._cancel_prompt,
            wire.SPAWN_TERMINAL: self._spawn_terminal,
            wire.END_TERMINAL: self._end_terminal,
        }

    def serve(self) -> bool:
        """Serve until the connection ends or TERM arrives; then end everything at once.

        Return whether nothing is left.
        """
        try:
            while self._turn(self._ready()):
                continue
        finally:
            reaper.kill_all(set())
            self._tidy()
        return not procfs.own_children()

    def _ready(self) -> set[int]:
        poll = select.poll()
        poll.register(self._connection.fd, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        patience_ms = None
        if self._prompt is not None:
            self._prompt.register(poll)
            patience_ms = self._prompt.patience_ms
        elif self._terminal is not None:
            patience_ms = self._terminal.patience_ms
        return {fd for fd, _ in poll.poll(patience_ms)}

    def _turn(self, ready: set[int]) -> bool:
        if self._connection.fd in ready:
            lines = self._connection.receive()
            if lines is None:
                return False
            for line in lines:
                self._answer(line)
        if self._prompt is not None:
            self._prompt.turn(ready)
        elif self._terminal is not None:
            self._terminal.turn()
        if self._wake in ready:
            heard = os.read(self._wake, 4096)
            if signal.SIGTERM in heard:
                return False
            self._bury()
        self._conclude()
        return True

    def _conclude(self) -> None:
        """Answer the call for a prompt that is over."""
        if self._prompt is not None and self._prompt.answer is not None:
            self._connection.send(wire.result(self._prompt_call, self._prompt.answer))
            self._prompt = None

    def _answer(self, line: bytes) -> None:
        try:
            call = json.loads(line)
        except ValueError:
            self._connection.send(wire.error(None, wire.PARSE_ERROR, "Malformed JSON"))
            return
        method = call.get("method") if isinstance(call, dict) else None
        if isinstance(call, dict) and method is None and self._connection.settle(call):
            return
        if not isinstance(method, str):
            self._connection.send(wire.error(None, wire.INVALID_REQUEST, "Not a request"))
            return
        answer = self._answered(call.get("id"), method, call.get("params", {}))
        if "id" in call and answer is not None:
            self._connection.send(answer)

    def _answered(self, number: object, method: str, params: object) -> bytes | None:
        """Return the answer's line, ``None`` if it comes later."""
        handler = self._handlers.get(method)
        if handler is None:
            return wire.error(number, wire.UNKNOWN_METHOD, f"Unknown method: {method}")
        if not isinstance(params, dict):
            return wire.error(number, wire.INVALID_PARAMS, "params is not an object")
        try:
            return self._result(number, handler(params))
        except CallRefused as refusal:
            return wire.error(number, wire.FAILED, str(refusal))
        except (KeyError, TypeError, ValueError) as mistake:
            words = f"params: {type(mistake).__name__}: {mistake}"
            return wire.error(number, wire.INVALID_PARAMS, words)
        except OSError as failure:
            return wire.error(number, wire.FAILED, f"{method}: {failure.strerror}")

    def _result(self, number: object, result: wire.Object | None) -> bytes | None:
        if result is None:
            self._prompt_call = number
            return None
        return wire.result(number, result)

    def _ping(self, _params: wire.Object) -> wire.Object:
        now = round(time.time() * 1000)
        return {"pong": True, "timestamp": now, "closed": self._closed}

    def _run(self, params: wire.Object) -> wire.Object:
        """Fork a supervisor for the socket that came with the call; it receives the job there."""
        token, build = str(params["session_token"]), params["build"]
        fd = self._connection.take_descriptor()
        if fd is None:
            raise CallRefused("no socket came with the call")
        sock = socket.socket(fileno=fd)
        if build != self._build:
            sock.close()
            raise CallRefused(
                "this executor is of another version; run `sudo sayso executor setup`"
            )
        self._make_private(params.get("private"))
        pid = os.fork()  # noqa: TID251 - the executor is core.runner's launcher for another user
        if pid == 0:
            self._connection.close()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            become_supervisor(sock)
        sock.close()  # at once, since a copy would hide the gateway's death from the supervisor
        self._supervisors[pid] = token
        leaders = [procfs.identity(pid), procfs.identity(os.getpid())]
        return {"pid": pid, "leaders": leaders}

    def _make_private(self, wanted: object) -> None:
        """Create the private folder of a sandboxed run."""
        if isinstance(wanted, dict):
            from bot.executor import private_folder  # noqa: PLC0415 - few runs need it

            run_id = str(wanted["run"])
            private_folder.make(run_id, str(wanted["holds"]))
            self._private = run_id

    def _tidy(self) -> None:
        run_id, self._private = self._private, ""
        if run_id:
            from bot.executor import private_folder  # noqa: PLC0415 - few runs need it

            private_folder.remove(run_id)

    def _execute_prompt(self, params: wire.Object) -> None:
        """Start an agent with a prompt; the answer comes when it is over."""
        from bot.executor.prompt import Prompt  # noqa: PLC0415 - 20 ms that no other call needs

        self._reserve(params)
        self._prompt = Prompt(self._connection, params)

    def _cancel_prompt(self, _params: wire.Object) -> wire.Object:
        if self._prompt is not None:
            self._prompt.cancel()
        return {"cancelled": self._prompt is not None}

    def _spawn_terminal(self, params: wire.Object) -> wire.Object:
        """Start a shell in a terminal; the descriptor of the terminal is sent with the answer."""
        from bot.executor.terminal import Terminal  # noqa: PLC0415 - as above

        self._reserve(params)
        self._terminal = Terminal(self._connection, params)
        return self._terminal.opened()

    def _end_terminal(self, _params: wire.Object) -> wire.Object:
        if self._terminal is not None:
            self._terminal.end()
        return {"ending": self._terminal is not None}

    def _reserve(self, params: wire.Object) -> None:
        """Check that this executor may begin its only request.

        Raises:
            Refused: it has another version, or has already begun one.
        """
        if params["build"] != self._build:
            raise CallRefused(
                "this executor is of another version; run `sudo sayso executor setup`"
            )
        if self._prompt is not None or self._terminal is not None or self._supervisors:
            raise CallRefused("this executor serves something else already")

    def _bury(self) -> None:
        """Collect dead supervisors, kill what one left behind, and report each one's end."""
        ended, _ = reaper.reap()
        if self._prompt is not None:  # its agent's orphans end with it
            for agent, how in ended.items():
                self._prompt.ended(agent, how)
            return
        if self._terminal is not None:
            for pid, how in ended.items():
                self._terminal.ended(pid, how)
            self._terminal.turn()
            return
        over = [self._supervisors.pop(pid) for pid in ended if pid in self._supervisors]
        alive = set(self._supervisors)
        if set(procfs.own_children()) - alive:
            ended = reaper.kill_all(alive)
            over += [self._supervisors.pop(pid) for pid in ended if pid in self._supervisors]
        left = len(set(procfs.own_children()) - set(self._supervisors))
        if over and not left:
            self._tidy()
        for token in over:
            status = "failed" if left else "completed"
            words: wire.Object = {"session_token": token, "status": status, "left": left}
            self._connection.send(wire.notification(wire.REPORT_COMPLETION, words))


def _end_run(params: wire.Object) -> wire.Object:
    """Kill what a dead executor left of a run, found by its mark and its process family."""
    mark, leaders = str(params["mark"]), params["leaders"]
    if not isinstance(leaders, list) or not mark:
        raise TypeError("`leaders` is not a list, or `mark` is empty")
    left = remains.end(mark.encode(), {(int(pid), int(ticks)) for pid, ticks in leaders})
    from bot.executor import private_folder  # noqa: PLC0415 - few calls need it

    private_folder.remove(mark.rpartition("=")[2])
    return {"left": left}
