"""Track how far a run is, for those who cancel it or watch it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from core.errors import SpawnError
from core.files.file_identity import FileIdentity
from core.model.result import LiveOutput, OutputChunk
from core.model.stdio import PLAIN_STDIO, Capture, Stdio
from core.runner.enclosure import Enclosure
from core.runner.link import Link
from core.runner.live_output import LiveBuffer, live_buffer_of
from core.runner.supervisor.protocol import Private


@dataclass(slots=True)
class Progress:
    """A run in progress; ``link`` is set once it can be cancelled by message.

    ``apart``: it has its own limits, so its supervisor serves no other run. ``fit``: its supervisor
    reported that it takes another job. ``asked``: messages were sent to it that may still be on
    their way. ``awaited``: someone already watches. ``live``: what it printed, if that is wanted.
    ``own``: the gateway's own command, which no one asked for. ``private``: the folder that is its
    own. ``patience``: how long its supervisor is waited for, once it has its job. ``identities``
    are those that its supervisor expects of its files, by path.
    """

    enclosure: Enclosure | None
    own: bool
    private: Private | None
    apart: bool = False
    began: float = field(default_factory=time.monotonic)
    link: Link | None = None
    fit: bool = False
    asked: bool = False
    awaited: bool = False
    live: LiveBuffer | None = None
    patience: asyncio.Timeout | None = None
    unwanted: asyncio.Event = field(default_factory=asyncio.Event)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    identities: dict[str, FileIdentity] = field(default_factory=dict)
    _lookers: list[asyncio.Future[LiveOutput | None]] = field(default_factory=list)

    @property
    def age_ms(self) -> int:
        """Return the time since it was asked for (ms)."""
        return round((time.monotonic() - self.began) * 1000)

    @property
    def cancelled(self) -> bool:
        """Return whether its end was requested."""
        return self.unwanted.is_set()

    @property
    def reusable(self) -> bool:
        """Return whether its supervisor can take another job that no message of ours can reach."""
        return self.fit and not (self.apart or self.cancelled or self.asked)

    def open_live_output(self, stdio: Stdio) -> None:
        """Keep what is printed from the first byte on, if streams are separate or watched.

        Raises:
            SpawnError: no room is left for it.
        """
        if self.awaited or stdio.capture is Capture.SEPARATE:
            self.live = live_buffer_of(stdio)

    def start(self, link: Link) -> None:
        """Record which supervisor runs it."""
        self.link = link
        self.moved.set()
        if self.cancelled:
            link.cancel()

    def cancel(self) -> None:
        """Have it ended, now or as soon as it has started."""
        self.unwanted.set()
        if self.link is not None:
            self.link.cancel()

    def finish(self) -> None:
        """Record that it is over, and release everyone who waits for it."""
        if self.live is not None:
            self.live.end()
        self.over.set()
        self.moved.set()
        self.show(None)

    async def tail(self) -> LiveOutput | None:
        """Return what was printed last; ``None`` if it has not started, or ends first."""
        if self.link is None:
            return None
        looker: asyncio.Future[LiveOutput | None] = asyncio.get_running_loop().create_future()
        self._lookers.append(looker)
        self.asked = True
        self.link.ask_tail()
        return await looker

    def show(self, output: LiveOutput | None) -> None:
        """Answer those who asked for the output; one report answers all who asked before it."""
        for looker in self._lookers:
            if not looker.done():
                looker.set_result(output)
        self._lookers.clear()

    async def chunks(self) -> AsyncIterator[OutputChunk]:
        """Yield what is printed, from start to end."""
        self.awaited = True
        await self.moved.wait()
        if self.live is None and self.link is not None and not self.over.is_set():
            self._ask_live_output(self.link)
        if self.live is None:
            await self.over.wait()
            return
        self.live.listen()
        async for chunk in self.live.chunks():
            yield chunk

    def _ask_live_output(self, link: Link) -> None:
        """Have the live output filled for the first watcher; later ones read the same."""
        with contextlib.suppress(SpawnError):  # no descriptor: the run goes unwatched
            self.live = live_buffer_of(PLAIN_STDIO)
            self.asked = True
            link.ask_live_output(self.live.descriptors())
