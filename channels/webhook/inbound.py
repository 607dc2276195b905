"""Accept signed answers over HTTP; each is answered at once with its result."""

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from aiohttp import web

from channels.base import Inbox
from channels.listener import Listener
from channels.webhook.messages import encode_reply, read
from channels.webhook.signing import FRESH_S, SIGNATURE, TIMESTAMP, Direction, fault
from core.errors import BadRequest, SaysoError

PATH = "/sayso/answer"
_log = logging.getLogger(__name__)
_LARGEST_BODY = 64 * 1024
_MOST_REMEMBERED = 10_000
_PATIENCE_S = 10.0


@dataclass(slots=True)
class Receiver:
    """The listener for answers. A repeated body gets the same answer as before."""

    secret: str = field(repr=False)
    inbox: Inbox
    _answered: OrderedDict[str, tuple[float, bytes]] = field(default_factory=OrderedDict)
    _listener: Listener | None = None

    async def open(self, host: str, port: int) -> None:
        """Listen.

        Raises:
            OSError: the address is taken or not ours.
        """
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_post(PATH, self._answer)
        self._listener = await Listener.open(app, host, port, _PATIENCE_S)

    async def close(self) -> None:
        """Let answers under way end, then stop listening."""
        if self._listener is not None:
            await self._listener.close()
            self._listener = None

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        headers = request.headers.get(TIMESTAMP, ""), request.headers.get(SIGNATURE, "")
        wrong = fault(self.secret, Direction.IN, headers, body, int(time.time()))
        if wrong is not None:
            _log.warning("an answer was refused: %s", wrong)
            return _error(401, wrong)
        known = self._known(headers[1])
        if known is not None:
            return _json(known)
        return await self._take(body, headers[1])

    async def _take(self, body: bytes, signature: str) -> web.Response:
        try:
            inbound = read(body)
            if inbound is None:
                return _error(
                    422, "the text is neither an answer nor a command; nothing was changed"
                )
            # A caller that disconnects does not undo its request.
            reply = encode_reply(await asyncio.shield(self.inbox.receive(inbound)))
        except BadRequest as wrong:
            return _error(400, str(wrong))
        except SaysoError as failure:
            return _error(503, f"nothing was decided; send it again: {failure}")
        self._answered[signature] = (time.monotonic(), reply)
        return _json(reply)

    def _known(self, signature: str) -> bytes | None:
        """Return the earlier answer to this same request; older ones are no longer fresh anyway."""
        oldest = time.monotonic() - 2 * FRESH_S
        while self._answered:
            at, _ = next(iter(self._answered.values()))
            if at > oldest and len(self._answered) <= _MOST_REMEMBERED:
                break
            self._answered.popitem(last=False)
        found = self._answered.get(signature)
        return None if found is None else found[1]


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _error(status: int, why: str) -> web.Response:
    return web.json_response({"error": why}, status=status)
