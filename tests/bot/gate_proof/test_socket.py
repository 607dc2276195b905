"""Ask over gateway.sock, and leave nothing open when the proof's time is over."""

import asyncio
import gc
import sys
from pathlib import Path

import pytest

from bot.gate_proof.socket import asked


async def _answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readline()
    await asyncio.sleep(0.003)
    writer.write(b'{"jsonrpc":"2.0","id":1,"result":{"status":"denied"}}\n')
    writer.close()


async def test_a_proof_that_is_cancelled_leaves_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled at each step; the control is one that is not."""
    left: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: left.append(str(one.exc_value)))
    path = tmp_path / "gateway.sock"
    async with await asyncio.start_unix_server(_answered, path):
        assert await asked(path, b"{}") == {"status": "denied"}
        for step in range(60):
            proof = asyncio.create_task(asked(path, b"{}"))
            for _ in range(step % 12):
                await asyncio.sleep(0)
            await asyncio.sleep(0.0001 * (step % 20))
            proof.cancel()
            await asyncio.gather(proof, return_exceptions=True)
        await asyncio.sleep(0.05)
        gc.collect()

    assert left == []
