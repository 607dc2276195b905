"""Read calls and answer as Discord's front does: content types, refusals, rate headers."""

import asyncio
import json
import time
from collections import deque
from dataclasses import dataclass, field

from aiohttp import web

from tests.emulators.discord_objects import Json
from tests.emulators.discord_rest import Request
from tests.emulators.discord_rules import Refusal
from tests.emulators.faults import Fault, FaultKind


@dataclass(slots=True)
class Pacing:
    """Messages and seconds of one channel, enforced with 429 and reported in headers."""

    most: int
    seconds: float
    sent: dict[str, deque[float]] = field(default_factory=dict)

    def admit(self, channel: str) -> None:
        """Count one message, or refuse it."""
        sent = self.sent.setdefault(channel, deque())
        now = time.monotonic()
        while sent and now - sent[0] > self.seconds:
            sent.popleft()
        if len(sent) >= self.most:
            wait = self.seconds - (now - sent[0])
            raise Refusal(429, 0, "You are being rate limited.", wait)
        sent.append(now)

    def told(self, channel: str, response: web.Response) -> None:
        """Add the headers by which a client paces itself."""
        sent = self.sent[channel]
        left = self.seconds - (time.monotonic() - sent[0])
        response.headers["X-RateLimit-Limit"] = str(self.most)
        response.headers["X-RateLimit-Remaining"] = str(self.most - len(sent))
        response.headers["X-RateLimit-Reset-After"] = f"{max(0.0, left):.3f}"
        response.headers["X-RateLimit-Bucket"] = f"bucket-{id(self)}"


async def parsed(request: web.Request) -> Request:
    """Read a call; only the exact content type makes a body JSON."""
    ids = dict(request.match_info)
    kind = request.headers.get("Content-Type", "")
    if kind == "application/json" and request.can_read_body:
        body = await request.json()
        if isinstance(body, list):
            return Request(ids, {}, commands=body)
        return Request(ids, body)
    if not kind.startswith("multipart/form-data"):
        return Request(ids, {}, query=dict(request.query))
    posted = await request.post()
    files = {
        value.filename: value.file.read().decode()
        for value in posted.values()
        if isinstance(value, web.FileField)
    }
    return Request(ids, json.loads(str(posted["payload_json"])), files)


async def refuse_or_delay(fault: Fault | None) -> None:
    """Raise the refusal, or sleep through the delay, that a fault asks for."""
    if fault is None:
        return
    if fault.kind is FaultKind.STATUS:
        raise Refusal(fault.status, 0, f"Fault {fault.status}", fault.retry_after)
    if fault.kind is FaultKind.DELAY:
        await asyncio.sleep(fault.seconds)


async def lose_or_hold(request: web.Request, fault: Fault | None) -> None:
    """Hold back the answer to a call that was carried out, for some seconds or for good."""
    if fault is not None and fault.kind is FaultKind.LOSE:
        drop(request)
    if fault is not None and fault.kind is FaultKind.HOLD:
        await asyncio.sleep(fault.seconds)


def drop(request: web.Request) -> None:
    """Cut the connection instead of answering."""
    if request.transport is not None:
        request.transport.abort()
    raise web.HTTPInternalServerError


def refused(refusal: Refusal) -> web.Response:
    """Format a refusal as Discord does."""
    body: Json = {"message": refusal.words, "code": refusal.code}
    if refusal.errors:
        body["errors"] = refusal.errors
    if refusal.status != web.HTTPTooManyRequests.status_code:
        return answer(body, refusal.status)
    response = answer({**body, "retry_after": refusal.retry_after, "global": False}, refusal.status)
    # A client takes a 429 without Via for a ban by the CDN in front of the API.
    response.headers["Via"] = "1.1 local"
    response.headers["Retry-After"] = str(refusal.retry_after)
    return response


def answer(body: object, status: int = 200) -> web.Response:
    """Answer with JSON, under the exact content type."""
    # With a charset, the library would take the body for text.
    return web.Response(
        body=json.dumps(body).encode(), status=status, content_type="application/json"
    )
