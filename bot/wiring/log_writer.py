"""Write the log from a separate thread, so that a log that nobody reads blocks nobody.

::

    log, tracebacks ─▶ queue; what does not fit is counted ─▶ thread ─▶ the descriptor

A full pipe blocks its writer for as long as its reader likes.
"""

import atexit
import io
import logging
import os
import select
import signal
import threading
import time
from collections import deque

_log = logging.getLogger(__name__)
MOST_HELD = 1 << 20
"""Maximum of bytes of the log that wait for their reader."""
_LAST_S = 0.25
"""How often, at exit, the process checks whether a reader takes what is not written yet."""
_LAST_AT_MOST_S = 5.0
"""How long it waits for a reader with room for more: on a busy machine the thread may be late."""


class LogWriter(io.RawIOBase):
    """Accepts writes at once; a thread passes them on to ``fd``.

    What cannot be written is dropped. How much that was is logged once the rest is written.
    """

    def __init__(self, fd: int, most: int = MOST_HELD) -> None:
        self._fd = fd
        self._most = most
        self._changed = threading.Condition()
        self._held: deque[bytes] = deque()
        self._size = 0
        self._left_out = 0
        self._idle = True
        # A daemon: the process can end even if its last write never returns.
        threading.Thread(target=self._run, name="log", daemon=True).start()
        atexit.register(self.finish)

    def writable(self) -> bool:
        """Return ``True``."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._fd

    def write(self, data: object, /) -> int:
        """Queue what fits, and return at once; each call counts as one message."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError("a log takes bytes")
        piece = bytes(data)
        with self._changed:
            if self._size + len(piece) > self._most:
                self._left_out += 1
            elif piece:
                self._held.append(piece)
                self._size += len(piece)
                self._idle = False
                self._changed.notify_all()
        return len(piece)

    def drain(self, timeout_s: float) -> bool:
        """Wait until everything is written; ``False`` if it was not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._idle, timeout_s)

    def finish(self) -> None:
        """Wait for what is not written yet, for as long as its reader takes any of it."""
        give_up = time.monotonic() + _LAST_AT_MOST_S
        held = -1
        while not self.drain(_LAST_S) and time.monotonic() < give_up:
            if self._size == held and not select.select((), (self._fd,), (), 0)[1]:
                return
            held = self._size

    def _run(self) -> None:
        # A signal that the main thread blocks at exit would arrive here, and end the process.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            written = self._put(self._next())
            left_out = self._settle(written=written)
            if left_out:
                _log.warning(
                    "%d log messages were dropped: the reader was too slow, or the log could not "
                    "be written",
                    left_out,
                )

    def _next(self) -> bytes:
        with self._changed:
            self._idle = not self._held
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._held)
            piece = self._held.popleft()
            self._size -= len(piece)
            return piece

    def _put(self, piece: bytes) -> bool:
        while piece:
            try:
                piece = piece[os.write(self._fd, piece) :]
            except BlockingIOError:  # whoever made the pipe set O_NONBLOCK
                select.select((), (self._fd,), ())
            except OSError:
                return False
        return True

    def _settle(self, *, written: bool) -> int:
        """Return how many messages were dropped, once there is room to log it."""
        with self._changed:
            self._left_out += not written
            if not written or self._held:
                return 0
            left_out, self._left_out = self._left_out, 0
            return left_out
