"""Serve the demo's screen to the holder of its address, and take nothing from another page."""

import re
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.demo import RunningDemo, demo

DENY = {"place": "telegram", "text": "/approve nothing deny"}
_FRAMED = re.compile(r"http://localhost:(\d+)/login/[\w-]+")


@pytest.fixture(scope="module")
def running() -> Iterator[RunningDemo]:
    """Run a demo that waits for its viewer."""
    with demo() as made:
        yield made


def _act(running: RunningDemo, body: Any = DENY, **headers: str) -> httpx.Response:
    own = {"Origin": running.origin, **headers}
    return httpx.post(f"{running.url}act", json=body, headers=own)


def test_its_own_page_is_heard(running: RunningDemo) -> None:
    """The control of what follows: what the screen sends is done."""
    assert _act(running).status_code == 204


@pytest.mark.parametrize("path", ["", "live", "act"])
def test_another_address_has_nothing(running: RunningDemo, path: str) -> None:
    """The part that only the viewer knows is compared in full."""
    for secret in ("x", running.url.rsplit("/", 2)[1][:-1] + "~", "A" * 22):
        address = f"{running.origin}/{secret}/{path}"
        verb = "POST" if path == "act" else "GET"
        answer = httpx.request(verb, address, json=DENY, headers={"Origin": running.origin})
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_another_page_does_nothing(
    running: RunningDemo, headers: dict[str, str], status: int
) -> None:
    """Nor does a name that points here, nor a form."""
    assert _act(running, **headers).status_code == status


def test_without_an_origin_nothing_is_done(running: RunningDemo) -> None:
    """Browsers always send one with a POST."""
    assert httpx.post(f"{running.url}act", json=DENY).status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"place": "elsewhere", "text": "hello"}, 400),
        ({"place": "slack", "text": "x" * 5_000}, 400),
        ({"place": "slack", "more": 1}, 400),
        ([], 400),
        ({"place": "slack", "message": "999", "reply": "deny"}, 503),
        ({"place": "slack", "choice": "7 days"}, 503),
    ],
)
def test_what_is_no_act_is_refused(running: RunningDemo, body: Any, status: int) -> None:
    """Malformed, or about a missing button."""
    assert _act(running, body).status_code == status


def test_the_screen_frames_the_page_and_nothing_else(running: RunningDemo) -> None:
    """And no page frames it."""
    policy = httpx.get(running.url).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert policy.count("http://localhost:") == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_nobody_else_is_where_its_address_leads(running: RunningDemo, host: str) -> None:
    """The printed address has a name; the screen, and the page in it, are wherever that leads."""
    port = running.origin.rsplit(":", 1)[1]
    screen = httpx.get(running.url.replace("localhost", host))
    assert screen.status_code == 200
    link = _FRAMED.search(screen.text)
    assert link is not None
    assert "Sign in as" in httpx.get(link[0].replace("localhost", host)).text
    for held in (port, link[1]):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with pytest.raises(OSError, match="in use"):
            socket.create_server((host.strip("[]"), int(held)), family=family)
