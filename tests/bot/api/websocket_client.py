"""Talk JSON-RPC over WebSocket."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.support.api_gateway import ApiGateway


@contextmanager
def talk(home: ApiGateway, who: str, **options: Any) -> Iterator[ClientConnection]:
    """Open a WebSocket with a holder's token."""
    url = home.url.replace("http", "ws") + "/ws"
    headers = options.pop("additional_headers", home.headers(who))
    with connect(url, additional_headers=headers, max_size=None, **options) as made:
        yield made
