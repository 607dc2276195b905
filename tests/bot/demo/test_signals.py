"""End the demo by a signal, and keep the terminal while there is one."""

import os
import pty
import signal
import subprocess
import sys

import pytest

ENDED = """
import asyncio, os, signal, sys
from bot.demo.signals import Ending

async def play():
    os.kill(os.getpid(), int(sys.argv[1]))
    await asyncio.sleep(60)

status = asyncio.run(Ending().of(play()))
sys.stderr.write(f"{status} {os.isatty(1)}")
"""


@pytest.mark.parametrize(
    ("number", "keeps"), [(signal.SIGHUP, False), (signal.SIGTERM, True), (signal.SIGINT, True)]
)
def test_only_a_closed_terminal_is_let_go(number: int, *, keeps: bool) -> None:
    """What the demo says while it cleans up would fail there; after another signal it is read."""
    ours, theirs = pty.openpty()
    try:
        ended = subprocess.run(
            (sys.executable, "-c", ENDED, str(int(number))),
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
            timeout=30,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert ended.stderr == f"{128 + number} {keeps}"
