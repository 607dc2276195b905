"""Notify followers of a run while it runs, however busy the machine is."""

import asyncio
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import Any

import pytest

from bot.intake.callers.caller import of_peer
from bot.intake.results.streaming import streaming
from core.ipc.peer import Peer
from core.model.result import Finished
from tests.support.gate import gate_at, list_patterns, request

LATE_S = 0.3
_Work = Coroutine[Any, Any, Any] | Generator[Any, None, Any]


def begin_late(loop: asyncio.AbstractEventLoop, work: _Work, **more: Any) -> "asyncio.Task[Any]":
    """Start the tasks that follow a run late, as the loop of a busy gateway may."""
    code = getattr(work, "cr_code", None)

    async def late() -> Any:
        await asyncio.sleep(LATE_S)
        assert isinstance(work, Coroutine)
        return await work

    follows = code is not None and code.co_filename.endswith("results/streaming.py")
    return asyncio.Task(late() if follows else work, loop=loop, **more)


@pytest.mark.parametrize("late", [False, True])
async def test_a_run_that_was_stored_at_once_is_reported(tmp_path: Path, *, late: bool) -> None:
    """Its status and its output come before its end, although it was stored before we looked."""
    heard: list[str] = []

    async def notify(method: str, params: object, /) -> None:
        heard.append(method)

    list_patterns(tmp_path, "/usr/bin/echo", "/usr/bin/sleep")
    async with gate_at(tmp_path) as gate:
        following = streaming(gate, of_peer(Peer(1, 0, 0), notify))
        asyncio.get_running_loop().set_task_factory(begin_late if late else None)
        ended = await following.submit(request("echo a && sleep 2.5", cwd=tmp_path))

    assert isinstance(ended, Finished)
    assert heard[:2] == ["exec.state", "exec.output"]
