"""Define the port that exec frames go through, and its form over a stream of bytes.

Another carrier, such as the link to a node, needs these five members and nothing else.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from core.remote.wire.frames import HEADER, AnyFrame, body_length, decode, encode

_WRITE_S = 30.0
_LINGER_S = 1.0


class LinkLost(Exception):
    """The other side is gone, silent for too long, or does not read."""


class Link(Protocol):
    """One connection between a client and a host; frames arrive whole, in order, once."""

    @property
    def peer(self) -> str:
        """Return where the other side is, in words for logs; it proves nothing."""

    async def send(self, frame: AnyFrame) -> None:
        """Send a frame; several may send at a time.

        Raises:
            LinkLost: it cannot be known whether it arrived.
            BadFrame: it is too large; nothing was sent.
        """

    async def receive(self, within_s: float | None = None) -> AnyFrame:
        """Return the next frame.

        Raises:
            LinkLost: no more arrive, or none arrived in time.
            BadFrame: what arrived is not an exec frame; nothing more can be read.
        """

    def trust(self) -> None:
        """Note that the other side has proven who it is."""

    async def close(self) -> None:
        """Close the connection, once what was sent is out."""


@dataclass(slots=True)
class StreamLink:
    """Frames over a byte stream: a Unix socket, or TLS.

    ``on_known`` is called once the other side has proven who it is.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    peer: str
    write_s: float = _WRITE_S
    on_known: Callable[[], None] | None = None
    known: bool = False

    async def send(self, frame: AnyFrame) -> None:
        """Send a frame; a peer that does not read for ``write_s`` is disconnected.

        Raises:
            LinkLost: it cannot be known whether it arrived.
            BadFrame: it is too large; nothing was sent.
        """
        data = encode(frame)
        if self.writer.is_closing():
            raise LinkLost("the connection is closed")
        try:
            self.writer.write(data)
            async with asyncio.timeout(self.write_s):
                await self.writer.drain()
        except (OSError, TimeoutError) as error:
            self.writer.transport.abort()
            raise LinkLost(f"nothing can be sent: {error!r}") from error

    async def receive(self, within_s: float | None = None) -> AnyFrame:
        """Return the next frame; its memory grows only as its bytes arrive.

        Raises:
            LinkLost: no more arrive, or none arrived in time.
            BadFrame: what arrived is not an exec frame; nothing more can be read.
        """
        try:
            async with asyncio.timeout(within_s):
                length = body_length(await self.reader.readexactly(HEADER.size))
                return decode(await self.reader.readexactly(length))
        except asyncio.IncompleteReadError:
            raise LinkLost("the peer closed the connection") from None
        except TimeoutError:
            raise LinkLost(f"nothing received within {within_s} s") from None
        except OSError as error:
            raise LinkLost(f"the connection failed: {error}") from error

    def trust(self) -> None:
        """Note that the other side has proven who it is."""
        if not self.known:
            self.known = True
            if self.on_known is not None:
                self.on_known()

    async def close(self) -> None:
        """Close the connection, once what was sent is out, or after a second."""
        self.writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                await self.writer.wait_closed()
            return
        self.writer.transport.abort()
