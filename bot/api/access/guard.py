"""Check the site, rates and token of every request before anything is read or run."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.api.access.access_log import UNMATCHED, Access
from bot.api.access.authentication import Authenticator, token_of
from bot.api.access.origin import check_site
from bot.api.http.client import client_of
from bot.api.http.errors import Fault, FaultCode, of_error, too_many
from bot.api.http.rate_limits import Buckets
from bot.api.http.server import LARGEST_HEAD
from core.errors import SaysoError
from core.model.identity import Intake
from core.settings.http import HttpSection

_log = logging.getLogger(__name__)
OPEN_ROUTES = frozenset({"/health", "/openapi.json"})
"""The paths that are answered without a token."""
_API = "/v1/"
_GOES = frozenset({"GET", "HEAD"})
_ALWAYS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Pages(Protocol):
    """What people open in a browser, next to the API: other credentials, other wording."""

    @property
    def routes(self) -> Sequence[Route]:
        """Return the addresses of the pages."""

    def owns(self, scope: Scope) -> bool:
        """Return whether a request is for a page."""

    async def admit(self, scope: Scope) -> None:
        """Let a visitor in, known or not, or raise ``Fault``."""

    def refusal(self, fault: Fault, scope: Scope) -> Response:
        """Return a fault as people read it."""


@dataclass(slots=True)
class Guard:
    """The application that uvicorn calls; ``app`` receives the requests that it lets through."""

    app: ASGIApp
    section: HttpSection
    authenticator: Authenticator
    access: Access
    tokens: Buckets
    pages: Pages | None = None
    _addresses: Buckets = field(init=False)

    def __post_init__(self) -> None:
        """Start the counts."""
        limits = self.section.limits
        self._addresses = Buckets(limits.address_rate, limits.address_burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one WebSocket."""
        seen = self.access.begin(scope)

        async def watched(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                seen.status = message["status"]
                message = {**message, "headers": _with_ours(message.get("headers", ()))}
            elif message["type"] == "websocket.accept":
                seen.status = 101
            await send(message)

        try:
            await self._answer(scope, receive, watched)
        finally:
            self.access.end(seen)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def starting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._admit(scope)
            await self.app(scope, receive, starting)
        except Exception as error:  # even a handler's bug must be answered, and is logged
            fault = _fault_of(error)
            if started:
                # Half an answer is no answer: uvicorn disconnects.
                _log.warning("a response was aborted: %s", fault.message)
                raise
            if self._is_page(scope) and self.pages is not None:
                await self.pages.refusal(fault, scope)(scope, receive, send)
            else:
                await refuse(fault, scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        """Check everything that the head of a request shows.

        Raises:
            Fault: the request is not let through.
        """
        _check_head(scope)
        check_site(scope, self.section)
        wait = self._addresses.take(client_of(scope).key, time.monotonic())
        if wait:
            raise too_many(wait)
        if self._is_page(scope) and self.pages is not None:
            await self.pages.admit(scope)
            return
        state = scope["state"]
        if self._is_open(scope) and token_of(scope) is None:
            state["caller"] = None
            return
        is_socket = scope["type"] == "websocket"
        login, caller = await self.authenticator.open(
            scope, Intake.WEBSOCKET if is_socket else Intake.HTTP
        )
        wait = self.tokens.take(caller.token, time.monotonic())
        if wait:
            raise too_many(wait)
        state["login"], state["caller"] = login, caller

    def _is_page(self, scope: Scope) -> bool:
        if self.pages is None or scope["type"] != "http":
            return False
        return self.pages.owns(scope) or self._is_mistyped(scope)

    def _is_mistyped(self, scope: Scope) -> bool:
        """Return whether a browser opens an address that does not exist, outside of the API."""
        goes = scope["method"] in _GOES and not f"{scope['path']}/".startswith(_API)
        return goes and _reads_html(scope) and self.access.route_of(scope) == UNMATCHED

    def _is_open(self, scope: Scope) -> bool:
        path = scope["path"]
        return path in OPEN_ROUTES or (path == "/metrics" and self.section.metrics_open)


def _reads_html(scope: Scope) -> bool:
    return any(b"text/html" in value for name, value in scope["headers"] if name == b"accept")


def _with_ours(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Add the headers that every answer has, unless it sets them itself."""
    named = {name.lower() for name, _ in headers}
    return [*headers, *(one for one in _ALWAYS if one[0] not in named)]


async def refuse(fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a fault, also to a client that wanted a WebSocket."""
    response = fault.response()
    if scope["type"] == "http":
        await response(scope, receive, send)
        return
    start = {"type": "websocket.http.response.start", "status": fault.status}
    await send({**start, "headers": response.raw_headers})
    await send({"type": "websocket.http.response.body", "body": bytes(response.body)})


def _fault_of(error: Exception) -> Fault:
    if isinstance(error, Fault):
        return error
    if isinstance(error, SaysoError):
        return of_error(error)
    if isinstance(error, HTTPException):
        return Fault(FaultCode.NOT_FOUND, "No such route.")
    # The text of other exceptions may hold a secret or a path: it goes only to the log.
    _log.error("a request failed", exc_info=error)
    return Fault(FaultCode.INTERNAL, "Internal error while handling this request.")


def _check_head(scope: Scope) -> None:
    size = len(scope["raw_path"]) + len(scope["query_string"])
    size += sum(len(name) + len(value) for name, value in scope["headers"])
    if size > LARGEST_HEAD:
        words = f"The URL and headers, with cookies, exceed {LARGEST_HEAD} bytes."
        raise Fault(FaultCode.TOO_LARGE, words)
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
        # A proxy that believed the other header would take the rest of a body for a request (RFC
        # 9112 6.1).
        words = "Content-Length and Transfer-Encoding are both set: send only one."
        raise Fault(FaultCode.BAD_REQUEST, words, {"Connection": "close"})
