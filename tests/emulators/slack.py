"""Speak Slack's Web API, Socket Mode and signed requests, as strictly as the platform.

In a test: ``async with SlackServer() as server``. As a process of its own, which outlives gateways:
``python -m tests.emulators.slack --port 0`` prints its port and tokens as JSON and takes
``/control/press``, ``press_choice``, ``say``, ``slash``, ``messages``, ``whispers``,
``deliveries``, ``fault``, ``hang_up``, ``listen``, ``patience``, ``group`` and ``calls``.
"""

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from aiohttp import WSMsgType, web

from tests.emulators.alone import run_alone
from tests.emulators.alterations import Alterations
from tests.emulators.faults import Fault, FaultKind, FaultQueue, page_of
from tests.emulators.slack_control import Controls
from tests.emulators.slack_delivery import Deliverer
from tests.emulators.slack_methods import call
from tests.emulators.slack_people import People
from tests.emulators.slack_rules import Json, Refusal
from tests.emulators.slack_state import SlackState

_OK, _BAD = 200, 400


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the bot and how it was answered."""

    method: str
    arguments: Json
    status: int
    error: str


@dataclass(slots=True)
class SlackServer:
    """A workspace on loopback; with ``port`` 0 on a free port.

    ``scopes_header`` replaces the token's scopes in answers; ``None`` leaves the header out.
    """

    state: SlackState = field(default_factory=SlackState)
    port: int = 0
    faults: FaultQueue = field(default_factory=FaultQueue)
    calls: list[Call] = field(default_factory=list)
    tickets: set[str] = field(default_factory=set)
    alterations: Alterations = field(default_factory=Alterations)
    scopes_header: str | None = ""
    delivery: Deliverer = field(init=False)
    people: People = field(init=False)
    _runner: web.AppRunner | None = None

    def __post_init__(self) -> None:
        self.delivery = Deliverer(self.state, self.alterations)
        self.people = People(self.state, self.delivery)

    @property
    def url(self) -> str:
        """Return the value for ``channels.slack.apiBaseUrl``."""
        return f"http://127.0.0.1:{self.port}/api/"

    def count(self, method: str) -> int:
        """Count the calls of a method that were carried out."""
        return sum(one.method == method and not one.error for one in self.calls)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/api/{method}", self._web_api)
        app.router.add_get("/link", self._link)
        app.router.add_post("/respond/{token}", self._respond)
        app.router.add_post("/control/{action}", self._control)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]
        self.people.base = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.delivery.close()
        await self.delivery.hang_up("abort")
        if self._runner is not None:
            await self._runner.cleanup()

    async def until(self, met: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until a condition holds."""
        await self.state.until(met, seconds)

    async def _web_api(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        arguments, as_json = await _arguments(request)
        fault = self.faults.strike(method)
        if (page := page_of(fault)) is not None:
            return await self._answered(method, arguments, page, "page")
        try:
            if fault is not None and fault.kind is FaultKind.DROP:
                _drop(request)
            await _refuse_or_delay(fault)
            token = request.headers.get("Authorization", "").removeprefix("Bearer ")
            result = call(self.state, method, token, arguments, as_json=as_json)
            if method == "apps.connections.open":
                result = {"url": self._ticket()}
        except Refusal as refusal:
            return await self._answered(method, arguments, _refused(refusal), refusal.error)
        if fault is not None and fault.kind is FaultKind.LOSE:
            await self.state.notify()
            _drop(request)
        await _hold(fault)
        scopes = self.scopes_header or ",".join(sorted(self.state.scopes))
        given = {} if self.scopes_header is None else {"X-OAuth-Scopes": scopes}
        answer = self.alterations.apply(method, {"ok": True, **result})
        response = web.json_response(answer, headers=given)
        return await self._answered(method, arguments, response)

    async def _answered(
        self, method: str, arguments: Json, response: web.Response, error: str = ""
    ) -> web.Response:
        self.calls.append(Call(method, arguments, response.status, error))
        await self.state.notify()
        return response

    def _ticket(self) -> str:
        ticket = f"ticket{self.state.number()}"
        self.tickets.add(ticket)
        return f"ws://127.0.0.1:{self.port}/link?ticket={ticket}&app_id={self.state.app}"

    async def _link(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        fault = self.faults.strike("link")
        if (page := page_of(fault)) is not None:
            self.tickets.discard(ticket)
            return page
        if ticket not in self.tickets or (fault and fault.kind is not FaultKind.DELAY):
            self.tickets.discard(ticket)
            raise web.HTTPForbidden(text="this ticket was used or never given")
        self.tickets.discard(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        hello = {"type": "hello", "num_connections": 1, "debug_info": {}}
        await socket.send_json(self.alterations.apply("hello", hello))
        self.delivery.sockets.append(socket)
        await self.state.notify()
        async for frame in socket:
            if frame.type is WSMsgType.TEXT:
                self.delivery.acknowledge(json.loads(frame.data))
        if socket in self.delivery.sockets:
            self.delivery.sockets.remove(socket)
        await self.state.notify()
        return socket

    async def _respond(self, request: web.Request) -> web.Response:
        token, body = request.match_info["token"], await request.json()
        fault = self.faults.strike("respond")
        if (page := page_of(fault)) is not None:
            return page
        try:
            await _refuse_or_delay(fault)
            self.state.answers.take(token, body, self.state.new_ts())
        except Refusal as refusal:
            status = refusal.status if refusal.status != _OK else _BAD
            return web.Response(status=status, text=refusal.error)
        await self.state.notify()
        return web.Response(text="ok")

    async def _control(self, request: web.Request) -> web.Response:
        controls = Controls(self.people, self.faults)
        action, body = request.match_info["action"], await request.json()
        if action == "calls":
            return web.json_response([[one.method, one.arguments, one.error] for one in self.calls])
        return web.json_response(await controls.act(action, body))


async def _arguments(request: web.Request) -> tuple[Json, bool]:
    if request.content_type == "application/json":
        return await request.json(), True
    posted = await request.post()
    both = {**request.query, **posted}
    return {name: str(value) for name, value in both.items()}, False


async def _refuse_or_delay(fault: Fault | None) -> None:
    if fault is None:
        return
    if fault.kind is FaultKind.STATUS:
        word = "ratelimited" if fault.retry_after else "internal_error"
        raise Refusal(word, fault.status, fault.retry_after)
    if fault.kind is FaultKind.DELAY:
        await asyncio.sleep(fault.seconds)


async def _hold(fault: Fault | None) -> None:
    if fault is not None and fault.kind is FaultKind.HOLD:
        await asyncio.sleep(fault.seconds)


def _drop(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
    raise web.HTTPInternalServerError


def _refused(refusal: Refusal) -> web.Response:
    body = {"ok": False, "error": refusal.error, **refusal.more}
    headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else None
    return web.json_response(body, status=refusal.status, headers=headers)


async def _serve(port: int) -> None:
    async with SlackServer(port=port) as server:
        state = server.state
        shown = {"port": server.port, "botToken": state.bot_token, "appToken": state.app_token}
        shown |= {"signingSecret": state.signing_secret}
        sys.stdout.write(json.dumps(shown) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    run_alone(_serve)
