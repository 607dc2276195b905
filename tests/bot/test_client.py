"""Run the lean client against a real server, and measure what it costs to start."""

import contextlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import core
from bot.client import Client
from core.errors import BadRequest, GatewayUnreachable, SaysoError, StateError, Unanswered

ROOT = Path(core.__file__).parents[1]
SERVER = """
import asyncio, sys
from pathlib import Path
from core.errors import BadRequest, StateError
from core.ipc.unix import listen

async def echo(params, peer, notify):
    return params

async def fail(params, peer, notify):
    raise {"state": StateError("the home is full"), "request": BadRequest("no such thing")}.get(
        params["how"], RuntimeError("hunter2"))

async def slow(params, peer, notify):
    try:
        await asyncio.sleep(60)
    finally:
        Path(params["trace"]).touch()

async def main():
    await listen(Path(sys.argv[1]), {"echo": echo, "fail": fail, "slow": slow})
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def path() -> Iterator[str]:
    """Start a real server in a separate process; return its socket."""
    with tempfile.TemporaryDirectory() as folder:
        where = f"{folder}/gateway.sock"
        command = [sys.executable, "-c", SERVER, where]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as server:
            assert server.stdout is not None
            server.stdout.readline()
            yield where
            server.terminate()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a path short enough for a socket."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_values_come_back_as_they_went(path: str) -> None:
    """Text, numbers and nesting survive both C readers; one connection serves many calls."""
    values = {"text": 'é\n"\\\u2028 \U0001f600', "n": [0, -7, 2.5, None, True], "deep": {"a": [{}]}}
    with Client(path) as client:
        for number in range(50):
            sent = {**values, "number": number}
            assert client.call("echo", sent) == sent
        large = {"x": "y" * 3_000_000}
        assert client.call("echo", large, timeout=30) == large


def test_errors_are_raised_as_their_type(path: str) -> None:
    """What the gateway raised is raised here, with its words; the connection stays usable."""
    with Client(path) as client:
        with pytest.raises(StateError, match="the home is full"):
            client.call("fail", {"how": "state"})
        with pytest.raises(BadRequest, match="no such thing"):
            client.call("fail", {"how": "request"})
        with pytest.raises(SaysoError, match="see the gateway's log"):
            client.call("fail", {"how": "bug"})
        with pytest.raises(SaysoError, match="no method 'nothing'"):
            client.call("nothing", {})
        with pytest.raises(BadRequest, match="NUL"):
            client.call("echo", {"x": "\0"})
        with pytest.raises(TypeError, match="object is not JSON"):
            client.call("echo", {"x": object()})
        assert client.call("echo", {}) == {}


def test_no_gateway_is_explained(folder: Path) -> None:
    """A missing socket and a dead one name the path and what to start; so does a path too long."""
    missing = str(folder / "gateway.sock")
    with pytest.raises(GatewayUnreachable, match=r"gateway\.sock.*sayso serve"):
        Client(missing).call("echo", {})
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(missing)
    with pytest.raises(GatewayUnreachable, match=r"gateway\.sock\. .*sayso serve"):
        Client(missing).call("echo", {})
    with pytest.raises(GatewayUnreachable, match="too long"):
        Client("/tmp/" + "x" * 200).call("echo", {})


def test_a_timeout_says_that_it_may_still_happen(path: str, folder: Path) -> None:
    """The wait ends in time, the gateway is told that no one waits, and the client can continue."""
    trace = folder / "trace"
    with Client(path) as client:
        begin = time.monotonic()
        with pytest.raises(Unanswered, match=r"in time.*may still act"):
            client.call("slow", {"trace": str(trace)}, timeout=0.3)
        assert time.monotonic() - begin < 5
        assert client.call("echo", {"a": 1}) == {"a": 1}
    deadline = time.monotonic() + 10
    while not trace.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert trace.exists()


def test_it_waits_in_line_where_very_many_connect(folder: Path) -> None:
    """A full queue rejects a socket that does not block; the client waits, as long as it may."""
    path = str(folder / "s")
    with _full(path) as listener:
        with (
            pytest.raises(GatewayUnreachable, match="in time; nothing was asked"),
            Client(path) as client,
        ):
            client.call("echo", {}, timeout=0.3)

        answering = threading.Timer(0.3, _answer_all, (listener,))
        answering.start()
        with Client(path) as client:
            assert client.call("echo", {}, timeout=20) == {}
        answering.join()


@pytest.mark.parametrize("timeout", [20, None])
def test_a_signal_takes_nobody_out_of_the_line(folder: Path, timeout: float | None) -> None:
    """The system call ends, and Python calls it connected; the owner of nothing is uid -1."""
    path = str(folder / "s")
    interrupted: list[int] = []
    usual = signal.signal(signal.SIGUSR1, lambda number, _frame: interrupted.append(number))
    interrupting = threading.Timer(0.3, _interrupt, (threading.get_ident(),))
    try:
        with _full(path) as listener:
            answering = threading.Timer(1.0, _answer_all, (listener,))
            answering.start()
            interrupting.start()
            with Client(path) as client:
                assert client.call("echo", {}, timeout=timeout) == {}
            answering.join()
    finally:
        interrupting.join()
        signal.signal(signal.SIGUSR1, usual)
    assert interrupted


def _interrupt(thread: int) -> None:
    signal.pthread_kill(thread, signal.SIGUSR1)


@contextlib.contextmanager
def _full(path: str) -> Iterator[socket.socket]:
    """Listen where no one else can connect until one is accepted."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(path)
        listener.listen(0)
        refused = False
        while not refused:
            other = stack.enter_context(socket.socket(socket.AF_UNIX))
            other.setblocking(False)
            refused = other.connect_ex(path) != 0
        yield listener


def _answer_all(listener: socket.socket) -> None:
    """Take each connection, and answer the one that asks."""
    with contextlib.ExitStack() as stack:
        known = [listener]
        while True:
            for one in select.select(known, (), ())[0]:
                if one is listener:
                    known.append(stack.enter_context(listener.accept()[0]))
                elif one.recv(1 << 16):
                    one.sendall(b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n')
                    return
                else:
                    known.remove(one)


def test_a_frame_that_is_too_large_is_explained(path: str) -> None:
    """The gateway's reason is read even though it disconnects while we send."""
    with Client(path) as client:
        with pytest.raises(SaysoError, match="larger than"):
            client.call("echo", {"x": "y" * (9 << 20)}, timeout=30)
        assert client.call("echo", {}) == {}


@contextlib.contextmanager
def saying(folder: Path, answer: bytes) -> Iterator[str]:
    """Listen, answer one connection with fixed bytes, and disconnect."""
    path = str(folder / "odd.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield path
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"half",
        b"no json\n",
        b"\xff\n",
        b"[]\n",
        b"{}\n",
        b"[" * 100_000 + b"\n",
        b'{"jsonrpc":"2.0","id":99,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{"text":"\x1b[2J"}}\n',  # JSON escapes these
    ],
)
def test_an_odd_answer_is_no_answer(folder: Path, answer: bytes) -> None:
    """Only an answer to this very question is taken for one."""
    with (
        saying(folder, answer) as path,
        Client(path) as client,
        pytest.raises(Unanswered, match=r"no answer came: .*It may have acted") as told,
    ):
        client.call("echo", {}, timeout=5)
    assert "No gateway is listening" not in str(told.value)


def test_frames_come_in_their_order_until_the_gateway_hangs_up(folder: Path) -> None:
    """Notifications and the answer, without what is cut off at the end."""
    note = b'{"jsonrpc":"2.0","method":"exec.output","params":{"n":1}}\n'
    answer = b'{"jsonrpc":"2.0","id":1,"result":{"done":true}}\n'
    heard: list[dict[str, Any]] = []
    with saying(folder, note + answer + b'{"cut') as path, Client(path) as client:
        asked = client.begin("exec.run", {})
        with pytest.raises(ConnectionResetError):
            _hear_all(client, heard)

    assert [one.get("method") for one in heard] == ["exec.output", None]
    assert (heard[1]["id"], client.result(heard[1])) == (asked, {"done": True})


def _hear_all(client: Client, heard: list[dict[str, Any]]) -> None:
    while True:
        heard += client.frames()


def test_without_a_connection_there_are_no_frames(folder: Path) -> None:
    """No one was asked, or the connection was closed."""
    client = Client(str(folder / "s"))

    assert client.fileno() == -1
    with pytest.raises(ConnectionResetError):
        client.frames()


@pytest.mark.parametrize("size", [1, 4 << 20])
def test_what_was_cut_off_was_not_asked(folder: Path, size: int) -> None:
    """A gateway that goes away while the request is sent takes nothing of it: it was not reached.

    The control is the request that was sent whole: what happened to that one is unknown.
    """
    path = str(folder / "s")
    with socket.socket(socket.AF_UNIX) as listener, Client(path) as client:
        listener.bind(path)
        listener.listen(1)
        hang_up = threading.Thread(target=_take_one, args=(listener, b"\n" if size == 1 else b""))
        hang_up.start()
        with pytest.raises(SaysoError) as told:
            client.call("exec.run", {"command": "x" * size}, timeout=20)
        hang_up.join()

    assert ("exec.run" if size == 1 else "") == client.sent
    kind = Unanswered if size == 1 else GatewayUnreachable
    assert (kind, 5 if size == 1 else 1) == (type(told.value), told.value.exit_code)


def _take_one(listener: socket.socket, until: bytes) -> None:
    """Disconnect one connection after it said this much, or anything."""
    with listener.accept()[0] as peer:
        while until not in peer.recv(1 << 16):
            pass


@pytest.mark.parametrize(
    ("method", "advice"),
    [
        ("exec.run", "see `sayso pending` and `sayso history` before you ask again"),
        ("agent.prompt", "see `sayso pending` and `sayso history` before you ask again"),
        ("exec.remote.run", "see `sayso exec sessions` before you ask again"),
        ("exec.approval.resolve", "repeat the command, which does no harm"),
        ("exec.cancel", "repeat the command, which does no harm"),
        ("token.create", "see whether it did before you repeat the command"),
        ("history.list", "Retry: it asked for nothing to be changed"),
    ],
)
def test_without_an_answer_it_is_said_how_to_find_out(
    folder: Path, method: str, advice: str
) -> None:
    """Requests that ask are looked up first, harmless ones may be repeated."""
    with saying(folder, b"") as path, pytest.raises(Unanswered) as told, Client(path) as client:
        client.call(method, {})
    assert advice in str(told.value)


@pytest.mark.parametrize("code", [-32800, -32002])
def test_a_request_that_the_gateway_gave_up_may_have_been_taken(folder: Path, code: int) -> None:
    """A gateway that stops gives up what it had begun, which does not say that nothing happened."""
    answer = f'{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"cancelled"}}}}\n'
    with (
        saying(folder, answer.encode()) as path,
        Client(path) as client,
        pytest.raises(Unanswered, match="It may have acted"),
    ):
        client.call("exec.approval.resolve", {}, timeout=5)


def test_a_socket_of_another_user_is_told_nothing(folder: Path) -> None:
    """A squatter on the path never sees a command."""
    folder.chmod(0o777)
    path = str(folder / "squat.sock")
    script = (
        "import os, socket, sys\n"
        "os.setgid(65534)\n"
        "os.setuid(65534)\n"
        "listener = socket.socket(socket.AF_UNIX)\n"
        "listener.bind(sys.argv[1])\n"
        "listener.listen(1)\n"
        "print('ready', flush=True)\n"
        "print(listener.accept()[0].recv(100), flush=True)\n"
    )
    command = [sys.executable, "-I", "-c", script, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as squatter:
        assert squatter.stdout is not None
        squatter.stdout.readline()
        with pytest.raises(GatewayUnreachable, match="uid 65534 is listening there"):
            Client(path).call("exec.run", {"command": "secret"})
        assert squatter.stdout.readline() == b"b''\n"


def test_starting_imports_built_in_parts_only() -> None:
    """Neither ``json`` nor ``socket`` nor anything slow is loaded with the client."""
    script = (
        f"import sys; before = set(sys.modules); sys.path.insert(0, {str(ROOT)!r})\n"
        "import bot.client\n"
        "print(' '.join(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["_json", "_socket", "bot", "bot.client"]
