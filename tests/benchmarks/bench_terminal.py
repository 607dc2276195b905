"""Time what terminals and agents stream: a gateway during 10 MB, a piece's way to a watcher."""

import asyncio
import base64
import json
import statistics
import subprocess
import time
from pathlib import Path

import pytest

from bot.executor.acp import Answer, Conversation
from bot.executor_setup.archive import interpreter
from core.model.result import Finished
from core.store import approvals
from tests.support.agents import SCRIPT, agents_at, model, workshop
from tests.support.terminals import Desk, Opened, desk_at
from tests.support.waiting import until

SIZE, PIECES = 10_000_000, 60
BESIDE_GOAL = 3.0
"""How many times longer a read of the store may take while a terminal shows 10 MB."""
STREAM_GOAL_S = 0.02
"""How much later a piece may arrive through an executor, p50."""


def say(capsys: pytest.CaptureFixture[str], words: str) -> None:
    """Print a line past pytest's capture."""
    with capsys.disabled():
        print(f"\n{words}")


def spread(seconds: list[float]) -> str:
    """Return median and 99th percentile in ms."""
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
    return f"p50 {statistics.median(ordered) * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms"


async def _read_once(desk: Desk, into: list[float]) -> None:
    begin = time.perf_counter()
    await desk.gate.store.read(approvals.pending, 10, None, None)
    into.append(time.perf_counter() - begin)
    await asyncio.sleep(0.002)


async def _view(opened: Opened) -> None:
    """Read 10 MB as a connection does, from here on."""
    seen = 0
    with opened.stream.viewer(opened.stream.total) as viewer:
        opened.type(f"head -c {SIZE} /dev/zero; echo en''d\n")
        while seen < SIZE:
            data, _ = await opened.stream.next(viewer, 60)
            json.dumps({"data": base64.b64encode(data).decode()})
            seen += len(data)


async def _beside(
    desk: Desk, opened: Opened, capsys: pytest.CaptureFixture[str]
) -> tuple[float, float]:
    """Return how long a read takes (s, p50) while nothing is shown, and during 10 MB."""
    quiet, busy = list[float](), list[float]()
    for _ in range(200):
        await _read_once(desk, quiet)
    begin = time.perf_counter()
    viewing = asyncio.ensure_future(_view(opened))
    while not viewing.done():
        await _read_once(desk, busy)
    await viewing
    seconds = time.perf_counter() - begin
    say(
        capsys, f"10 MB of a terminal in {seconds:.2f} s; a read of the store quiet {spread(quiet)}"
    )
    say(capsys, f"meanwhile {spread(busy)}")
    return statistics.median(quiet), statistics.median(busy)


@pytest.mark.benchmark
async def test_a_gateway_beside_ten_megabytes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, executor_path: str
) -> None:
    """A read of the store, idle and during output: each the best of three, delayed least."""
    async with desk_at(tmp_path, executor_path) as desk:
        opened = await desk.opened()
        opened.type("stty raw -echo\n")
        rounds = [await _beside(desk, opened, capsys) for _ in range(3)]
        opened.type("exit\n")
        await opened.end
    quiet, busy = (min(one) for one in zip(*rounds, strict=True))
    say(capsys, f"{busy / quiet:.2f} x")

    assert busy / quiet <= BESIDE_GOAL


class Late:
    """Listens to an agent directly, and records how late each piece is."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.ended = False

    def said(self, text: str) -> None:
        """Record a piece."""
        self.late += lateness(text)

    def reported(self, kind: str, data: dict[str, object]) -> None:
        """Receive a tool call."""

    def asked(self, tool_call: dict[str, object], answer: Answer) -> None:
        """Deny."""
        answer("deny")

    def over(self, status: str, data: dict[str, object]) -> None:
        """Receive the end."""
        self.ended = True


def lateness(text: str) -> list[float]:
    """Return how long ago each piece was said, in seconds."""
    now = time.monotonic_ns()
    return [(now - int(one)) / 1e9 for one in text.split()]


def directly() -> list[float]:
    """Return how late pieces are that arrive from the agent's own pipe."""
    words = [interpreter(), "-I", str(SCRIPT)]
    hearer = Late()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        send = agent.stdin

        def write(line: bytes) -> None:
            send.write(line)
            send.flush()

        talk = Conversation(write, hearer, "/", f"pace {PIECES}")
        talk.begin()
        while not hearer.ended:
            talk.hear(agent.stdout.readline())
        send.close()
    return hearer.late


@pytest.mark.benchmark
async def test_a_piece_through_an_executor(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, executor_path: str
) -> None:
    """S2 "streaming latency unchanged": from the agent's own clock to a watcher of its run."""
    direct = await asyncio.to_thread(directly)
    late: list[float] = []
    with workshop() as folder, model() as found:
        async with agents_at(tmp_path, executor_path, folder, found.url) as bench:
            under_way = bench.give(f"pace {PIECES}")
            await until(lambda: bench.gate.running)
            (run_id,) = bench.gate.running
            await until(lambda: bench.agents.has(run_id))
            async for chunk in bench.gate.watch(run_id):
                late += lateness(chunk.data.decode())
            assert isinstance(await under_way, Finished)
    more = statistics.median(late) - statistics.median(direct)
    say(
        capsys,
        f"a piece from an agent's pipe: {spread(direct)}; through an executor: {spread(late)}",
    )
    say(capsys, f"later by {more * 1000:.2f} ms (p50)")

    assert len(direct) == len(late) == PIECES
    assert more <= STREAM_GOAL_S
