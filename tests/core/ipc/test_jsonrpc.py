"""Run requests in parallel, answer each once, and let a bad peer harm only itself."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from core.ipc.frames import MAX_FRAME
from core.ipc.jsonrpc import Limits
from tests.core.ipc.serving import Methods, Talk, code, request, server, talk

GOAL_OVERHEAD_US = 120


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the socket."""
    return tmp_path / "gateway.sock"


async def test_requests_are_answered_out_of_order(path: Path) -> None:
    """A waiting request blocks nothing; its answer carries its id."""
    methods = Methods()
    async with server(path, methods), talk(path) as one:
        await one.send(request("slow", "first"))
        assert await one.ask(request("echo", 2, a="é")) == {
            "jsonrpc": "2.0",
            "id": 2,
            "result": {"a": "é"},
        }
        methods.release.set()
        assert (await one.read())["id"] == "first"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (b"nonsense\n", -32700),
        (b"\xff\n", -32700),
        (request("nothing"), -32601),
        (request("exec\nrun"), -32601),
        ([request("echo")], -32600),
        ({"jsonrpc": "2.0", "method": "echo"}, -32600),
        (request("echo", x="\0"), -32602),
        (request("fail", how="request"), -32602),
        (request("fail", how="state"), -32000),
        (request("fail", how="bug"), -32603),
        (request("fail", how="result"), -32603),
        (request("fail", how="large"), -32603),
        (request("fail", how="timeout"), -32603),
    ],
)
async def test_each_failure_has_its_code_and_the_connection_goes_on(
    path: Path, frame: object, expected: int
) -> None:
    """After every error the same connection answers the next request."""
    async with server(path, Methods()), talk(path) as one:
        assert code(await one.ask(frame)) == expected
        assert (await one.ask(request("echo", 9)))["result"] == {}


async def test_our_words_are_told_and_nobody_elses(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A SaysoError is sent with its type; another exception's text stays in the log."""
    async with server(path, Methods()), talk(path) as one:
        told = (await one.ask(request("fail", how="state")))["error"]
        assert told == {
            "code": -32000,
            "message": "the home is full",
            "data": {"type": "StateError", "exitCode": 1},
        }
        hidden = json.dumps(await one.ask(request("fail", how="bug")))
        assert "hunter2" not in hidden
        assert "see the gateway's log" in hidden
    assert "hunter2" in caplog.text


async def test_an_id_in_flight_is_not_taken_again(path: Path) -> None:
    """Two answers with one id could not be told apart; once answered, an id is free."""
    methods = Methods()
    async with server(path, methods), talk(path) as one:
        await one.send(request("slow", 1))
        assert code(await one.ask(request("echo", 1))) == -32600
        methods.release.set()
        assert (await one.read())["id"] == 1
        assert "result" in await one.ask(request("echo", 1))


async def test_a_request_can_be_cancelled(path: Path) -> None:
    """The handler gets it and the request is answered; other and unknown ids are left alone."""
    methods = Methods()
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}}
    async with server(path, methods), talk(path) as one:
        await one.send(cancel, request("slow", 8), request("slow", 7))
        await methods.started.acquire()
        await methods.started.acquire()
        answer = await one.ask(cancel)
        assert (answer["id"], code(answer)) == (7, -32800)
        assert methods.ended == ["cancelled"]
        methods.release.set()
        assert (await one.read())["id"] == 8


async def test_a_request_cancelled_in_the_same_breath_is_answered(path: Path) -> None:
    """Request and cancellation in one segment still give exactly one answer."""
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}}
    lines = b"".join(json.dumps(frame).encode() + b"\n" for frame in (request("slow", 7), cancel))
    async with server(path, Methods()), talk(path) as one:
        answer = await one.ask(lines)
        assert (answer["id"], code(answer)) == (7, -32800)


async def test_a_deadline_ends_a_request(path: Path) -> None:
    """A request past its deadline is cancelled and says so."""
    methods = Methods()
    async with server(path, methods, Limits(request_s=0.05)), talk(path) as one:
        assert code(await one.ask(request("slow"))) == -32002
        assert methods.ended == ["cancelled"]


async def test_a_frame_of_the_limit_passes_and_a_larger_one_ends_the_connection(path: Path) -> None:
    """8 MiB pass; beyond, the peer is told why, even while it still sends, and disconnected."""
    envelope = len(json.dumps(request("echo", x="")).encode()) + 1
    async with server(path, Methods()):
        async with talk(path) as one:
            answer = await one.ask(request("whoami", x="a" * (MAX_FRAME - envelope - 2)))
            assert "result" in answer
        async with talk(path) as one:
            one.writer.write(b"a" * (MAX_FRAME * 3))
            answer = await one.read()
            assert (answer["id"], code(answer)) == (None, -32600)
            assert "larger than" in json.dumps(answer)
            assert await one.ended()
        async with talk(path) as one:
            assert "result" in await one.ask(request("echo"))


async def test_half_a_frame_at_the_end_is_refused(path: Path) -> None:
    """A frame without its line feed is not run."""
    async with server(path, Methods()), talk(path) as one:
        await one.send(json.dumps(request("echo")).encode())
        one.writer.write_eof()
        assert code(await one.read()) == -32700
        assert await one.ended()


async def test_a_peer_that_only_ended_its_sending_gets_its_answers(path: Path) -> None:
    """``socat`` closes its sending half at the end of its input; nothing is lost by that."""
    methods = Methods()
    async with server(path, methods), talk(path) as one:
        await one.send(request("slow", 1))
        one.writer.write_eof()
        await asyncio.sleep(0.4)
        methods.release.set()
        assert (await one.read())["id"] == 1
        assert await one.ended()


async def test_a_peer_that_is_gone_has_its_requests_cancelled(path: Path) -> None:
    """Nothing waits for an answer that will not be read, not even at the limit of requests."""
    for limit in (64, 1):
        methods = Methods()
        async with server(path, methods, Limits(in_flight=limit)):
            async with talk(path) as one:
                await one.send(request("slow", 1))
                await methods.started.acquire()
            async with asyncio.timeout(5):
                await methods.any_ended.wait()
        assert methods.ended == ["cancelled"]


async def test_requests_beyond_the_limit_wait_in_the_socket(path: Path) -> None:
    """At most the limit is in flight at once; all are answered in the end."""
    methods = Methods()
    async with server(path, methods, Limits(in_flight=4)), talk(path) as one:
        await one.send(*(request("slow", number) for number in range(20)))
        for _ in range(4):
            await methods.started.acquire()
        await asyncio.sleep(0.1)
        assert methods.started.locked()
        methods.release.set()
        assert {(await one.read())["id"] for _ in range(20)} == set(range(20))


async def flood(one: Talk) -> None:
    """Ask for a hundred answers of 1 MiB and read none."""
    one.reader._transport.pause_reading()  # type: ignore[attr-defined]  # asyncio's own
    for number in range(100):
        await one.send(request("echo", number, big="x" * (1 << 20)))
        await asyncio.sleep(0.02)


async def test_a_peer_that_does_not_read_is_hung_up_on(path: Path) -> None:
    """Answers that are not read do not pile up forever."""
    async with server(path, Methods(), Limits(in_flight=4, write_s=0.2)):
        async with talk(path) as one:
            with pytest.raises(ConnectionError):
                await asyncio.wait_for(flood(one), 10)
        async with talk(path) as other:
            assert "result" in await other.ask(request("echo"))


@pytest.mark.benchmark
async def test_the_overhead_of_a_request(path: Path) -> None:
    """Serving costs at most 120 us per request, pipelined, client's share included."""
    rounds, batch = 30, 50
    payload = {"command": "git status --short", "cwd": "/srv/shop", "agent": "main"}
    async with server(path, Methods()), talk(path) as one:
        best = 1e9
        for turn in range(rounds):
            lines = b"".join(
                json.dumps(request("echo", turn * batch + n, **payload)).encode() + b"\n"
                for n in range(batch)
            )
            begin = time.perf_counter()
            await one.send(lines)
            for _ in range(batch):
                await one.reader.readuntil(b"\n")
            best = min(best, (time.perf_counter() - begin) / batch * 1e6)
    print(f"request {best:.0f} us")
    assert best <= GOAL_OVERHEAD_US
