"""Time the API next to its floor: the same server answering nothing, the same method by socket.

All in one run, in turn, so that the ratios are right while the machine's speed drifts.
"""

import asyncio
import http.client
import json
import re
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from websockets.sync.client import connect

from bot.client import Client
from tests.faults.api_load import LIMITS
from tests.support.api_gateway import configure, made_before
from tests.support.gateway_process import GatewayProcess
from tests.support.waiting import wait_until

ROUNDS = 300
GOAL_DECIDE_P99_MS = 15.0
"""What a vendor of the field reports for a verdict over loopback."""
GOAL_OVER_SOCKET = 1.5
"""A whole run over REST next to the same run over gateway.sock."""


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer an empty object: what uvicorn and HTTP cost on their own."""
    while (await receive()).get("more_body"):
        pass
    await JSONResponse({})(scope, receive, send)


@contextmanager
def bare_server() -> Iterator[int]:
    """Run uvicorn with an application that does nothing; yield its port."""
    # Of TCP by name: asyncio sends small answers at once (TCP_NODELAY) on such sockets only.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()  # so that a client that calls before uvicorn runs waits for it
        config = uvicorn.Config(nothing, http="h11", lifespan="off", log_level="critical")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([bound],))
        thread.start()
        try:
            yield bound.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(10)


class Http:
    """One connection that is kept."""

    def __init__(self, port: int, token: str = "") -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, verb: str, path: str, body: object = None) -> dict[str, object]:
        """Send a request and return the answered JSON."""
        text = None if body is None else json.dumps(body)
        self._line.request(verb, path, text, self._headers)
        answer = self._line.getresponse()
        found: dict[str, object] = json.loads(answer.read())
        assert answer.status < 300, found
        return found

    def close(self) -> None:
        """Disconnect."""
        self._line.close()


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds of some work."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


@pytest.mark.deep
@pytest.mark.benchmark
def test_the_api_beside_its_floor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A look-up, a verdict, a frame and a run, each as a ratio to what it builds on."""
    home = tmp_path / "home"
    configure(home, limits=LIMITS, accessLog=False)
    tokens = asyncio.run(made_before(home))
    gateway = GatewayProcess(home)
    gateway.start()
    found = wait_until(
        "the API", lambda: re.search(r"API is at \S+:(\d+)", gateway.log.read_text())
    )
    port, token = int(found[1]), tokens["agent"]
    wish = {"argv": ["/usr/bin/true"], "cwd": "/"}
    try:
        with bare_server() as bare, Client(str(home / "gateway.sock")) as by_socket:
            headers = {"Authorization": f"Bearer {token}"}
            with (
                closing(Http(port, token)) as api,
                closing(Http(bare)) as floor,
                connect(f"ws://127.0.0.1:{port}/ws", additional_headers=headers) as line,
            ):

                def frame() -> None:
                    params = {"session": "main"}
                    line.send(json.dumps({**_CALL, "params": params}))
                    line.recv()

                kinds: dict[str, Callable[[], object]] = {
                    "floor": lambda: floor.call("GET", "/"),
                    "look-up": lambda: api.call("GET", "/v1/events?session=main"),
                    "verdict": lambda: api.call("POST", "/v1/policy/explain", wish),
                    "frame": frame,
                    "socket look-up": lambda: by_socket.call("events.drain", {"session": "main"}),
                    "run": lambda: api.call("POST", "/v1/requests?wait=10", {**wish, **_QUIET}),
                    "socket run": lambda: by_socket.call("exec.run", {**wish, **_QUIET}),
                }
                for work in kinds.values():
                    for _ in range(20):
                        work()
                rounds = [{name: timed(kinds[name]) for name in kinds} for _ in range(ROUNDS)]
    finally:
        gateway.stop()
    p50 = {name: statistics.median(each[name] for each in rounds) for name in kinds}
    p99 = {name: sorted(each[name] for each in rounds)[int(ROUNDS * 0.99)] for name in kinds}
    with capsys.disabled():
        print()
        for name in kinds:
            print(f"{name:15} p50 {p50[name]:6.2f} ms, p99 {p99[name]:6.2f} ms", end="")
            print(f", {p50[name] / p50['floor']:5.1f} x uvicorn answering nothing")
        over = p50["run"] / p50["socket run"]
        print(f"run by REST / run by socket: {over:.2f} (goal <= {GOAL_OVER_SOCKET})")
        print(f"verdict p99 {p99['verdict']:.1f} ms (goal <= {GOAL_DECIDE_P99_MS:.0f})")
    assert over < 2 * GOAL_OVER_SOCKET
    assert p50["verdict"] < GOAL_DECIDE_P99_MS


_CALL = {"jsonrpc": "2.0", "id": 1, "method": "events.drain"}
_QUIET = {"session": "bench"}
