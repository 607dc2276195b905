"""Act as the service manager: read the socket on which a gateway reports its state."""

import socket
import time
from itertools import pairwise
from pathlib import Path

from tests.support.waiting import wait_until


class Manager:
    """Listens to one gateway; ``all`` are its messages, ``times`` when they came (monotonic)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.setblocking(False)
        self.all: list[str] = []
        self.times: list[float] = []

    def heard(self) -> list[str]:
        """Return what arrived since the last call."""
        seen = len(self.all)
        while True:
            try:
                self.all.append(self.socket.recv(4096).decode())
                self.times.append(time.monotonic())
            except BlockingIOError:
                return self.all[seen:]

    def waits_for(self, words: str, since: int = 0) -> str:
        """Wait for a message with these words after the first ``since`` ones; return it."""

        def came() -> str | None:
            self.heard()
            return next((one for one in self.all[since:] if words in one), None)

        return str(wait_until(f"{words!r} for the service manager", came))

    def longest_silence(self, begin: float, end: float) -> float:
        """Return the longest time (s) without a sign of life between two moments."""
        pairs = zip(self.all, self.times, strict=True)
        signs = [at for words, at in pairs if words == "WATCHDOG=1" and begin < at < end]
        moments = [begin, *signs, end]
        return max(later - one for one, later in pairwise(moments))
