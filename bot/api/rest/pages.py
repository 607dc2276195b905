"""Serve the gateway's health, its metrics and the OpenAPI document."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from bot.api.access.access_log import ROUTE
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.gauges import Status
from bot.api.http.metrics import CONTENT_TYPE, Meters
from core.errors import Forbidden, SaysoError
from core.gate.guards.lockdown import Lockdown
from core.model.access import Scope as Right
from core.settings.http import HttpSection
from core.store import Store, outbox
from core.store.views.status import pending, waiting

Report = Callable[[], Awaitable[dict[str, object]]]
_REPORT_S = 3.0
"""Seconds that a scrape waits for the health: a platform that hangs must not fail the scrape."""
_GETS = frozenset({"GET", "HEAD"})


class HealthState(StrEnum):
    """What ``/health`` reports to everybody: whether the gateway is ready, and anything may run."""

    UP = "up"
    LOCKED = "locked"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class HealthPage:
    """``/health``: alive and ready for everybody; the parts for callers who may read.

    Readiness is that of the store: without it nothing can be asked or answered. A lockdown is
    reported, but without a 503: a supervisor that restarts what is not ready would gain nothing.
    """

    report: Report
    store: Store
    lockdown: Lockdown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request.

        Raises:
            Fault: a wrong verb or a parameter.
        """
        _check(scope, "/health")
        caller, health = scope["state"]["caller"], await self._health_state()
        body: dict[str, object] = {"ok": health is not HealthState.DOWN}
        if caller is not None and caller.may(Right.READ):
            body = await self.report()
        status = 200 if body.get("ok") else 503
        await JSONResponse({**body, "status": health}, status)(scope, receive, send)

    async def _health_state(self) -> HealthState:
        try:
            await self.store.read(pending)
        except SaysoError:
            return HealthState.DOWN
        return HealthState.UP if self.lockdown.state() is None else HealthState.LOCKED


@dataclass(slots=True)
class Scrape:
    """Reads what a scrape shows. It never fails: what cannot be read is shown as failing."""

    store: Store
    report: Report
    _task: asyncio.Future[dict[str, object]] | None = None
    _health: Mapping[str, object] = field(default_factory=dict)

    async def __call__(self) -> Status:
        """Return the status; a slow health check is shown by a later scrape."""
        task = self._task = self._task or asyncio.ensure_future(self.report())
        await asyncio.wait({task}, timeout=_REPORT_S)
        if task.done():
            self._health = task.result()
            self._task = None if self._task is task else self._task
        status = Status(health=self._health)
        try:
            found, due_ms = await self.store.read(waiting), await self.store.read(outbox.next_due)
        except SaysoError:  # reported by the part `store`
            return status
        return replace(status, pending=found.count, oldest_ms=found.oldest_ms, due_ms=due_ms)


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """``/metrics``, in the text format of Prometheus."""

    meters: Meters
    status: Scrape
    section: HttpSection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request.

        Raises:
            Fault: a wrong verb or a parameter.
            Forbidden: the token may not read, or not for all agents.
        """
        _check(scope, "/metrics")
        caller = scope["state"]["caller"]
        if caller is not None and not caller.may(Right.READ):
            raise Forbidden("/metrics needs a token with the scope read.")
        if caller is not None and not caller.sees_all:
            raise Forbidden("/metrics covers all agents; an agent's token may not read it.")
        text = self.meters.text(await self.status())
        await Response(text, media_type=CONTENT_TYPE)(scope, receive, send)


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """``/openapi.json``."""

    document: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request.

        Raises:
            Fault: a wrong verb or a parameter.
        """
        _check(scope, "/openapi.json")
        await Response(self.document, media_type="application/json")(scope, receive, send)


def _check(scope: Scope, path: str) -> None:
    scope["state"][ROUTE] = path
    if scope["method"] not in _GETS:
        raise Fault(FaultCode.WRONG_VERB, "This address is read-only.", {"Allow": "GET"})
    if scope["query_string"]:
        raise Fault(FaultCode.BAD_REQUEST, "This address takes no parameters.")
