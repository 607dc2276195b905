"""Report the gateway's health and its metrics."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from bot.api.access.access_log import ROUTE
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.metrics import CONTENT_TYPE, Meters
from core.errors import Forbidden, SaysoError
from core.gate.guards.lockdown import Lockdown
from core.model.access import Scope as Right
from core.settings.http import HttpSection
from core.store import Store
from core.store.views.status import pending

Report = Callable[[], Awaitable[dict[str, object]]]
_GETS = frozenset({"GET", "HEAD"})


class HealthState(StrEnum):
    """What ``/health`` reports to everybody: whether it is ready, and whether anything may run."""

    UP = "up"
    LOCKED = "locked"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class HealthPage:
    """``/health``: alive and ready to everybody; the parts to who may read.

    Ready is what the store says: without it nothing can be asked or answered. A lockdown is
    reported, and gives everybody no 503 for it: whoever restarts what is not ready would restart in
    vain.
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


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """``/metrics``, in the text format of Prometheus."""

    meters: Meters
    store: Store
    section: HttpSection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request.

        Raises:
            Fault: a wrong verb or a parameter.
            Forbidden: the token may not read.
        """
        _check(scope, "/metrics")
        caller = scope["state"]["caller"]
        if caller is not None and not caller.may(Right.READ):
            raise Forbidden("/metrics needs a token with the scope read.")
        text = self.meters.text(await self.store.read(pending))
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
