"""Speak the Bot API over HTTP, as strictly as the platform, with state in memory.

In a test: ``async with TelegramServer() as server``. As a process of its own, which outlives
gateways: ``python -m tests.emulators.telegram --port 0`` prints ``{"port": …, "token": …}`` and
takes what ``telegram_control`` lists.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from tests.emulators.alone import run_alone
from tests.emulators.alterations import Alterations
from tests.emulators.faults import Fault, FaultKind, FaultQueue, page_of
from tests.emulators.telegram_control import Controls
from tests.emulators.telegram_delivery import Delivery
from tests.emulators.telegram_methods import METHODS, PARAMETERS
from tests.emulators.telegram_rules import Refusal, bad
from tests.emulators.telegram_state import Json, TelegramState


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the bot and how it was answered."""

    method: str
    parameters: dict[str, str]
    status: int


@dataclass(slots=True)
class TelegramServer:
    """A Bot API server on loopback; with ``port`` 0 on a free port."""

    state: TelegramState = field(default_factory=TelegramState)
    port: int = 0
    faults: FaultQueue = field(default_factory=FaultQueue)
    calls: list[Call] = field(default_factory=list)
    alterations: Alterations = field(default_factory=Alterations)
    delivery: Delivery = field(init=False)
    _delivering: asyncio.Task[None] | None = None
    _poll: asyncio.Event | None = None
    _runner: web.AppRunner | None = None

    def __post_init__(self) -> None:
        self.delivery = Delivery(self.state)

    @property
    def url(self) -> str:
        """Return the value for ``channels.telegram.apiBaseUrl``."""
        return f"http://127.0.0.1:{self.port}"

    def count(self, method: str) -> int:
        """Count the calls of a method that were carried out."""
        return sum(
            call.method == method and call.status == web.HTTPOk.status_code for call in self.calls
        )

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/bot{token}/{method}", self._bot_api)
        app.router.add_post("/control/{action}", Controls(self).handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self._delivering = asyncio.create_task(self.delivery.run())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._poll is not None:
            self._poll.set()
            await self.state.notify()
        if self._delivering is not None:
            self._delivering.cancel()
            await asyncio.gather(self._delivering, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()

    async def press(self, chat: int, message: int, user: int, button: str) -> str:
        """Press a button, named by its label or data; return the query id."""
        query = self.state.press(chat, message, user, button)
        await self.state.notify()
        return query

    async def press_choice(self, chat: int, user: int, label: str) -> str:
        """Press a choice in the newest message that offers it; return the query id."""
        query = self.state.press_choice(chat, user, label)
        await self.state.notify()
        return query

    async def press_old(self, chat: int, message: int, user: int, data: str) -> str:
        """Press a button that an edit removed, as a client that has not seen the edit can."""
        query = self.state.press_data(self.state.message(chat, message), user, data)
        await self.state.notify()
        return query

    async def say(self, chat: int, user: int, text: str, **extra: object) -> Json:
        """Type a message; ``reply_to`` is the id of the message that it replies to."""
        message = self.state.say(chat, user, text, extra)
        await self.state.notify()
        return message

    def messages(self, chat: int) -> list[Json]:
        """Return a chat's messages in order."""
        return self.state.messages(chat)

    async def until(self, met: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until a condition holds."""
        await self.state.until(met, seconds)

    async def _bot_api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        parameters = await _parameters(request)
        fault = self.faults.strike(method)
        if (page := page_of(fault)) is not None:
            return await self._answered(method, parameters, page)
        try:
            if fault is not None and fault.kind is FaultKind.DROP:
                _drop(request)
            await refuse_or_delay(fault)
            result = await self._carry_out(request.match_info["token"], method, parameters)
        except Refusal as refusal:
            return await self._answered(method, parameters, _refused(refusal))
        if fault is not None and fault.kind is FaultKind.LOSE:
            _drop(request)
        if fault is not None and fault.kind is FaultKind.HOLD:
            await asyncio.sleep(fault.seconds)
        answer = self.alterations.apply(method, {"ok": True, "result": result})
        return await self._answered(method, parameters, _json(answer))

    async def _answered(
        self, method: str, parameters: dict[str, str], response: web.Response
    ) -> web.Response:
        self.calls.append(Call(method, parameters, response.status))
        await self.state.notify()
        return response

    async def _carry_out(self, token: str, method: str, parameters: dict[str, str]) -> object:
        if token != self.state.token:
            raise Refusal(401, "Unauthorized")
        if method not in PARAMETERS:
            raise Refusal(404, "Not Found")
        unknown = parameters.keys() - PARAMETERS[method]
        if unknown:
            raise bad(f"unknown parameters {sorted(unknown)}")
        if method == "getUpdates":
            return await self._get_updates(parameters)
        if method == "setWebhook":
            self.delivery.at_webhook()
        return METHODS[method](self.state, parameters)

    async def _get_updates(self, parameters: dict[str, str]) -> list[Json]:
        if self.state.webhook.url:
            words = "can't use getUpdates method while webhook is active; use deleteWebhook first"
            raise Refusal(409, f"Conflict: {words}")
        offset, limit = int(parameters.get("offset", 0)), int(parameters.get("limit", 100))
        if "allowed_updates" in parameters:
            self.state.allowed = json.loads(parameters["allowed_updates"])
        self.state.take(offset, limit)
        if self._poll is not None:
            self._poll.set()  # the platform ends the older poll, not the newer one
        await self.state.notify()
        mine = self._poll = asyncio.Event()
        try:
            await self.state.until(
                lambda: mine.is_set() or bool(self.state.take(offset, limit)),
                float(parameters.get("timeout", 0)) or 0.001,
            )
        except TimeoutError:
            return []
        finally:
            self._poll = None if self._poll is mine else self._poll
        if mine.is_set():
            raise Refusal(409, "Conflict: terminated by other getUpdates request")
        return self.state.take(offset, limit)


async def _parameters(request: web.Request) -> dict[str, str]:
    if request.content_type == "application/json":
        return {name: str(value) for name, value in (await request.json()).items()}
    posted = await request.post()
    both = {**request.query, **posted}
    return {
        name: value.file.read().decode() if isinstance(value, web.FileField) else str(value)
        for name, value in both.items()
    }


async def refuse_or_delay(fault: Fault | None) -> None:
    """Raise the refusal, or sleep through the delay, that a fault asks for."""
    if fault is None:
        return
    if fault.kind is FaultKind.STATUS:
        raise Refusal(fault.status, fault.words, fault.retry_after)
    if fault.kind is FaultKind.DELAY:
        await asyncio.sleep(fault.seconds)


def _drop(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
    raise web.HTTPInternalServerError


def _refused(refusal: Refusal) -> web.Response:
    body: dict[str, Any] = {
        "ok": False,
        "error_code": refusal.code,
        "description": refusal.description,
    }
    if refusal.retry_after:
        body["parameters"] = {"retry_after": refusal.retry_after}
    return _json(body, refusal.code)


def _json(body: object, status: int = 200) -> web.Response:
    return web.json_response(body, status=status)


async def _serve(port: int) -> None:
    async with TelegramServer(port=port) as server:
        sys.stdout.write(json.dumps({"port": server.port, "token": server.state.token}) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    run_alone(_serve)
