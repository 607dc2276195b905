"""The demo goes on while its screen is open, and then ends as it should."""

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
from bot.demo.viewer import Viewer
from channels.memory import MemoryChannel
from core.model.identity import Actor


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_the_questions_and_nothing_else(
    ending: signal.Signals, tmp_path: Path
) -> None:
    """What asks on is cancelled, which is no failure; the signal means again what it meant."""
    before = signal.getsignal(ending)
    out = io.StringIO()
    chats = Chats(MemoryChannel(), Actor("memory", "uid:0", "you"))
    async with screen_of(chats, tmp_path) as screen:
        with screen.watched():
            playing = asyncio.create_task(
                _go_on(Viewer(tmp_path, json_lines=True, out=out), screen)
            )
            while signal.getsignal(ending) is before:
                await asyncio.sleep(0)
            os.kill(os.getpid(), ending)
            await playing

    assert [json.loads(line)["step"] for line in out.getvalue().splitlines()] == ["goes on"]
    assert signal.getsignal(ending) in {before, signal.SIG_DFL, signal.default_int_handler}
