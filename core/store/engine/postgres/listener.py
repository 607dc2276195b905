"""Listen for the wake-ups of other replicas; after a silence, check everything once.

NOTIFY is lossy: what commits while nobody listens is never sent again (RESYNC covers that).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

import asyncpg

from core.store.engine.notifications import RESYNC

CHANNEL: Final = "sayso"
_PAUSE_S: Final = 0.5
_LONG: Final = 120
"""Tries after which it is logged, once, that no wake-ups come: a minute and more."""
_log = logging.getLogger(__name__)


class Listening:
    """A dedicated connection that listens, and is reopened when it breaks."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[asyncpg.Connection]],
        boot: str,
        notify: Callable[[str], None],
    ) -> None:
        self._connect, self._boot, self._notify = connect, boot, notify
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return once the first connection listens."""
        conn, broken = await self._listen()
        self._task = asyncio.create_task(self._stay(conn, broken), name="sayso-listen")

    async def stop(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _stay(self, conn: asyncpg.Connection, broken: asyncio.Event) -> None:
        while True:
            try:
                await broken.wait()
            finally:
                conn.terminate()
            conn, broken = await self._again()
            self._notify(RESYNC)

    async def _again(self) -> tuple[asyncpg.Connection, asyncio.Event]:
        tries = 0
        while True:
            try:
                return await self._listen()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                tries += 1
                # A server that is away is reported by whoever needs it
                # (``core.store.engine.outage``).
                if tries == _LONG:
                    _log.warning("PostgreSQL has not accepted LISTEN for a while: %s", error)
                await asyncio.sleep(_PAUSE_S)

    async def _listen(self) -> tuple[asyncpg.Connection, asyncio.Event]:
        conn, broken = await self._connect(), asyncio.Event()
        conn.add_termination_listener(lambda _: broken.set())
        await conn.add_listener(CHANNEL, self._on_notify)
        return conn, broken

    def _on_notify(self, _conn: object, _pid: int, _channel: str, payload: str) -> None:
        boot, _, words = payload.partition("|")
        if boot != self._boot:  # our own were notified at the commit
            self._notify(words)
