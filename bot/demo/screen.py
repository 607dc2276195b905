"""Serve one screen with three fake chats and the control page in a frame.

A separate server next to the gateway's, on loopback, at an address that only the demo's viewer
knows. Only in this process does the gateway accept that this origin may frame its pages.
"""

import asyncio
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from bot.api.access.origin import check_site
from bot.api.http.bodies import header, read_body, read_json
from bot.api.http.errors import Fault, FaultCode, of_error
from bot.api.http.server import serving
from bot.api.rest.rest import unless_gone
from bot.app import Gateway
from bot.demo.chats import PLACES, Chats
from bot.page.assets import Assets
from bot.page.render import Renderer
from core.errors import SaysoError
from core.model.access import Scope as Right
from core.model.approval import ApprovalReply
from core.settings.http import HttpSection
from core.store.people import page_links, people

PERSON = "you"
"""The person who signs in to the page."""
_RIGHTS = frozenset({Right.APPROVE, Right.READ, Right.ADMIN})
_FOLDER = Path(__file__).parent
_LOOK_S = 0.1
"""How often an open screen checks the chats, which are in memory."""
_ALWAYS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_LARGEST = 16 * 1024
_PATIENCE_S = 10.0
_LEFT_S = 10.0
"""How long the screen may go unwatched before it counts as closed; a reload takes less."""


class Act(BaseModel):
    """What was done in a chat: a prompt's button, a reply's button, or a message."""

    model_config = ConfigDict(extra="forbid")

    place: Literal["telegram", "slack", "discord"]
    message: str = Field(default="", max_length=20)
    code: str = Field(default="", max_length=20)
    reply: ApprovalReply | None = None
    choice: str = Field(default="", max_length=200)
    text: str = Field(default="", max_length=4_000)


@dataclass(slots=True)
class Screen:
    """The screen of one demo; it shows the control page once ``running`` is set.

    ``watching`` counts the browsers that have it open.
    """

    chats: Chats
    section: HttpSection
    render: Renderer
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(16), repr=False)
    port: int = 0
    running: Gateway | None = None
    watching: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _router: Router = field(init=False)

    def __post_init__(self) -> None:
        """Create the routes once."""
        routes = (
            Route("/{secret}/", self.show),
            Route("/{secret}/live", self.live),
            Route("/{secret}/act", self.act, methods=["POST"]),
            Route("/static/{version}/{name}", self.static),
        )
        self._router = Router(routes, redirect_slashes=False)

    @property
    def origin(self) -> str:
        """Return the origin that frames the page: by name, as browsers require for passkeys."""
        return f"http://localhost:{self.port}"

    @property
    def url(self) -> str:
        """Return the address that the viewer opens."""
        return f"{self.origin}/{self.secret}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            check_site(scope, self.section)
            await self._router(scope, receive, send)
        except Fault as fault:
            await fault.response()(scope, receive, send)
        except SaysoError as error:
            await of_error(error).response()(scope, receive, send)

    async def show(self, request: Request) -> Response:
        """Return the screen, with a new link to the control page."""
        running = self._opened(request)
        link = await running.store.write(page_links.create, PERSON, _RIGHTS, "demo")
        page = f"{_named(running)}/login/{link.secret}"
        text = self.render.text("screen.html", places=PLACES, page=page)
        return HTMLResponse(text, headers={**_ALWAYS, "Content-Security-Policy": _policy(running)})

    async def live(self, request: Request) -> Response:
        """Return a stream of what changes in the chats."""
        self._opened(request)
        return _Stream(self)

    async def act(self, request: Request) -> Response:
        """Carry out what was pressed or typed in a chat.

        Raises:
            Fault: it does not come from our page, or is malformed.
            SaysoError: nothing was done.
        """
        self._opened(request)
        if header(request.scope, b"origin") is None:
            raise Fault(FaultCode.WRONG_SITE, "Origin header missing.")
        body = await read_body(request.scope, request.receive, _LARGEST, _PATIENCE_S)
        try:
            act = Act.model_validate_json(json.dumps(read_json(request.scope, body)))
        except ValidationError:
            raise Fault(FaultCode.BAD_REQUEST, "That is not an action in a chat.") from None
        await _done(self.chats, act)
        return Response(status_code=204, headers=_ALWAYS)

    async def static(self, request: Request) -> Response:
        """Return the style sheet or the script."""
        return self.render.assets.response(**request.path_params)

    def _opened(self, request: Request) -> Gateway:
        """Return the gateway, for clients that know the address.

        Raises:
            Fault: the address is wrong, or nothing runs yet.
        """
        known = hmac.compare_digest(request.path_params["secret"].encode(), self.secret.encode())
        if not known or self.running is None:
            raise Fault(FaultCode.NOT_FOUND, "No such address.")
        return self.running

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count a browser that has the screen open."""
        self.watching += 1
        self._changed.set()
        try:
            yield
        finally:
            self.watching -= 1
            self._changed.set()

    async def left(self) -> None:
        """Return when nobody has had the screen open for a while."""
        while True:
            self._changed.clear()
            patience_s = None if self.watching else _LEFT_S
            try:
                async with asyncio.timeout(patience_s):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def events(self) -> AsyncIterator[bytes]:
        """Yield each chat that has changed; the first event has all of them."""
        sent: dict[str, str] = {}
        while True:
            drawn = {
                place: self.render.text("chat.html", **self.chats.values(place)) for place in PLACES
            }
            news = {place: html for place, html in drawn.items() if sent.get(place) != html}
            if news:
                yield f"retry: 1000\nevent: chats\ndata: {json.dumps(news)}\n\n".encode()
            sent = drawn
            await asyncio.sleep(_LOOK_S)


class _Stream(Response):
    """A response that continues until the browser leaves."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(media_type="text/event-stream", headers=_ALWAYS)
        del self.headers["content-length"]
        self._screen = screen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream the events."""
        del scope
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        with self._screen.watched():
            await unless_gone(receive, self._events(send))

    async def _events(self, send: Send) -> None:
        async for event in self._screen.events():
            await send({"type": "http.response.body", "body": event, "more_body": True})


async def _done(chats: Chats, act: Act) -> None:
    if act.reply is not None:
        await chats.press(act.place, act.message, act.code, act.reply)
    elif act.choice:
        await chats.choose(act.place, act.choice)
    else:
        await chats.say(act.place, act.text)


def _named(running: Gateway) -> str:
    """Return where the control page is, by the name that browsers create passkeys for."""
    return f"http://localhost:{urlsplit(running.api_url or '').port}"


def _policy(running: Gateway) -> str:
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
        f"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
        f"frame-src {_named(running)}"
    )


@asynccontextmanager
async def screen_of(chats: Chats, home: Path) -> AsyncIterator[Screen]:
    """Serve a screen for as long as the block lasts."""
    section = HttpSection(listen="127.0.0.1:0")
    render = Renderer(Assets.load(_FOLDER / "assets"), UTC, _FOLDER / "templates")
    screen = Screen(chats, section, render)
    async with serving(screen, section, home) as listening:
        screen.port = listening.port
        yield screen


async def open_to_browsers(screen: Screen, running: Gateway) -> None:
    """Let browsers open the screen, now that there is a page to show."""
    await running.store.write(people.add, PERSON)
    screen.running = running
