"""Take a key from the command that prints it, and nothing else."""

import asyncio
from pathlib import Path

import pytest

from core.errors import SaysoError
from core.isolation.agents.key_command import printed_key
from tests.support.runs import alive
from tests.support.waiting import until


def _shell(text: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", text)


@pytest.mark.parametrize("text", ["echo k1", "echo ' k1 '; echo k2", "echo k1; echo noise >&2"])
async def test_the_first_line_is_the_key(text: str) -> None:
    """Without the blanks around it; a key manager may print more below."""
    assert await printed_key(_shell(text)) == "k1"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (_shell("echo k1; exit 3"), r"ended \(3\) without one"),
        (_shell("true"), r"ended \(0\) without one"),
        (_shell("echo; echo k1"), r"ended \(0\) without one"),
        (_shell("echo k1; kill -9 $$"), r"ended \(-9\) without one"),
        (("/nowhere/keys",), "cannot be started: No such file"),
    ],
)
async def test_a_command_that_fails_has_no_key(argv: tuple[str, ...], words: str) -> None:
    """Whatever it printed before; the message repeats none of it."""
    with pytest.raises(SaysoError, match=words) as failed:
        await printed_key(argv)
    assert "k1" not in str(failed.value)


async def test_a_command_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    """It may wait for a password that nobody will type."""
    named = tmp_path / "pid"
    waits = f"echo $$ > {named}.new; mv {named}.new {named}; exec sleep 60"
    asking = asyncio.ensure_future(printed_key(_shell(waits)))
    await until(named.exists)
    pid = int(named.read_text())
    assert alive(pid)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert not alive(pid)
