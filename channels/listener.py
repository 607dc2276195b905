"""Listen for requests of a platform that delivers what people did over HTTP.

Anyone who reaches the address can open requests and leave them, before a signature can be checked.
"""

import asyncio
import logging
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

_log = logging.getLogger(__name__)
_BODY_PATIENCE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Listener:
    """A server that listens; ``port`` is the one that it got."""

    port: int
    _runner: web.AppRunner

    @classmethod
    async def open(
        cls, app: web.Application, host: str, port: int, stop_patience_s: float
    ) -> "Listener":
        """Listen; ``port`` 0 picks a free one.

        Raises:
            OSError: the address is taken or not ours.
        """
        app.middlewares.insert(0, _read_first)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=stop_patience_s)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError:
            await runner.cleanup()
            raise
        return cls(runner.addresses[0][1], runner)

    async def close(self) -> None:
        """Let requests under way end, then stop listening."""
        await self._runner.cleanup()


@web.middleware
async def _read_first(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Read a request whole before anything else, and end one that its client leaves unfinished."""
    try:
        async with asyncio.timeout(_BODY_PATIENCE_S):
            await request.read()
    except (ConnectionResetError, TimeoutError):
        _log.info("A request on %s ended before its body.", request.path)
        return web.Response(status=HTTPStatus.REQUEST_TIMEOUT, headers={"Connection": "close"})
    return await handler(request)
