"""Open a shell in a terminal in a real executor: S2's ``spawn_terminal``, descriptor and all."""

import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import termios
from collections.abc import Iterator
from typing import Any

import pytest

from core.isolation import wire
from tests.support.executors import BUILD, Direct, direct
from tests.support.runs import alive
from tests.support.waiting import wait_until

SIZE = struct.Struct("HHHH")


class Shell:
    """A shell's terminal, as the gateway holds it."""

    def __init__(self, executor: Direct, fd: int, answer: dict[str, Any], heard: list[Any]) -> None:
        self.executor, self.fd, self.answer, self.heard = executor, fd, answer, heard
        self.shown = b""

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.fd, text.encode())

    def shows(self, words: bytes) -> None:
        """Read until words appear."""

        def look() -> bool:
            if select.select([self.fd], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):  # EIO: no one has the terminal any more
                    self.shown += os.read(self.fd, 65536)
            return words in self.shown

        wait_until(repr(words), look)

    def report(self, kind: str) -> dict[str, Any]:
        """Return the executor's report of a kind, once it sends one."""

        def look() -> Any:
            found = [one["params"] for one in self.heard if one.get("method")]
            mine = [one for one in found if kind in (one.get("message_type"), one.get("status"))]
            if not mine and select.select([self.executor.sock], [], [], 0.1)[0]:
                self.heard += [json.loads(one) for one in self.executor.hear().splitlines()]
            return mine

        params = dict(wait_until(kind, look)[0])
        return dict(params.get("data", params))


@contextlib.contextmanager
def shell(path: str, **given: object) -> Iterator[Shell]:
    """Start an executor, and a shell in it."""
    params = {
        "session_token": "t",
        "build": BUILD,
        "terminal_id": "t1",
        "shell": "/bin/sh",
        "cwd": "/tmp",
        "env": {"PATH": "/usr/bin:/bin", "TERM": "xterm"},
        "rows": 30,
        "columns": 101,
        **given,
    }
    with direct(path) as executor:
        executor.say(wire.request(7, wire.SPAWN_TERMINAL, params))
        data, fds, *_ = socket.recv_fds(executor.sock, 65536, 4)
        while data.count(b"\n") < 2:
            more, extra, *_ = socket.recv_fds(executor.sock, 65536, 4)
            data, fds = data + more, fds + extra
        heard = [json.loads(line) for line in data.splitlines()]
        (answer,) = [one["result"] for one in heard if one.get("id") == 7]
        (fd,) = fds
        try:
            yield Shell(executor, fd, answer, heard)
        finally:
            os.close(fd)


def test_the_answer_is_that_of_s2(executor_path: str) -> None:
    """``{terminal_id, pty_fd}``; the descriptor comes with it, and a shell is behind it."""
    with shell(executor_path) as found:
        assert (found.answer["terminal_id"], found.answer["pty_fd"]) == ("t1", 0)
        found.type("stty size; tty; echo in $PWD; echo $TERM\n")
        found.shows(b"30 101")
        found.shows(b"/dev/pts/")
        found.shows(b"in /tmp")


def test_a_new_size_is_heard(executor_path: str) -> None:
    """The size is set at the gateway's end; `stty size` says so."""
    with shell(executor_path) as found:
        found.type("echo re''ady\n")
        found.shows(b"ready")
        fcntl.ioctl(found.fd, termios.TIOCSWINSZ, SIZE.pack(44, 133, 0, 0))
        found.type("stty size\n")
        found.shows(b"44 133")


def test_ctrl_c_reaches_the_program_in_front(executor_path: str) -> None:
    """The terminal turns it into a signal, for the foreground alone; the shell continues."""
    with shell(executor_path) as found:
        found.type("sleep 1000; echo code-$?\n")
        found.type("echo la''ter\n")
        # The shell starts it before it gives it the terminal, and until then ^C is the shell's.
        wait_until("sleep", lambda: os.tcgetpgrp(found.fd) != found.answer["pid"])
        found.type("\x03")
        found.shows(b"^C")  # what arrives with it may be discarded (termios(3), NOFLSH)
        assert b"later" not in found.shown
        found.type("echo still $((20+3))\n")
        found.shows(b"still 23")


def test_its_end_is_reported(executor_path: str) -> None:
    """The exit code comes, then the completion, with nothing left."""
    with shell(executor_path) as found:
        found.type("sleep 1000 & exit 7\n")
        assert found.report("terminal_ended") == {"code": 7}
        assert found.report("completed")["left"] == 0


def test_ended_gently_then_killed(executor_path: str) -> None:
    """One that ends by HUP or TERM does; one that ignores both is killed after the grace period."""
    with shell(executor_path) as found:
        found.type("trap '' HUP TERM; trap 'echo bye' EXIT; echo arm''ed\n")
        found.shows(b"armed")
        found.executor.say(wire.request(8, wire.END_TERMINAL, {"session_token": "t"}))
        assert found.report("terminal_ended") == {"code": -9}
    with shell(executor_path) as found:
        found.type("echo re''ady\n")
        found.shows(b"ready")
        found.executor.say(wire.request(8, wire.END_TERMINAL, {"session_token": "t"}))
        assert found.report("terminal_ended")["code"] in {-1, -15}


def test_the_end_of_the_connection_ends_everything(executor_path: str) -> None:
    """A gateway that died leaves no shell and no background job; the control is alive before."""
    with shell(executor_path) as found:
        found.type("setsid sleep 1000 & echo pid=$!-\n")
        found.shows(b"-\r\n")
        pid = found.answer["pid"]
        assert alive(pid)
        found.executor.sock.close()
        found.executor.process.wait(30)
        wait_until("its end", lambda: not alive(pid))


@pytest.mark.parametrize(
    "wrong", [{"shell": "sh"}, {"env": []}, {"rows": 0}, {"columns": "x"}, {"build": "another"}]
)
def test_wrong_params_start_nothing(executor_path: str, wrong: dict[str, object]) -> None:
    """An invalid request for a terminal is refused, and the executor keeps serving."""
    params = {
        "session_token": "t",
        "build": BUILD,
        "terminal_id": "t1",
        "shell": "/bin/sh",
        "cwd": "/tmp",
        "env": {},
        "rows": 24,
        "columns": 80,
        **wrong,
    }
    with direct(executor_path) as executor:
        executor.say(wire.request(7, wire.SPAWN_TERMINAL, params))
        said = json.loads(executor.hear())
        executor.say(wire.request(8, wire.PING, {}))
        after = json.loads(executor.hear())

    assert "error" in said
    assert after["result"]["pong"] is True
