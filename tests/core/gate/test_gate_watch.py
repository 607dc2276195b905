import asyncio
from pathlib import Path

from core.gate.gate import Gate
from core.model.identity import ApprovalId
from core.model.policy import ExecSecurity
from core.model.result import Finished, OutputChunk
from tests.support.gate import gate_at, layer, request

FULL = layer(security=ExecSecurity.FULL)


async def seen(gate: Gate, run_id: ApprovalId) -> list[OutputChunk]:
    """Watch a run to its end."""
    return [chunk async for chunk in gate.watch(run_id)]


async def first(gate: Gate, run_id: ApprovalId) -> OutputChunk | None:
    """Return what a run prints first; ``None`` if it does not exist."""
    async for chunk in gate.watch(run_id):
        return chunk
    return None


async def test_a_run_is_watched_through_the_gate(tmp_path: Path) -> None:
    """What an allowed run prints is seen from its start, before its result exists."""
    go = tmp_path / "go"
    script = f"echo early; while ! [ -e {go} ]; do sleep 0.01; done; echo late"
    async with gate_at(tmp_path, FULL) as gate:
        begun: asyncio.Future[ApprovalId] = asyncio.get_running_loop().create_future()
        wish = request(argv=("/bin/sh", "-c", script))
        task = asyncio.create_task(gate.submit(wish, begun.set_result))
        run_id = await begun
        async with asyncio.timeout(10):
            while (early := await first(gate, run_id)) is None:
                await asyncio.sleep(0.01)  # allowed, but not started yet
            watching = asyncio.create_task(seen(gate, run_id))
            await asyncio.sleep(0.05)
            assert not task.done()
            go.touch()
            chunks = await watching

        assert early.data == b"early\n"
        assert b"".join(chunk.data for chunk in chunks) == b"early\nlate\n"
        finished = await task
        assert isinstance(finished, Finished)
        assert finished.output.text == "early\nlate\n"
        assert await seen(gate, run_id) == []


async def test_what_does_not_run_here_shows_nothing(tmp_path: Path) -> None:
    """An unknown id, and a question that waits, yield nothing and end at once."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("touch x"))

        assert await seen(gate, ApprovalId("0" * 26)) == []
        assert await seen(gate, asked.run_id) == []
