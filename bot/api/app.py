"""Build the API from the gateway's parts, and run it for as long as the gateway runs."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from starlette.routing import Route, Router, WebSocketRoute
from starlette.types import Receive, Scope, Send

from bot.api.access.access_log import Access
from bot.api.access.authentication import Authenticator
from bot.api.access.gate_proof_token import ProvingToken
from bot.api.access.guard import Guard, Pages
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.metrics import Meters
from bot.api.http.rate_limits import Buckets, Places
from bot.api.http.server import Listening, serving
from bot.api.openapi.document import document
from bot.api.rest.background import Asking
from bot.api.rest.pages import DocumentPage, HealthPage, MetricsPage, Report, Scrape
from bot.api.rest.rest import Resource, Rest
from bot.api.rest.routes import by_path, served
from bot.api.rest.wakeups import ApiWakeups
from bot.api.websocket.connection import PATH, WebSockets
from bot.intake.callers.bearer import Bearers
from bot.intake.registry.method import Table
from core.gate.gate import Gate
from core.settings.http import HttpSection

_log = logging.getLogger(__name__)
_ANSWERS_S = 0.5
"""Seconds that WebSocket answers under way get when the gateway stops."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of the API. ``health`` is what ``health.get`` reports.

    ``proving`` is the token with which the gateway proves these entry points (``bot.gate_proof``).
    ``pages`` creates what people open in a browser, ``None`` if there is nothing to open.
    """

    table: Table
    gate: Gate
    health: Report
    meters: Meters
    section: HttpSection
    home: Path
    proving: ProvingToken = field(default_factory=ProvingToken)
    pages: Callable[[ApiWakeups, Buckets], Pages] | None = None


@asynccontextmanager
async def api(parts: Parts) -> AsyncIterator[Listening]:
    """Serve the API for as long as the block lasts.

    Raises:
        StateError: the address cannot listen, or the certificate cannot be used.
    """
    wakes = ApiWakeups(parts.gate.store)
    guard, sockets = _guard(parts, wakes)
    async with serving(guard, parts.section, parts.home) as listening:
        if not parts.section.is_loopback and parts.section.tls is None:
            _log.warning("the API is public without TLS: tokens can be read in transit")
        try:
            yield listening
        finally:
            wakes.stop()
            await sockets.settle(_ANSWERS_S)


def _guard(parts: Parts, wakes: ApiWakeups) -> tuple[Guard, WebSockets]:
    section, store = parts.section, parts.gate.store
    limits = section.limits
    working, waiting = Places(limits.concurrent), Places(limits.waiting)
    tokens = Buckets(limits.rate, limits.burst)
    asking = Asking(parts.table, parts.gate, wakes, Places(limits.waiting))
    rest = Rest(parts.table, parts.gate, section, wakes, asking, working, waiting)
    sockets = WebSockets(parts.table, store, section, parts.meters, waiting, tokens)
    pages = None if parts.pages is None else parts.pages(wakes, tokens)
    routes: list[Route | WebSocketRoute] = [
        *(() if pages is None else pages.routes),
        *_resources(rest),
        *_pages(parts),
        Route(PATH, sockets),
        WebSocketRoute(PATH, sockets),
    ]
    guard = Guard(
        Router(routes, redirect_slashes=False, default=_nowhere),
        section,
        Authenticator(parts.proving.joined(Bearers(store).caller), limits.failures),
        Access(parts.meters, section.access_log, routes),
        tokens,
        pages,
    )
    return guard, sockets


def _resources(rest: Rest) -> list[Route]:
    found = by_path(served(rest.table))
    return [Route(path, Resource(verbs, rest)) for path, verbs in found.items()]


def _pages(parts: Parts) -> list[Route]:
    section, store = parts.section, parts.gate.store
    text = document(served(parts.table), parts.table, metrics_open=section.metrics_open)
    return [
        Route("/health", HealthPage(parts.health, store, parts.gate.execution.guard.lockdown)),
        Route("/metrics", MetricsPage(parts.meters, Scrape(store, parts.health), section)),
        Route("/openapi.json", DocumentPage(text)),
    ]


async def _nowhere(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise Fault(FaultCode.NOT_FOUND, "No such address.")
