"""Fork `python -m bot …` for ``product_process``: one thread, no loop, and no file of a home open.

A request is one message with three descriptors; its answer is one message without any. A child
takes the descriptors, folder, variables and words that an exec would give it, and continues with
``__main__``.
"""

import atexit
import ctypes
import fcntl
import gc
import io
import json
import os
import runpy
import signal
import socket
import sys
import sysconfig
import termios
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from bot.cli import modules
from core.programs.profiles.tables import FOLDER, table

GATEWAY = (
    "bot.api.app",
    "bot.api.gate_proof",
    "bot.app",
    "bot.doctor.people",
    "bot.doctor.secret_files",
    "bot.node.app",
    "bot.page.app",
    "bot.service.report",
    "bot.wiring.sighup",
    "channels.discord.channel",
    "channels.push.channel",
    "channels.slack.channel",
    "channels.telegram.channel",
    "core.hosts.node",
    "core.nodes.listener",
    "core.store.engine.timed",
    "anyio._backends._asyncio",
    "httpcore",
)
"""What a gateway imports before it answers, with what its libraries import when they are used."""
UNUSED = ("slack_bolt", "uvicorn", "wsgiref.handlers")
"""Parts that read variables and that no product runs: assistants, a command line, CGI."""
LONGEST = 1 << 17
"""Bytes of a request: a socket takes no more in one piece."""
ROOM = 1 << 13
"""Bytes of the last word of our command line; the children write their own over it."""
_START, _END = 45, 46
"""Where /proc/PID/stat says where the command line is, counted from the state (proc(5): 48, 49)."""
_PR_SET_PDEATHSIG = 1
_Request = dict[str, Any]


class _Noted(type(os.environ)):  # type: ignore[misc]
    """The environment while the product is loaded: it records what is read."""

    read: set[str] = set()  # noqa: RUF012 - the one environment

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return str(super().__getitem__(name))


def main() -> None:
    """Load the product, then fork for each request until the other end is closed."""
    lines = socket.socket(fileno=int(sys.argv[1]))
    sysconfig.get_config_vars()  # reads HOME, for a user's packages
    for name in UNUSED:
        import_module(name)
    os.environ.__class__ = _Noted
    for name in (*modules().values(), *GATEWAY):
        import_module(name)
    for path in FOLDER.rglob("*.toml"):
        table(str(path.relative_to(FOLDER).with_suffix("")))  # each gateway reads most of them
    os.environ.__class__ = _Noted.__base__
    # Restore what the tests ignore: a program started later should not ignore it by accident.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    gc.freeze()
    _answer(lines, 0, sorted(_Noted.read))
    request = _child(lines)
    if request is None:
        os._exit(0)
    _run(request)


def _child(lines: socket.socket) -> _Request | None:
    """Answer requests; return one in the process forked for it, and ``None`` at the end."""
    while True:
        message, fds, _, _ = socket.recv_fds(lines, LONGEST, 3)
        if not message:
            return None
        request = json.loads(message)
        if "pid" in request:
            pid, status = os.waitpid(request["pid"], os.WNOHANG)
            _answer(lines, request["number"], os.waitstatus_to_exitcode(status) if pid else None)
            continue
        until, taken = os.pipe()
        pid = _fork()
        if pid == 0:
            lines.detach()
            _take_streams(request, fds, taken)
            _take(request)
            os.close(taken)
            return request  # type: ignore[no-any-return]
        for fd in (*fds, taken):
            os.close(fd)
        os.read(until, 1)
        os.close(until)
        _answer(lines, request["number"], pid)


def _fork() -> int:
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:
        raise RuntimeError(
            f"an import has started {threads - 1} threads, which no fork takes along"
        )
    return os.fork()


def _answer(lines: socket.socket, number: int, value: object) -> None:
    lines.send(json.dumps([number, value]).encode())


def _take_streams(request: _Request, fds: list[int], taken: int) -> None:
    """Take over our descriptors; ``taken`` stays open until we are what was asked for, or fail."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, taken)
    os.closerange(taken + 1, os.sysconf("SC_OPEN_MAX"))
    if request["session"]:
        os.setsid()
    if request["foreground"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if request["bound"]:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    unbuffered = bool(request["environ"].get("PYTHONUNBUFFERED"))
    sys.stdin, sys.stdout, sys.stderr = (_stream(fd, unbuffered) for fd in range(3))
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))


def _take(request: _Request) -> None:
    """Set folder, variables and words, and accept signals."""
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    _name(request["argv"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.orig_argv = request["argv"]
    sys.argv = request["argv"][2:]
    more = request["path"]
    sys.path[:] = [*more, *(one for one in sys.path[1:] if one not in more[1:])]
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _name(argv: list[str]) -> None:
    """Show the words in /proc/PID/cmdline, as far as the kernel says where they are."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    start, end = int(fields[_START]), int(fields[_END])
    words = b"".join(os.fsencode(word) + b"\0" for word in argv)
    if len(words) <= end - start:
        ctypes.memmove(start, words.ljust(end - start, b"\0"), end - start)


def _stream(number: int, unbuffered: bool) -> io.TextIOWrapper:
    """Open a standard stream as the interpreter does at its start (pylifecycle.c, create_stdio)."""
    name = ("stdin", "stdout", "stderr")[number]
    old = getattr(sys, name)
    raw = io.FileIO(number, "w" if number else "r", closefd=False)
    raw.name = f"<{name}>"
    buffered = io.BufferedWriter if number else io.BufferedReader
    made = io.TextIOWrapper(
        raw if unbuffered and number else buffered(raw),
        encoding=old.encoding,
        errors=old.errors,
        newline="\n",
        line_buffering=not unbuffered and (number == 2 or raw.isatty()),
        write_through=unbuffered,
    )
    made.mode = "w" if number else "r"  # type: ignore[misc] # as create_stdio does
    return made


def _run(request: _Request) -> None:
    """Run the program; one that stays exits as usual, the rest without a last pass over objects."""
    try:
        runpy.run_module(request["argv"][2], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        lasting = request["argv"][3:4] == ["serve"] or request["argv"][3:5] == ["node", "run"]
        if lasting or not isinstance(end.code, int):
            raise
        threading._shutdown()  # type: ignore[attr-defined]  # as Py_FinalizeEx, in its order
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        os._exit(end.code)


if __name__ == "__main__":
    main()
