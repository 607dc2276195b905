"""Write what a run prints, without making the gateway wait for its reader.

What the reader has no room for is buffered; this is bounded, because the gateway sends no more of a
stream than it keeps.
"""

import os
import select
import stat

from bot.cli import Failures

KEPT = {"output": 800_000, "stdout": 262_144, "stderr": 262_144}
"""Bytes of each stream that the gateway keeps, and so sends (S3).

``core.runner.supervisor.output.capture`` keeps them.
"""
_STEP = 4096
"""POSIX PIPE_BUF on Linux: a pipe that polls as writable accepts that much without blocking."""


class Outlet:
    """One descriptor, and how much of a stream was written there.

    ``printed`` counts bytes of the stream; ``full`` is set if no more of it will come although the
    command may still print; ``forgives`` if output that cannot be written is dropped.
    """

    __slots__ = ("_at", "_left", "_waits", "fd", "forgives", "full", "is_terminal", "printed")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.printed = 0
        self.full = self.forgives = False
        self._at = 0
        self._left = bytearray()
        mode = os.fstat(fd).st_mode
        self.is_terminal = os.isatty(fd)
        self._waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or self.is_terminal

    @property
    def blocked(self) -> bool:
        """Return whether something waits for its reader."""
        return bool(self._left)

    def rewind(self) -> None:
        """Restart the stream from its beginning; what was printed is not printed twice."""
        self._at = 0

    def take(self, data: bytes) -> None:
        """Accept the next bytes of the stream.

        Raises:
            BrokenPipeError: nobody reads it any longer.
        """
        known = self.printed - self._at
        self._at += len(data)
        if known < len(data):
            fresh = data[known:] if known > 0 else data
            self.printed += len(fresh)
            self.add(fresh)

    def add(self, data: bytes) -> None:
        """Write bytes that are not part of the stream.

        Raises:
            BrokenPipeError: nobody reads it any longer.
        """
        self._left += data
        self.flush()

    def flush(self) -> None:
        """Write as much as there is room for.

        Raises:
            BrokenPipeError: nobody reads it any longer.
        """
        while self._left and (not self._waits or self._has_room()):
            try:
                written = os.write(self.fd, self._left[:_STEP] if self._waits else self._left)
            except BlockingIOError:
                return
            except OSError:
                if not self.forgives:
                    raise
                written = len(self._left)
            del self._left[:written]

    def _has_room(self) -> bool:
        poll = select.poll()
        poll.register(self.fd, select.POLLOUT)
        return bool(poll.poll(0))


class Outlets:
    """Where the streams of a run go, by the names that the gateway gives them."""

    __slots__ = ("_by_name", "_said", "error", "out")

    def __init__(self, *, separate: bool) -> None:
        self.out = Outlet(1)
        self.error = Outlet(2)
        self._said = self.out if one_file() else self.error
        stderr = self.error if separate else self.out
        self._by_name = {"output": self.out, "stdout": self.out, "stderr": stderr}

    def of(self, stream: str) -> Outlet:
        """Return the outlet of a stream."""
        return self._by_name[stream]

    def take(self, stream: str, data: bytes) -> None:
        """Accept the next bytes of a stream.

        Raises:
            BrokenPipeError: nobody reads it any longer.
        """
        outlet = self._by_name[stream]
        outlet.take(data)
        outlet.full = outlet.printed >= KEPT[stream]

    def say(self, words: str) -> None:
        """Print a line on standard error, after what was printed before.

        Raises:
            BrokenPipeError: nobody reads it.
        """
        self._said.add(f"{_remark(words)}\n".encode())

    @property
    def all(self) -> tuple[Outlet, Outlet]:
        """Return both outlets."""
        return self.out, self.error


def _remark(words: str) -> str:
    """Return a remark as text, or as JSON if ``--json`` was given."""
    if not Failures.as_json:
        return f"sayso: {words}"
    import json  # noqa: PLC0415 - outside the import budget

    return json.dumps({"note": words}, ensure_ascii=False)


def one_file() -> bool:
    """Return whether standard output and error are the same open file, terminal or pipe."""
    out, error = os.fstat(1), os.fstat(2)
    return (out.st_dev, out.st_ino) == (error.st_dev, error.st_ino)


def fill_standard_descriptors() -> None:
    """Open closed descriptors on ``/dev/null``, so that the gateway's socket does not become 1."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
