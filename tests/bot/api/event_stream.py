"""Read server-sent events."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.support.api_gateway import ApiGateway


@contextmanager
def stream(
    home: ApiGateway, who: str, path: str, **headers: str
) -> Iterator[Iterator[dict[str, Any]]]:
    """Open a stream and yield its events: ``id``, ``event`` and the decoded ``data``."""
    with home.client(who).stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events_of(answer)


def events_of(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    """Read server-sent events as a browser would."""
    event: dict[str, Any] = {}
    for line in answer.iter_lines():
        if not line and "data" in event:
            yield {**event, "data": json.loads(event["data"])}
        if not line:
            event = {}
        elif not line.startswith(":"):
            key, _, value = line.partition(": ")
            event[key] = value
