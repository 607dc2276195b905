"""Continue the demo while its screen is open, and then end it as it should."""

import asyncio
import io
import json
import os
import signal
from pathlib import Path

import pytest

from bot.demo.chats import Chats
from bot.demo.play import _go_on
from bot.demo.screen import screen_of
from bot.demo.signals import Ending
from bot.demo.viewer import Viewer
from channels.memory import MemoryChannel
from core.model.identity import Actor


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_the_questions_and_nothing_else(
    by: signal.Signals, tmp_path: Path
) -> None:
    """What still asks is cancelled, which is not a failure: the demo ends as it would have."""
    out, ending = io.StringIO(), Ending()
    chats = Chats(MemoryChannel(), Actor("memory", "uid:0", "you"))

    async def played() -> int:
        async with screen_of(chats, tmp_path) as screen:
            with screen.watched():
                await _go_on(Viewer(tmp_path, json_lines=True, out=out), screen, ending)
        return 0

    playing = asyncio.create_task(ending.of(played()))
    while not out.getvalue():
        await asyncio.sleep(0)
    os.kill(os.getpid(), by)

    assert await playing == 0
    assert ending.by == by
    assert [json.loads(line)["step"] for line in out.getvalue().splitlines()] == ["goes on"]
