"""List nodes and those that wait to be paired."""

from typing import Any

import pytest

from bot.cli.node import listing

NODE: dict[str, Any] = {
    "name": "web",
    "address": "10.0.0.7",
    "words": "one two",
    "id": "5c",
    "connected": False,
    "running": 0,
    "sinceMs": None,
    "seenMs": None,
}
REQUEST: dict[str, Any] = {
    "name": "db",
    "address": "10.0.0.8",
    "words": "three",
    "id": "6d",
    "looksLike": None,
    "expiresMs": 0,
    "code": "K3F7QZ",
}
LIKE = {**REQUEST, "looksLike": "web"}
BUSY = {**NODE, "connected": True, "running": 2, "sinceMs": 0}


@pytest.mark.parametrize(
    ("nodes", "requests", "words"),
    [
        ([], [], ["No nodes are paired, and none is waiting."]),
        ([NODE], [], ["web  10.0.0.7  one two  never connected", "  5c"]),
        ([{**NODE, "seenMs": 1}], [], ["last seen 1970-01-01"]),
        ([BUSY], [], ["connected since 1970-01-01", ", 2 running"]),
        ([], [REQUEST], ["db  10.0.0.8  three  waits until", "allow: sayso node approve K3F7QZ"]),
        ([], [LIKE], ["looks like that of the node web, another machine"]),
    ],
)
def test_what_is_listed(
    nodes: list[dict[str, Any]], requests: list[dict[str, Any]], words: list[str]
) -> None:
    """Each with how it is connected or how to allow it."""
    text = listing({"nodes": nodes, "requests": requests})

    assert [one for one in words if one not in text] == []
    assert ("No nodes" in text) is (not nodes and not requests)
