"""Act as a service behind the webhook channel: show what is posted, answer for its people.

It checks each signature on its own (RFC 2104, written out here and not imported from the channel),
refuses what is unsigned, stale or not JSON, and fails on demand.
"""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web

from tests.emulators.faults import Fault, FaultKind, FaultQueue

SECRET = "0123456789abcdef0123456789abcdef"
_FRESH_S = 300


def signature(way: str, at: str, body: bytes, secret: str = SECRET) -> str:
    """Return the signature that docs/how-to/webhook.md describes."""
    text = f"v1:{way}:{at}:".encode() + body
    return "v1=" + hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()


@dataclass(slots=True)
class WebhookService:
    """The service; ``messages`` by id, each as last posted, ``posts`` in order."""

    answers_to: str = ""
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    posts: list[dict[str, Any]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    faults: FaultQueue = field(default_factory=FaultQueue)
    url: str = ""
    _runner: web.AppRunner | None = None
    _session: aiohttp.ClientSession | None = None
    _events: int = 0

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/hook", self._hook)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/hook"
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _hook(self, request: web.Request) -> web.Response:
        body = await request.read()
        at = request.headers.get("X-Sayso-Timestamp", "")
        given = request.headers.get("X-Sayso-Signature", "")
        if not hmac.compare_digest(signature("out", at, body), given):
            self.refused.append("signature")
            return web.json_response({"error": "bad signature"}, status=401)
        if abs(time.time() - int(at)) > _FRESH_S:
            self.refused.append("stale")
            return web.json_response({"error": "stale"}, status=401)
        return await self._accept(request, json.loads(body))

    async def _accept(self, request: web.Request, post: dict[str, Any]) -> web.Response:
        fault = self.faults.strike(str(post["type"]))
        if fault is not None and fault.kind is not FaultKind.LOSE:
            return await self._fail(request, fault)
        self.posts.append(post)
        shown = self.messages.setdefault(post["message"], {})
        shown.clear()
        shown.update(post)
        if fault is not None and request.transport is not None:
            request.transport.abort()
        return web.json_response({"ok": True})

    async def _fail(self, request: web.Request, fault: Fault) -> web.Response:
        if fault.kind is FaultKind.DROP and request.transport is not None:
            request.transport.abort()
        await asyncio.sleep(fault.seconds)
        headers = {"Retry-After": str(fault.retry_after)} if fault.retry_after else {}
        return web.json_response({"error": fault.words}, status=fault.status, headers=headers)

    async def answer(self, **said: object) -> tuple[int, dict[str, Any]]:
        """Send an answer of one of our people; return the status and the response."""
        self._events += 1
        body = json.dumps({"event": f"e{self._events}", "account": "ana", "to": "desk"} | said)
        return await self.send(body.encode())

    async def send(
        self, body: bytes, *, way: str = "in", at: int | None = None, secret: str = SECRET
    ) -> tuple[int, dict[str, Any]]:
        """Send a body, signed as requested."""
        assert self._session is not None
        stamp = str(int(time.time()) if at is None else at)
        headers = {
            "X-Sayso-Timestamp": stamp,
            "X-Sayso-Signature": signature(way, stamp, body, secret),
        }
        async with self._session.post(self.answers_to, data=body, headers=headers) as response:
            told: dict[str, Any] = await response.json()
            self.told.append(told)
            return response.status, told

    async def until(self, met: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until a condition holds."""
        async with asyncio.timeout(seconds):
            while not met():
                await asyncio.sleep(0.005)
