"""Connect this terminal with one of the gateway's: raw keys to it, raw output from it."""

import base64
import os
import select
import signal
import sys
import termios
import tty

from bot.cli import fail, remark
from bot.cli.call import REFUSED
from bot.cli.paths import socket_path
from bot.cli.terminal.keys import HELP, Keys
from bot.client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CHUNK = 4096
_MOST_UNSENT = 16_384
"""Maximum of typed bytes waiting to be sent; beyond it, no keys are read."""
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class EndedBySignal(Exception):
    """A signal arrived that ends this program."""


class AttachedTerminal:
    """One terminal, from its opening until it ends or is left; the tty is always restored."""

    def __init__(self, client: Client, terminal_id: str) -> None:
        self._client = client
        self._id = terminal_id
        self._keys = Keys()
        self._unsent = b""
        self._sending = 0
        self._attached = 0
        self._answer: dict[str, Any] | None = None
        self._saved: list[Any] | None = None
        self._wake, self._bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def follow(self) -> int:
        """Connect to the terminal; return the exit code of its shell."""
        for number in _ENDING:
            signal.signal(number, _end)
        signal.signal(signal.SIGWINCH, lambda _number, _frame: None)
        signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
        try:
            self._attached = self._client.begin("terminal.attach", {"id": self._id})
            while self._answer is None and not self._keys.left:
                self._turn()
        except KeyboardInterrupt:
            self._restore()
            with Client(
                socket_path()
            ) as another:  # on this connection the answer might not be the next frame
                another.call("exec.cancel", {"id": self._id})
            return 128 + signal.SIGINT
        except EndedBySignal as end:
            return 128 + int(end.args[0])
        except OSError as failure:
            self._restore()
            return fail(f"the connection to the gateway has ended: {failure}", "sayso terminal")
        finally:
            self._restore()
        return self._concluded()

    def _turn(self) -> None:
        readable = [self._client.fileno(), self._wake]
        if self._saved is not None and len(self._unsent) < _MOST_UNSENT:
            readable.append(0)
        ready, _, _ = select.select(readable, [], [])
        if self._wake in ready:
            os.read(self._wake, _CHUNK)
            self._resize()
        if 0 in ready:
            self._type(os.read(0, _CHUNK))
        if self._client.fileno() in ready:
            for frame in self._client.frames():
                self._hear(frame)
        self._send()

    def _type(self, data: bytes) -> None:
        if not data:
            self._keys.left = True  # this terminal is gone
        self._unsent += self._keys.take(data)
        if self._keys.asked_help:
            self._keys.asked_help = False
            _show(HELP.encode())

    def _send(self) -> None:
        """Send what was typed; the next piece is sent once this one was accepted."""
        if self._unsent and not self._sending:
            piece, self._unsent = self._unsent[:_CHUNK], self._unsent[_CHUNK:]
            text = base64.b64encode(piece).decode("ascii")
            self._sending = self._client.begin("terminal.input", {"id": self._id, "bytes": text})

    def _hear(self, frame: "dict[str, Any]") -> None:
        method, params = frame.get("method"), frame.get("params", {})
        if method == "terminal.opened":
            self._saved = termios.tcgetattr(0)
            tty.setraw(0, termios.TCSADRAIN)  # what was typed ahead is for the shell
            self._resize()
        elif method == "terminal.output":
            _show(base64.b64decode(params["data"]))
        elif frame.get("id") == self._attached:
            self._answer = frame
        elif frame.get("id") == self._sending:
            self._sending = 0
            if "error" in frame:
                _show(f"\r\nsayso: {frame['error'].get('message')}\r\n".encode())

    def _resize(self) -> None:
        if self._saved is not None:
            columns, rows = os.get_terminal_size(0)
            size = {"rows": min(max(rows, 1), 1000), "columns": min(max(columns, 1), 1000)}
            self._client.begin("terminal.resize", {"id": self._id, **size})

    def _restore(self) -> None:
        saved, self._saved = self._saved, None
        if saved is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)

    def _concluded(self) -> int:
        if self._answer is None:
            words = f"`sayso terminal --attach {self._id}` goes on with it from this shell"
            remark("note", f"left the terminal {self._id}; {words}")
            return 0
        if "error" in self._answer:
            fail(str(self._answer["error"].get("message")), "sayso terminal")
            return REFUSED
        result = self._answer["result"]
        remark("note", str(result["ended"]))
        return _code(result["exitCode"])


def _code(code: "int | None") -> int:
    """Return the exit code of a shell; one ended by a signal is reported as shells do."""
    if code is None:
        return 1
    return 128 - code if code < 0 else code


def _end(number: int, _frame: object) -> None:
    raise EndedBySignal(number)


def _show(data: bytes) -> None:
    """Write all of it: on a slow terminal, a write may be short."""
    sys.stdout.flush()
    while data:
        data = data[os.write(1, data) :]
