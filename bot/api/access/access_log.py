"""Log each request by its route, and count it; no token, no body and no address is kept."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.routing import Match, Route, WebSocketRoute
from starlette.types import Scope

from bot.api.http.client import address_of
from bot.api.http.metrics import Meters

_log = logging.getLogger(__name__)
UNMATCHED = "unmatched"
"""The route logged for an address that does not exist."""
ROUTE = "route"
"""The key in a scope's state that holds the template of the route that was taken."""
_VERBS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})


@dataclass(slots=True)
class Seen:
    """One request under way."""

    scope: Scope
    began: float
    status: int = 0


@dataclass(frozen=True, slots=True)
class Access:
    """Logs and counts requests; ``routes`` also name requests refused before routing."""

    meters: Meters
    logged: bool
    routes: Sequence[Route | WebSocketRoute]

    def begin(self, scope: Scope) -> Seen:
        """Start the log entry of a request."""
        scope.setdefault("state", {})
        return Seen(scope, time.monotonic())

    def end(self, seen: Seen) -> None:
        """Count the request and write its line; a status of 0 is a client that left first."""
        seconds = time.monotonic() - seen.began
        verb, route = _verb(seen.scope), seen.scope["state"].get(ROUTE) or self.route_of(seen.scope)
        self.meters.request(verb, route, seen.status, seconds)
        if self.logged:
            caller = seen.scope["state"].get("caller")
            who = caller.ref if caller is not None else "-"
            where = address_of(seen.scope)
            fields = (where, who, verb, route, seen.status, seconds * 1000)
            _log.info("%s %s %s %s %d %.1f ms", *fields)

    def route_of(self, scope: Scope) -> str:
        """Return the route template that an address matches, whatever the client and the verb."""
        for route in self.routes:
            if route.matches(scope)[0] is not Match.NONE:
                return route.path
        return UNMATCHED


def _verb(scope: Scope) -> str:
    """Return the verb; what a client invents must not become a label."""
    if scope["type"] == "websocket":
        return "WS"
    return scope["method"] if scope["method"] in _VERBS else "OTHER"
