"""Carry one terminal's bytes in its own thread: what it shows, and what is typed.

The thread never waits for an event loop, so a busy gateway does not slow a terminal, and a terminal
that shows megabytes takes no turns of the loop except for its viewers. What was shown last is kept.
While a viewer lags, nothing more is read, which slows the program and loses nothing; a viewer that
takes nothing for ``PATIENCE_S`` is cut off.
"""

import asyncio
import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from core.errors import SaysoError
from core.isolation.terminal.recording import Recording
from core.isolation.terminal.size import Size

KEPT = 1 << 20
"""Bytes of output that are kept for viewers."""
MOST_TYPED = 64 * 1024
"""Bytes that may wait for a program that does not read."""
PATIENCE_S = 30.0
_CHUNK = 64 * 1024
_PAUSE_S = 0.004
"""How long a terminal that shows a whole chunk at once lets the gateway's other threads run."""
_LOOK_S = 1.0


class NotTaken(SaysoError):
    """Input was not accepted: the program does not read, or the terminal has ended."""


class TooSlow(SaysoError):
    """A viewer read nothing for too long."""


@dataclass(slots=True, eq=False)
class Viewer:
    """A reader of the output; ``place`` is its next byte, ``since`` the time when that moved."""

    place: int
    loop: asyncio.AbstractEventLoop
    news: asyncio.Event = field(default_factory=asyncio.Event)
    since: float = field(default_factory=time.monotonic)
    cut: bool = False


class Stream:
    """The bytes of one terminal, from ``start`` until no process has it any more, or ``close``."""

    def __init__(
        self,
        master: int,
        size: Size,
        recording: Recording | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.size = size
        self.total = 0
        self.typed = 0
        self.active = time.monotonic()
        self._master = master
        self._recording = recording
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._kept: deque[bytes] = deque()
        self._first = 0
        self._typing: deque[bytes] = deque()
        self._waiting = 0
        self._viewers: set[Viewer] = set()
        self._over = self._closing = False
        self._wake, self._bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(master, False)
        self._thread = threading.Thread(target=self._carry, name="sayso-terminal", daemon=True)

    @property
    def over(self) -> bool:
        """Return whether nothing more will be shown."""
        return self._over

    def start(self) -> None:
        """Start carrying bytes."""
        self._thread.start()

    async def drained(self, seconds: float) -> None:
        """Wait until nothing more will be shown, at most this many seconds; blocks no thread."""
        with contextlib.suppress(TimeoutError, TooSlow), self.viewer(self.total) as waiting:
            async with asyncio.timeout(seconds):
                while (await self.next(waiting))[0]:
                    continue

    def close(self) -> None:
        """Release the terminal, and wait until the thread has ended, which it does at once."""
        self._closing = True
        self._ring()
        self._thread.join()
        with self._lock:
            for fd in (self._wake, self._bell):
                os.close(fd)
            self._bell = -1

    def type(self, data: bytes) -> None:
        """Type bytes, as they are.

        Raises:
            NotTaken: too many wait already, or no process has the terminal any more.
        """
        with self._lock:
            if self._over:
                raise NotTaken("the terminal has ended")
            if self._waiting + len(data) > MOST_TYPED:
                raise NotTaken("the program in the terminal does not read what is typed")
            self._typing.append(data)
            self._waiting += len(data)
            self.typed += len(data)
            self.active = time.monotonic()
        self._ring()

    def resize(self, size: Size) -> None:
        """Change the size.

        Raises:
            NotTaken: no process has the terminal any more.
        """
        with self._lock:
            if self._over:
                raise NotTaken("the terminal has ended")
            with contextlib.suppress(OSError):
                size.set_on(self._master)
            self.size = size
            if self._recording is not None:
                self._recording.resized(size)

    def read(self, place: int, most: int = _CHUNK) -> tuple[bytes, int]:
        """Return what was shown from a place on, and the next place; skip what is not kept."""
        with self._lock:
            return self._read(place, most)

    @contextlib.contextmanager
    def viewer(self, place: int) -> Iterator[Viewer]:
        """Register a viewer for the block; it slows the terminal while it lags."""
        found = Viewer(place, asyncio.get_running_loop())
        with self._lock:
            found.place = max(place, self._first)
            self._viewers.add(found)
        try:
            yield found
        finally:
            with self._lock:
                self._viewers.discard(found)
            self._ring()

    async def next(self, viewer: Viewer, wait_s: float | None = None) -> tuple[bytes, int]:
        """Return what comes next for a viewer, and the place after it; nothing at the end.

        Raises:
            TooSlow: the viewer was cut off.
            TimeoutError: nothing came in time.
        """
        async with asyncio.timeout(wait_s):
            while True:
                viewer.news.clear()
                with self._lock:
                    if viewer.cut:
                        raise TooSlow("the terminal's output was not read in time")
                    late = self._is_late(viewer)
                    data, place = self._read(viewer.place, _CHUNK)
                    viewer.place, viewer.since = place, time.monotonic()
                    over = self._over
                if late:
                    self._ring()
                if data or over:
                    return data, place
                await viewer.news.wait()

    def _read(self, place: int, most: int) -> tuple[bytes, int]:
        place = min(max(place, self._first), self.total)
        at, found = self._first, b""
        for piece in self._kept:
            if at + len(piece) > place:
                found += piece[max(0, place - at) : max(0, place - at) + most - len(found)]
                if len(found) >= most:
                    break
            at += len(piece)
        return found, place + len(found)

    def _carry(self) -> None:
        try:
            while not self._closing and self._turn():
                continue
        finally:
            with self._lock:
                self._over = True
                os.close(self._master)
                if self._recording is not None:
                    self._recording.close()
            self._tell()

    def _turn(self) -> bool:
        """Carry the bytes that are ready; ``False`` once no process has the terminal any more."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        behind = self._is_behind()
        wanted = (0 if behind else select.POLLIN) | (select.POLLOUT if self._typing else 0)
        if wanted:
            poll.register(self._master, wanted)
        ready = dict(poll.poll(_LOOK_S * 1000))
        if self._wake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake, 4096)
        event = ready.get(self._master, 0)
        if event & select.POLLOUT:
            self._type()
        readable = event & (select.POLLIN | select.POLLHUP | select.POLLERR)
        return behind or not readable or self._take()

    def _take(self) -> bool:
        data, open_still = self._shown()
        if not data:
            return open_still
        with self._lock:
            self._kept.append(data)
            self.total += len(data)
            self.active = time.monotonic()
            while self.total - self._first - len(self._kept[0]) >= KEPT:
                self._first += len(self._kept.popleft())
            if self._recording is not None:
                self._recording.shown(data)
        self._tell()
        if len(data) == _CHUNK:
            time.sleep(_PAUSE_S)
        return open_still

    def _shown(self) -> tuple[bytes, bool]:
        """Read what is shown by now, a chunk at most, and whether a process has the terminal.

        A read returns at most 4 KiB (the kernel's ``N_TTY_BUF_SIZE``); to keep and announce each of
        them alone would take turns from the event loop.
        """
        shown = bytearray()
        while len(shown) < _CHUNK:
            try:
                data = os.read(self._master, _CHUNK - len(shown))
            except BlockingIOError:
                return bytes(shown), True
            except OSError:  # EIO: the last process that had the terminal has ended
                return bytes(shown), False
            if not data:
                return bytes(shown), False
            shown += data
        return bytes(shown), True

    def _type(self) -> None:
        with self._lock:
            piece = self._typing.popleft() if self._typing else b""
        try:
            count = os.write(self._master, piece)
        except BlockingIOError:
            count = 0
        except OSError:
            count = len(piece)
        with self._lock:
            self._waiting -= count
            if count < len(piece):
                self._typing.appendleft(piece[count:])

    def _is_behind(self) -> bool:
        """Return whether a viewer still has to read what would be lost; cut off a late one."""
        now = time.monotonic()
        with self._lock:
            late = [one for one in self._viewers if self._is_late(one)]
            for one in late:
                one.cut = one.cut or now - one.since > self._patience_s
            cut = [one for one in late if one.cut]
            self._viewers.difference_update(cut)
        for one in cut:
            _wake(one)
        return len(late) > len(cut)

    def _is_late(self, viewer: Viewer) -> bool:
        return self.total - viewer.place > KEPT - 2 * _CHUNK

    def _tell(self) -> None:
        with self._lock:
            viewers = tuple(self._viewers)
        for one in viewers:
            _wake(one)

    def _ring(self) -> None:
        with self._lock, contextlib.suppress(BlockingIOError):
            if self._bell >= 0:
                os.write(self._bell, b"\0")


def _wake(viewer: Viewer) -> None:
    if viewer.news.is_set():
        return
    with contextlib.suppress(RuntimeError):  # its loop is closed
        viewer.loop.call_soon_threadsafe(viewer.news.set)
