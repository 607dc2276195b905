"""Keep the socket private, let one gateway own it, and close it calmly."""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import core
from core.errors import AnotherGateway, StateError
from core.ipc.connection_slots import MOST_WAITING
from core.ipc.jsonrpc import Limits
from core.ipc.peer import start_ticks
from core.ipc.socket_file import LONGEST_PATH, is_owned
from core.ipc.unix import listen
from tests.core.ipc.serving import Methods, code, request, server, talk

ROOT = Path(core.__file__).parents[1]
NOBODY = 65534
AS_NOBODY = f"""
import os, socket, sys
if os.getuid() == 0:
    os.setgid({NOBODY})
    os.setuid({NOBODY})
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(10)
peer.connect(sys.argv[1])
print(peer.makefile().readline(), end="")
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the socket, in a folder of its own."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder / "gateway.sock"


def form(path: Path) -> str:
    """Return type and mode of a path, as ``ls`` writes it; empty if nothing is there."""
    return stat.filemode(path.lstat().st_mode) if path.exists() else ""


async def descriptors() -> int:
    """Count the open descriptors, once asyncio has closed what it was told to close."""
    for _ in range(10):  # by turns: however long one lasts, it may close one thing
        await asyncio.sleep(0.005)
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the kernel's list of descriptors


async def test_the_socket_is_private(path: Path) -> None:
    """The socket has mode 0600; a missing folder is made 0700."""
    inner = path.parent / "new" / "s"
    served = await listen(inner, Methods().table())
    await served.close()
    assert form(inner.parent) == "drwx------"
    async with server(path, Methods()):
        assert form(path) == "srw-------"
    assert form(path) == ""


async def test_the_kernel_says_who_asks(path: Path) -> None:
    """Pid, ids and start time come from the connection."""
    async with server(path, Methods()), talk(path) as one:
        answer = await one.ask(request("whoami"))
    me = os.getpid()
    assert answer["result"] == [me, os.getuid(), os.getgid(), start_ticks(me)]
    assert start_ticks(me) is not None
    assert start_ticks(2**22 + 1) is None


@pytest.fixture
def reachable() -> Iterator[Path]:
    """Return a path that other users can reach once its folder is opened to them."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "gateway.sock"


def open_to_all(path: Path) -> None:
    """Let every user reach the socket, as a careless administrator would."""
    path.chmod(0o666)
    path.parent.chmod(0o755)


async def said_to_another_user(path: Path, uid: int) -> str:
    """Serve ``uid``, let a process of another user connect; return what it is told in 1 s."""
    async with server(path, Methods(), uids=frozenset({uid})):
        open_to_all(path)
        command = (sys.executable, "-I", "-c", AS_NOBODY, str(path))
        asker = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert asker.stdout is not None
        try:
            async with asyncio.timeout(1.0):
                return (await asker.stdout.readline()).decode()
        except TimeoutError:
            asker.kill()
            return ""
        finally:
            await asker.wait()


async def test_another_user_is_refused(reachable: Path) -> None:
    """Even a user who can reach the socket is told so and disconnected."""
    asker = NOBODY if os.getuid() == 0 else os.getuid()
    told = await said_to_another_user(reachable, asker + 1)
    assert f"belongs to uid {asker + 1}; uid {asker} may not use it" in told
    # Negative control: served as its owner, the same process is told nothing.
    assert await said_to_another_user(reachable, asker) == ""


def shared_folder() -> Path:
    """Return a folder that other users can reach; the caller removes it."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    return folder


async def test_a_shared_socket_serves_those_who_are_listed(tmp_path: Path) -> None:
    """Another user is served if its uid is listed, and otherwise sent away by name."""
    del tmp_path  # others cannot enter it
    assert os.getuid() == 0, "run as root: it takes a second user"
    folder = shared_folder()
    try:
        for listed in (True, False):
            uids = frozenset({NOBODY if listed else NOBODY - 1})
            path = folder / "agents.sock"
            served = await listen(path, Methods().table(), uids=uids, shared=True)
            call = f"peer.sendall({json.dumps(request('whoami')).encode()!r} + bytes([10])); print("
            asker = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-c", AS_NOBODY.replace("print(", call, 1), str(path)),
                stdout=asyncio.subprocess.PIPE,
            )
            answer = (await asker.communicate())[0].decode()
            await served.close()
            expected = f",{NOBODY},{NOBODY}," if listed else "is not listed in intake.unix"
            assert expected in answer
    finally:
        shutil.rmtree(folder)


async def test_a_shared_socket_needs_a_folder_that_is_ours_alone(tmp_path: Path) -> None:
    """A user who may write there could replace the socket with their own."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    await (await listen(folder / "s", Methods().table(), shared=True)).close()

    folder.chmod(0o775)
    with pytest.raises(StateError, match="writable by nobody else"):
        await listen(folder / "s", Methods().table(), shared=True)


async def test_a_second_gateway_is_refused(path: Path) -> None:
    """While one listens no other can, and the first one's socket stays."""
    async with server(path, Methods()):
        with pytest.raises(AnotherGateway, match="already"):
            await listen(path, Methods().table())
        async with talk(path) as one:
            assert "result" in await one.ask(request("echo"))


async def test_its_lock_says_that_it_lives(path: Path) -> None:
    """Even if its socket is gone; once it has closed, or if there was none, it is free."""
    before = is_owned(path)
    async with server(path, Methods()):
        path.unlink()
        during = is_owned(path), is_owned(Path(f"{path.parent}{'/../home' * 30}/{path.name}"))

    assert (before, during, is_owned(path)) == (False, (True, True), False)


async def test_a_listener_without_a_lock_is_respected(path: Path) -> None:
    """A live socket is never removed, whoever holds it."""
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen(1)
        with pytest.raises(AnotherGateway):
            await listen(path, Methods().table())
    assert form(path)


async def test_a_listener_with_a_full_queue_is_respected(path: Path) -> None:
    """It does not admit us, which only a live one can do."""
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(socket.socket(socket.AF_UNIX))
        other.bind(str(path))
        other.listen(0)
        refused = False
        while not refused:
            guest = stack.enter_context(socket.socket(socket.AF_UNIX))
            guest.setblocking(False)
            refused = guest.connect_ex(str(path)) != 0
        with pytest.raises(AnotherGateway):
            await listen(path, Methods().table())
    assert form(path)


async def test_a_file_in_the_sockets_place_is_kept(path: Path) -> None:
    """What is not a socket is not ours to remove."""
    os.close(os.open(path, os.O_CREAT, 0o600))
    with pytest.raises(StateError, match="not a socket"):
        await listen(path, Methods().table())
    assert form(path) == "-rw-------"


async def test_a_left_over_socket_is_replaced(path: Path) -> None:
    """After kill -9 the next gateway takes its place."""
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from core.ipc.unix import listen\n"
        "async def main():\n"
        "    await listen(Path(sys.argv[1]), {})\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False, cwd=ROOT)  # noqa: ASYNC221 - nothing else runs on this loop
    assert form(path) == "srw-------"
    async with server(path, Methods()), talk(path) as one:
        assert "result" in await one.ask(request("echo"))


async def test_a_path_that_is_too_long_is_explained(path: Path) -> None:
    """The kernel takes 107 bytes; one more names the length and the solution."""
    fits = path.parent / ("s" * (LONGEST_PATH - len(str(path.parent)) - 1))
    served = await listen(fits, Methods().table())
    await served.close()
    with pytest.raises(StateError, match=r"has 108 bytes.*107.*SAYSO_HOME"):
        await listen(fits.with_name(fits.name + "s"), Methods().table())


async def test_a_folder_that_others_enter_is_refused(path: Path) -> None:
    """The folder keeps others away from the socket before its mode is set."""
    path.parent.chmod(0o755)
    with pytest.raises(StateError, match="chmod 700"):
        await listen(path, Methods().table())
    assert form(path) == ""


async def test_closing_lets_requests_finish_within_the_grace(path: Path) -> None:
    """Nothing new is accepted; what is in flight is answered, then the connection ends."""
    methods = Methods()
    async with server(path, methods) as served, talk(path) as one, talk(path) as idle:
        await one.send(request("slow", 1))
        await methods.started.acquire()
        closing = asyncio.ensure_future(served.close(grace_s=10))
        assert await idle.ended()
        with pytest.raises(OSError):
            await asyncio.open_unix_connection(path)
        methods.release.set()
        assert (await one.read())["id"] == 1
        assert await one.ended()
        await closing
    assert methods.ended == ["released"]


async def test_closing_cancels_what_outlasts_the_grace(path: Path) -> None:
    """A request that does not end is cancelled and told so; the server is down in time."""
    methods = Methods()
    async with server(path, methods) as served, talk(path) as one:
        await one.send(request("slow", 1))
        await methods.started.acquire()
        async with asyncio.timeout(3):
            await served.close(grace_s=0.1)
        assert code(await one.read()) == -32800
        assert await one.ended()
    async with server(path, Methods()), talk(path) as one:
        assert "result" in await one.ask(request("echo"))


async def test_connections_beyond_the_limit_are_told(path: Path) -> None:
    """One too many is told why when it asks; a slot that becomes free can be taken."""
    async with server(path, Methods(), max_connections=2), talk(path) as one:
        assert "result" in await one.ask(request("echo"))
        async with talk(path) as two:
            assert "result" in await two.ask(request("echo"))
            async with talk(path) as three:
                assert code(await three.ask(request("echo"))) == -32003
                assert await three.ended()
        async with asyncio.timeout(20):
            while "result" not in await asked_anew(path):
                await asyncio.sleep(0.05)


async def test_whoever_says_nothing_is_hung_up_on(path: Path) -> None:
    """A connection without a request is closed in time, half a frame or not; others are not."""
    limits = Limits(first_s=1.5)
    async with server(path, Methods(), limits), talk(path) as idle, talk(path) as asked:
        assert "result" in await asked.ask(request("echo"))
        async with talk(path) as silent, talk(path) as half:
            await half.send(b'{"jsonrpc"')
            for one in (silent, half):
                assert code(await one.read()) == -32003
                assert await one.ended()
        assert "no request came" in str(await idle.read())
        assert "result" in await asked.ask(request("echo", 2))


async def test_the_silent_hold_no_place(path: Path) -> None:
    """Any number may be connected: those that ask are served; the oldest silent ones give way."""
    async with server(path, Methods(), max_connections=2), contextlib.AsyncExitStack() as stack:
        crowd = [await stack.enter_async_context(talk(path)) for _ in range(MOST_WAITING + 9)]
        async with talk(path) as one:
            assert "result" in await one.ask(request("echo"))
        for early in crowd[:9]:
            assert "too many connections are waiting" in str(await early.read())
            assert await early.ended()
        assert "result" in await crowd[-1].ask(request("echo"))


async def test_a_frame_is_read_before_a_crowd_pushes_it_out(path: Path) -> None:
    """One turn of the loop accepts fewer newcomers than may wait, whatever the queue holds."""
    async with server(path, Methods()), contextlib.AsyncExitStack() as stack:
        crowd = []
        for place in range(3 * MOST_WAITING):
            peer = stack.enter_context(socket.socket(socket.AF_UNIX))
            # In one thread with the server: what does not fit in its queue comes in a later turn.
            peer.setblocking(False)
            while True:
                try:
                    peer.connect(str(path))
                    break
                except BlockingIOError:
                    await asyncio.sleep(0)
            if place % 3 == 0:
                peer.send(json.dumps(request("echo")).encode() + b"\n")
                crowd.append(peer)
        answers = []
        for peer in crowd:
            reader, writer = await asyncio.open_unix_connection(sock=peer)
            async with asyncio.timeout(10):
                answers.append(await reader.readline())
            writer.close()
    assert all(b'"result"' in answer for answer in answers), answers


async def test_what_is_urgent_needs_no_place(path: Path) -> None:
    """With a request in flight in every slot, it is served, and nothing else is."""
    methods = Methods()
    for urgent in (frozenset({"whoami"}), frozenset[str]()):
        async with (
            server(path, methods, max_connections=2, urgent=urgent),
            talk(path) as one,
            talk(path) as two,
        ):
            for holder in (one, two):
                await holder.send(request("slow", 1))
                await methods.started.acquire()
            async with talk(path) as three:
                answer = await three.ask(request("whoami"))
                # The control: an unlisted one is refused at the same moment.
                assert ("result" in answer) is bool(urgent)
                if urgent:
                    assert code(await three.ask(request("echo", 2))) == -32003


async def test_an_idle_connection_gives_its_place(path: Path) -> None:
    """When all slots are taken, an idle one is closed for a newcomer, and never a busy one."""
    methods = Methods()
    async with server(path, methods, max_connections=2), talk(path) as busy, talk(path) as idle:
        assert "result" in await idle.ask(request("echo"))
        await busy.send(request("slow", 1))
        await methods.started.acquire()
        async with asyncio.timeout(20):
            while "result" not in await asked_anew(path):
                await asyncio.sleep(0.05)
        assert "this one was idle" in str(await idle.read())
        assert await idle.ended()
        methods.release.set()
        assert "result" in await busy.read()


async def asked_anew(path: Path) -> dict[str, object]:
    """Return the answer to one request on its own connection."""
    async with talk(path) as one:
        return await one.ask(request("echo"))


async def test_what_the_gateway_itself_asks_needs_no_place(path: Path) -> None:
    """Its own proof of this way in must not fail because of a crowd."""
    methods = Methods()
    async with server(path, methods, max_connections=0, own=True), talk(path) as one:
        assert "result" in await one.ask(request("echo"))
    async with server(path, methods, max_connections=0), talk(path) as one:
        assert code(await one.ask(request("echo"))) == -32003


async def test_nothing_stays_open(path: Path) -> None:
    """Listening, serving, refusing and closing give every descriptor back."""
    async with server(path, Methods()), talk(path):
        pass
    before = await descriptors()
    for _ in range(3):
        async with server(path, Methods()), talk(path) as one:
            await one.ask(request("echo"))
            with pytest.raises(AnotherGateway):
                await listen(path, Methods().table())
    assert await descriptors() == before
