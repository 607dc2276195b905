"""Keep memory flat and the run undelayed, however much the run prints."""

import asyncio
import subprocess
import sys

import pytest

from core.model.result import Finished
from core.model.stdio import PLAIN_STDIO, STREAM_BYTES, Capture, Stdio
from core.runner.runner import Runner
from tests.support.memory_use import peak_kb
from tests.support.runs import Start, new_run, planned, request, running

BYTES = 300_000_000
MOST_KB = 64 * 1024


async def watched(runner: Runner, line: str) -> tuple[Finished, int]:
    """Run a line; return its end and the peak memory of its supervisor."""
    start, peak = Start(), 0
    task = asyncio.create_task(runner.run(new_run(), planned(request(line)), start))
    await start.started.wait()
    assert start.identity is not None
    while not task.done():
        peak = max(peak, peak_kb(start.identity[0]))
        await asyncio.sleep(0.005)
    return await task, peak


async def test_a_flood_is_counted_and_cut() -> None:
    """Every byte is drained, 200,000 characters are kept, and the supervisor does not grow."""
    async with running() as runner:
        done, peak = await watched(runner, f"head -c {BYTES} /dev/zero")

    assert done.exit_code == 0
    assert done.output.total_bytes == BYTES
    assert done.output.truncated
    assert len(done.output.text) == 200_000
    assert done.output.text.endswith("… (truncated)")
    assert done.output.tail == "\0" * 20_000
    assert 0 < peak < MOST_KB


async def test_keeping_everything_would_be_seen() -> None:
    """The control: a reader that keeps all it reads exceeds the bound."""
    code = "import sys; kept = sys.stdin.buffer.read(); print(len(kept), flush=True); "
    code += "import time; time.sleep(60)"
    head = subprocess.Popen(["head", "-c", str(BYTES), "/dev/zero"], stdout=subprocess.PIPE)  # noqa: ASYNC220 - ends on its own
    hoarder = subprocess.Popen(  # noqa: ASYNC220 - ends on its own
        [sys.executable, "-I", "-S", "-c", code], stdin=head.stdout, stdout=subprocess.PIPE
    )
    assert head.stdout is not None
    assert hoarder.stdout is not None
    assert await asyncio.to_thread(hoarder.stdout.readline) == f"{BYTES}\n".encode()
    peak = peak_kb(hoarder.pid)
    hoarder.kill()
    hoarder.wait()
    head.wait()
    head.stdout.close()
    hoarder.stdout.close()

    assert peak > MOST_KB


async def test_the_tail_is_the_true_end() -> None:
    """After any amount the last words are kept, and the text has the first."""
    async with running() as runner:
        done, _ = await watched(runner, "seq 200000 ; echo last words")

    assert done.output.text.startswith("1\n2\n3\n")
    assert done.output.tail.endswith("199999\n200000\nlast words\n")
    assert len(done.output.tail) == 20_000


COUNTED = "".join(f"{number}\n" for number in range(3_000_000 - 4000, 3_000_001))
COUNTED_BYTES = sum(9 * 10**width * (width + 2) for width in range(6)) + 2_000_001 * 8


@pytest.mark.parametrize("stdio", [PLAIN_STDIO, Stdio(capture=Capture.SEPARATE)])
async def test_what_is_passed_over_is_not_the_end(stdio: Stdio) -> None:
    """Most of a flood is never read, but every byte counts and the end is exactly the end."""
    async with running() as runner:
        plan = planned(request("seq 3000000", stdio=stdio))
        done = await runner.run(new_run(), plan, Start())

    assert done.output.total_bytes == COUNTED_BYTES
    assert done.output.tail == COUNTED[-20_000:]
    if done.streams is not None:
        assert done.streams.stdout.total_bytes == COUNTED_BYTES
        assert done.streams.stdout.data.startswith(b"1\n2\n3\n")
        assert len(done.streams.stdout.data) == STREAM_BYTES
