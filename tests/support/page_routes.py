"""Return the addresses of the control page as it makes them, so that no test keeps its own list."""

from collections.abc import Mapping
from datetime import UTC
from typing import NoReturn

from starlette.routing import Route

from bot.api.http.rate_limits import Buckets
from bot.api.rest.wakeups import ApiWakeups
from bot.page.app import ControlPage, PageParts, View
from tests.support.api_gateway import ApiGateway


def _never() -> NoReturn:
    raise AssertionError


def views(home: ApiGateway) -> Mapping[str, View]:
    """Return what each address shows and takes, by its template; the stream is left out."""
    running = home.gateway
    room = PageParts({}, running.gate, running.settings.http, UTC, _never, running.settings.mark)
    made = ControlPage(room, ApiWakeups(running.store), Buckets(1, 1))
    routes: list[Route] = list(made.routes)
    return {one.path: one.endpoint for one in routes if isinstance(one.endpoint, View)}
