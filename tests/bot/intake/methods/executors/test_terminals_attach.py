"""Follow a terminal from when it opens to its end, on terminals of this process."""

import asyncio
import base64
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bot.intake.callers.terminal import Askers
from bot.intake.methods.executors.terminals import TerminalMethods
from bot.intake.registry.terminal_params import AttachParams
from core.errors import BadRequest, NotFound
from core.gate.gate import Gate
from core.isolation.terminal.stream import Stream
from core.isolation.terminal.terminals import Terminal
from tests.support.gate import gate_at
from tests.support.store_records import new_id
from tests.support.terminals import carried
from tests.support.three_agents import KnownTerminals, terminal_of, whole
from tests.support.waiting import until

PATIENCE_S = 20.0
ATTACHING_S = 0.5
"""How long whoever waits for a terminal is watched: two looks and more."""


class Follower:
    """Follows a terminal; ``heard`` are the messages before the answer, and what was shown."""

    def __init__(self, gate: Gate, terminal: Terminal, *, known: bool = True) -> None:
        found = (terminal,) if known else ()
        self.heard: list[str] = []
        self._gate = gate
        self._methods = TerminalMethods(gate, Askers(gate.store), KnownTerminals(gate, found))
        self._terminal = terminal

    async def follow(self) -> str:
        """Return the id of the terminal that was followed to its end."""
        params = AttachParams(id=self._terminal.run_id)
        async with asyncio.timeout(PATIENCE_S):
            answer = await self._methods.attach(params, replace(whole(), notify=self._hear))
        return answer.terminal_id

    async def _hear(self, kind: str, params: object) -> None:
        assert isinstance(params, dict)
        self.heard.append(kind)
        if "data" in params:
            self.heard.append(base64.b64decode(params["data"]).decode())

    async def end(self, slave: int, stream: Stream) -> None:
        """Show something and end, as the run of a shell does."""
        os.write(slave, b"hello")
        await until(lambda: stream.total == len("hello"))
        await self._gate.cancel(self._terminal.run_id, "ended")
        os.close(slave)


@pytest.mark.parametrize("at_once", [True, False], ids=["open", "opened later"])
async def test_a_terminal_is_followed_once_it_is_open(tmp_path: Path, *, at_once: bool) -> None:
    """Whoever attaches while people decide, or while it is being opened, waits for that."""
    async with gate_at(tmp_path) as gate:
        terminal = await terminal_of(gate, "main", whole())
        follower = Follower(gate, terminal)
        with carried() as (stream, slave):
            terminal.stream = stream if at_once else None
            following = asyncio.create_task(follower.follow())
            if not at_once:
                await asyncio.wait((following,), timeout=ATTACHING_S)
                assert not following.done()
                assert follower.heard == []
            terminal.stream = stream
            await until(lambda: follower.heard == ["terminal.opened"])
            await follower.end(slave, stream)

            assert await following == terminal.run_id
    assert follower.heard == ["terminal.opened", "terminal.output", "hello"]


async def test_one_that_was_not_opened_is_not_waited_for(tmp_path: Path) -> None:
    """It ended before it was open; the people's answer says nothing about that."""
    async with gate_at(tmp_path) as gate:
        terminal = await terminal_of(gate, "main", whole())
        terminal.ended = "it was not opened"

        with pytest.raises(BadRequest, match="was not opened"):
            await Follower(gate, terminal).follow()


async def test_one_that_people_refused_is_not_waited_for(tmp_path: Path) -> None:
    """Whoever follows it learns why; of one that was never asked for, there is nothing."""
    async with gate_at(tmp_path) as gate:
        terminal = await terminal_of(gate, "main", whole())
        follower = Follower(gate, terminal, known=False)
        following = asyncio.create_task(follower.follow())
        await gate.cancel(terminal.run_id, "not needed")

        with pytest.raises(BadRequest, match="not needed"):
            await following
        with pytest.raises(NotFound):
            await Follower(gate, unasked(terminal), known=False).follow()


def unasked(terminal: Terminal) -> Terminal:
    """Return a terminal that no one asked for."""
    return replace(terminal, run_id=new_id())
