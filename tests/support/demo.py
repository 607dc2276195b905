"""Start the demo as a viewer does: in a terminal, until it waits for an answer."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.terminal import Screen, terminal

DEMO = (sys.executable, "-m", "bot", "demo")
_LINK = re.compile(r"http://localhost:\d+/[\w-]{22}/")


@dataclass(frozen=True, slots=True)
class RunningDemo:
    """The demo's process, its terminal, and the address of its screen."""

    process: subprocess.Popen[bytes]
    terminal: Screen
    url: str

    @property
    def origin(self) -> str:
        """Return the origin of the screen."""
        return self.url.rsplit("/", 2)[0]


@contextmanager
def demo() -> Iterator[RunningDemo]:
    """Run the demo in a terminal for as long as the block lasts."""
    with terminal(*DEMO, environ={**os.environ, "COLUMNS": "120"}) as (process, master):
        shown = Screen(master)
        shown.wait_for("a (allow once)")
        link = _LINK.search(shown.text)
        assert link is not None, shown.text
        yield RunningDemo(process, shown, link[0])
