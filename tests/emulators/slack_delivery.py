"""Deliver presses, commands and events to the app: over its sockets, or signed to its address."""

import asyncio
import hashlib
import hmac
import json
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSCloseCode, web

from tests.emulators.alterations import Alterations
from tests.emulators.slack_rules import Json
from tests.emulators.slack_state import SlackState

_OK = 200


@dataclass(slots=True)
class Delivery:
    """One press, command or event in transit; ``attempts`` counts those that reached a listener."""

    kind: str
    payload: Json
    envelope_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    attempts: int = 0
    acked: bool = False
    failed: bool = False
    acked_after: float = 0.0
    answered: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class Deliverer:
    """The route to the app; an event is sent again up to three times, anything else never."""

    state: SlackState
    alterations: Alterations = field(default_factory=Alterations)
    ack_seconds: float = 3.0
    retry_delays: tuple[float, ...] = (0.05, 0.5, 2.0)
    request_url: str = ""
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    sent: list[Delivery] = field(default_factory=list)
    _open: dict[str, Delivery] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def once(self, kind: str, payload: Json) -> Delivery:
        """Deliver a press or a command; the member sees at once that it failed."""
        delivery = Delivery(kind, payload)
        self.sent.append(delivery)
        await self._attempt(delivery, 0)
        delivery.failed = not delivery.acked
        await self.state.notify()
        return delivery

    def later(self, kind: str, payload: Json) -> Delivery:
        """Deliver an event in the background, with the platform's repetitions."""
        delivery = Delivery(kind, payload)
        self.sent.append(delivery)
        task = asyncio.create_task(self._persist(delivery))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return delivery

    async def again(self, delivery: Delivery) -> None:
        """Deliver the same envelope again, as after a lost acknowledgement."""
        delivery.answered.clear()
        await self._attempt(delivery, 1)

    def acknowledge(self, frame: Json) -> None:
        """Take an acknowledgement from a socket."""
        delivery = self._open.get(str(frame.get("envelope_id")))
        if delivery is not None:
            delivery.acked = True
            delivery.answered.set()

    async def hang_up(self, how: str = "abort") -> None:
        """End the sockets: ``abort`` the connection, ``close`` it, or ask to ``disconnect``."""
        sockets, self.sockets = self.sockets, []
        for socket in sockets:
            transport = socket._req.transport if socket._req is not None else None
            with suppress(ConnectionError):
                if how == "disconnect":
                    await socket.send_json({"type": "disconnect", "reason": "refresh_requested"})
                elif how == "close":
                    await socket.close(code=WSCloseCode.GOING_AWAY)
                elif transport is not None:
                    transport.abort()

    async def close(self) -> None:
        """Give up what is in transit."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _persist(self, delivery: Delivery) -> None:
        for number, delay in enumerate((0.0, *self.retry_delays)):
            await asyncio.sleep(delay)
            await self._attempt(delivery, number)
            if delivery.acked:
                break
        delivery.failed = not delivery.acked
        await self.state.notify()

    async def _attempt(self, delivery: Delivery, number: int) -> None:
        started = time.monotonic()
        if self.request_url:
            await self._request(delivery, number)
        else:
            await self._envelope(delivery, number)
        delivery.acked_after = time.monotonic() - started
        await self.state.notify()

    async def _envelope(self, delivery: Delivery, number: int) -> None:
        if not self.sockets:
            return
        self._open[delivery.envelope_id] = delivery
        envelope = {
            "envelope_id": delivery.envelope_id,
            "type": delivery.kind,
            "accepts_response_payload": delivery.kind != "events_api",
            "payload": delivery.payload,
        }
        if delivery.kind == "events_api":
            envelope |= {"retry_attempt": number, "retry_reason": "timeout" if number else ""}
        delivery.attempts += 1
        with suppress(ConnectionError):
            altered = self.alterations.apply(_name(delivery), envelope)
            await self.sockets[-1].send_json(altered)
        with suppress(TimeoutError):
            await asyncio.wait_for(delivery.answered.wait(), self.ack_seconds)

    async def _request(self, delivery: Delivery, number: int) -> None:
        body, kind = _encoded(delivery)
        stamp = str(int(time.time()))
        headers = {
            "Content-Type": kind,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature(self.state.signing_secret, stamp, body),
        }
        if number:
            headers |= {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": "http_timeout"}
        timeout = aiohttp.ClientTimeout(total=self.ack_seconds)
        with suppress(aiohttp.ClientError, TimeoutError):
            async with aiohttp.ClientSession(timeout=timeout) as session:
                delivery.attempts += 1
                async with session.post(self.request_url, data=body, headers=headers) as answer:
                    delivery.acked = answer.status == _OK


def _name(delivery: Delivery) -> str:
    return str(delivery.payload.get("event", {}).get("type") or delivery.kind)


def signature(secret: str, stamp: str, body: str) -> str:
    """Sign a request as Slack does (v0)."""
    base = f"v0:{stamp}:{body}".encode()
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


def _encoded(delivery: Delivery) -> tuple[str, str]:
    match delivery.kind:
        case "events_api":
            return json.dumps(delivery.payload), "application/json"
        case "interactive":
            form = {"payload": json.dumps(delivery.payload)}
        case _:
            form = delivery.payload
    return urlencode(form), "application/x-www-form-urlencoded"
