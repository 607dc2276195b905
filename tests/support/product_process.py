"""Start `python -m bot …` by a fork of a process that has loaded it: imports cost most of a start.

What the interpreter or an import reads once stays as the fork server has it, so a call whose
environment differs in that is started by exec, and so is every other program. Its parent is the
server, not the tests, and /proc/PID/environ is the server's; tests of a start itself pass ``real``.
"""

import atexit
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.fork_server import LONGEST, ROOM

ROOT = Path(__file__).resolve().parents[2]
MODULES = frozenset(
    (
        "bot",
        "tests.emulators.discord",
        "tests.emulators.slack",
        "tests.emulators.telegram",
        "tests.faults.gateway_that_dies",
        "tests.support.process_state",
    )
)
"""What is started by a fork."""
_INTERPRETER = re.compile("PYTHON|LD_|TZ|MALLOC_|GLIBC_|OPENSSL_")
"""Variables that an interpreter or a C library reads, once."""
_TAKEN = frozenset(("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"))
"""Those of them that a fork can follow."""
_LOCALES, _COERCED = ("LC_ALL", "LC_CTYPE", "LANG"), "C.UTF-8"
"""The variables that set the locale, highest first; without one, LC_CTYPE is set (PEP 538)."""
BOUND = ("setpriv", "--pdeathsig", "KILL", "--")
"""Makes a program die with the thread that started it, so that killed tests leave none."""
_FRONT = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
_FORKED = {"cwd", "env", "stdin", "stdout", "stderr", "text", "bufsize", "encoding", "errors"}
_FORKED |= {"start_new_session"}
"""The options of ``subprocess.Popen`` that a fork supports."""
_STARTS = threading.Lock()
_SLOWEST_LOOK_S = 0.05
"""As in ``subprocess.Popen.wait``."""


def start(
    argv: Sequence[str],
    *,
    real: bool = False,
    foreground: bool = False,
    bound: bool = False,
    **options: Any,
) -> "subprocess.Popen[Any]":
    """Start a program as ``subprocess.Popen`` does, by a fork if it is ours and not ``real``.

    ``foreground``: it leads a session, the terminal of which is its standard input. ``bound``: it
    is killed when these tests end, or the thread of theirs that calls this.
    """
    words = [str(word) for word in argv]
    if foreground:
        options["start_new_session"] = True
    request = {} if real else _request(words, options)
    if not request or not server(os.getpid()).takes(request):
        front = (sys.executable, "-c", _FRONT) if foreground else ()
        return subprocess.Popen([*(BOUND if bound else ()), *front, *words], **options)
    request |= {"foreground": foreground, "bound": bound}
    return Forked(server(os.getpid()), request, options)


def _request(words: list[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what to request from a server, or ``None`` if none can do it."""
    ours = words[:2] == [sys.executable, "-m"] and words[2] in MODULES
    if not ours or not options.keys() <= _FORKED:
        return {}
    environ = dict(os.environ if options.get("env") is None else options["env"])
    if not any(environ.get(name) for name in _LOCALES):
        environ["LC_CTYPE"] = _COERCED
    cwd = Path(options.get("cwd") or Path.cwd())
    if cwd != ROOT and any((cwd / top).exists() for top in ("bot", "tests")):
        return {}  # another copy of the product
    return {
        "argv": words,
        "environ": environ,
        "cwd": str(cwd),
        "path": [str(cwd)],
        "session": options.get("start_new_session", False),
    }


def run(
    argv: Sequence[str],
    *,
    real: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> "subprocess.CompletedProcess[Any]":
    """Run a program to its end as ``subprocess.run`` does.

    Raises:
        CalledProcessError: with ``check``, it did not end with 0.
        TimeoutExpired: it did not end in time; it is killed.
    """
    given = options.pop("input", None)
    if given is not None:
        options["stdin"] = subprocess.PIPE
    if options.pop("capture_output", False):
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with start(argv, real=real, **options) as process:
        try:
            out, error = process.communicate(given, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, error)
    if check:
        done.check_returncode()
    return done


class Server:
    """The fork server of this test process; it ends with us, because its socket is closed then."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST)
        self._numbers, self._lock = itertools.count(1), threading.Lock()
        with other:
            module, room = "tests.support.fork_server", "-" * ROOM
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, str(other.fileno()), room],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
            )
        self._environ = dict(os.environ)
        self._read: list[str] = self._answer(0)
        atexit.register(self.close)

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self.process.wait(20)

    def takes(self, request: Mapping[str, Any]) -> bool:
        """Return whether a fork would equal an exec; record where it would import from."""
        environ = request["environ"]
        names = {name for name in (*environ, *self._environ) if _INTERPRETER.match(name)}
        names.update(self._read)
        if environ.get("PYTHONPATH") == str(ROOT) and "PYTHONPATH" not in self._environ:
            names.remove("PYTHONPATH")
            request["path"].append(str(ROOT))
        return (
            _locale(environ) == _locale(self._environ)
            and all(environ.get(name) == self._environ.get(name) for name in names - _TAKEN)
            and len(json.dumps(request)) < LONGEST
            and len("\0".join(request["argv"]).encode(errors="surrogateescape")) < ROOM
        )

    def ask(self, request: Mapping[str, Any], fds: Sequence[int] = ()) -> Any:
        """Send a request and return the answer."""
        with self._lock:
            number = next(self._numbers)
            message = json.dumps({**request, "number": number}).encode()
            socket.send_fds(self._socket, [message], fds)
            return self._answer(number)

    def _answer(self, number: int) -> Any:
        """Read the answer of this number; skip one that a test's timeout left behind."""
        while message := self._socket.recv(LONGEST):
            told, value = json.loads(message)
            if told == number:
                return value
        raise RuntimeError(f"the fork server ended, code {self.process.wait(20)}")


def _locale(environ: Mapping[str, str]) -> str:
    return next(filter(None, map(environ.get, _LOCALES)), _COERCED)


def server(pid: int) -> Server:
    """Return the server of this test process; a fork of it needs its own."""
    with _STARTS:
        return _server(pid)


@cache
def _server(pid: int) -> Server:
    assert pid == os.getpid()
    return Server()


class Forked(subprocess.Popen[Any]):
    """A process that a server forks, and reaps when asked whether it has ended."""

    _close_pipe_fds: Callable[..., None]  # Popen has them; its stubs do not show them
    _waitpid_lock: threading.Lock

    def __init__(
        self, server: Server, request: Mapping[str, Any], options: Mapping[str, Any]
    ) -> None:
        self._server, self._request = server, request
        super().__init__(request["argv"], **options)

    def _execute_child(self, *given: Any) -> None:
        pipes = given[10:16]  # p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite
        ends = enumerate((pipes[0], pipes[3], pipes[5]))
        fds = [number if fd == -1 else fd for number, fd in ends]
        self.pid = self._server.ask(self._request, fds)
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        with self._waitpid_lock:
            if self.returncode is None:
                try:
                    self.returncode = self._server.ask({"pid": self.pid})
                except (OSError, RuntimeError):
                    if _deadstate is None:
                        raise
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.0005
        while (code := self._internal_poll()) is None:
            if end is not None and time.monotonic() >= end:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            pause = min(2 * pause, _SLOWEST_LOOK_S)
            time.sleep(pause)
        return code
