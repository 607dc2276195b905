"""Keep on the terminal what people are promised, on a real pseudo-terminal."""

import asyncio
import os
import termios
from collections.abc import AsyncIterator

import pytest

from channels.terminal.channel import TerminalChannel
from tests.channels.terminal.terminal_setup import TerminalSetup
from tests.contracts.people import PeopleContract


class TestTerminalPeople(PeopleContract):
    """The contract; letters replace buttons, and "Always allow" has no second step."""

    two_steps = False
    mentions = ()
    rounds = 100

    @pytest.fixture
    async def setup(self) -> AsyncIterator[TerminalSetup]:
        """Open a pseudo-terminal of 200 columns without echo, and read it constantly."""
        master, slave = os.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        termios.tcsetwinsize(slave, (50, 200))
        os.set_blocking(master, False)
        with os.fdopen(os.dup(slave)) as reader, os.fdopen(slave, "w") as writer:
            made = TerminalSetup(master, TerminalChannel(reader, writer))
            # A screen that no one reads would fill up, and the gateway would wait for it.
            asyncio.get_running_loop().add_reader(master, made.look)
            yield made
            asyncio.get_running_loop().remove_reader(master)
        os.close(master)
