"""Walk the API end to end: a real gateway process, tokens made at a terminal."""

import asyncio
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.faults.api_load import leaks
from tests.support.api_gateway import configure
from tests.support.gateway_process import ROOT, GatewayProcess
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until

SAYSO = (str(ROOT / ".venv" / "bin" / "python"), "-m", "bot")


@dataclass
class Reached:
    """A gateway process and the URL of its API."""

    process: GatewayProcess
    url: str

    def token(self, name: str, *words: str) -> str:
        """Make a token as a person at a terminal does."""
        command = (*SAYSO, "token", "create", name, *words, "--json")
        code, text = in_terminal(*command, environ=self.process.environ())
        assert code == 0, text
        made: str = json.loads(text[text.index("{") :])["token"]
        return made

    def client(self, token: str) -> httpx.Client:
        """Return a client with a token."""
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)


@pytest.fixture
def reached(tmp_path: Path) -> Iterator[Reached]:
    """Run a gateway process with an API."""
    configure(tmp_path / "home")
    running = GatewayProcess(tmp_path / "home")
    running.start()
    found = wait_until("the API", lambda: re.search(r"API is at (\S+)", running.log.read_text()))
    try:
        yield Reached(running, found[1])
    finally:
        assert running.stop() == 0


def test_an_agent_asks_and_a_person_answers_over_the_network(reached: Reached) -> None:
    """Tokens from a terminal; a question over REST, an answer over WebSocket, the end by SSE."""
    gateway = reached.process
    assert in_terminal(*SAYSO, "people", "add", "ana", environ=gateway.environ())[0] == 0
    agent = reached.token("ci", "--scope", "request", "--agent", "main")
    person = reached.token("ana-laptop", "--scope", "approve", "--scope", "read", "--person", "ana")
    made = gateway.home / "made-by-agent"
    address = reached.url.replace("http", "ws") + "/ws"
    offers = ["sayso.v1", f"bearer.{person}"]
    with reached.client(agent) as client, connect(address, subprotocols=offers) as ana:  # type: ignore[arg-type]
        subscribe = {"approvals": True, "events": False}
        ana.send(_frame("events.subscribe", **subscribe))
        assert json.loads(ana.recv(20))["result"]["approvals"] is True
        wish = {"command": f"touch {made}", "cwd": "/"}
        asked = client.post("/v1/requests", json=wish)
        pushed = json.loads(ana.recv(20))
        assert pushed["method"] == "exec.approval.requested"
        assert pushed["params"]["command"] == f"touch {made}"
        assert not made.exists()
        own = client.post(
            f"/v1/approvals/{pushed['params']['id']}/resolve", json={"decision": "deny"}
        )
        ana.send(_frame("exec.approval.resolve", id=pushed["params"]["id"], decision="allow-once"))
        ended = client.get(asked.headers["Location"], params={"wait": 15}).json()

    assert own.status_code == 403
    assert (ended["status"], ended["exitCode"]) == ("finished", 0)
    assert made.exists()
    row = next(one for one in gateway.json("history") if one["command"] == f"touch {made}")
    assert row["by"].startswith("api:")
    assert leaks(gateway.home, {"agent": agent, "person": person}) == []
    assert " api:" in gateway.log.read_text(), "the access log tells who"


def _frame(method: str, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def second_address(reached: Reached) -> str:
    """Wait for the address that a gateway's second start writes to its log, after its socket."""

    def look() -> str | None:
        found = re.findall(r"API is at (\S+)", reached.process.log.read_text())
        return found[1] if len(found) > 1 else None

    return str(wait_until("the API's address", look))


def test_a_revoked_token_is_out_while_it_waits_and_after_a_restart(reached: Reached) -> None:
    """`sayso token revoke` ends an open stream, the next request, and all of it for good."""
    token = reached.token("dash", "--scope", "read")
    with reached.client(token) as client:
        assert client.get("/v1/history").status_code == 200
        with client.stream("GET", "/v1/events/stream?session=main") as stream:
            revoke = threading.Timer(0.2, reached.process.cli, ("token", "revoke", "dash"))
            revoke.start()
            time.sleep(1.5)
            reached.process.cli("run", "-c", "true")
            list(stream.iter_lines())
            revoke.join()
        assert client.get("/v1/history").status_code == 401
    reached.process.stop()
    reached.process.start()
    url = second_address(reached)
    headers = {"Authorization": f"Bearer {token}"}
    assert httpx.get(f"{url}/v1/history", headers=headers).status_code == 401


def test_a_kill_loses_nothing_that_was_answered(reached: Reached) -> None:
    """After kill -9 an id that a client got is still known, and the key still means the request."""
    token = reached.token("ci", "--scope", "request", "--agent", "main")
    headers = {"Authorization": f"Bearer {token}"}
    wish = {"command": "touch asked", "cwd": "/", "requestKey": "k"}
    first = httpx.post(f"{reached.url}/v1/requests", json=wish, headers=headers).json()
    reached.process.kill()
    reached.process.start()
    url = second_address(reached)

    found = httpx.get(f"{url}/v1/requests/{first['id']}", headers=headers).json()
    again = httpx.post(f"{url}/v1/requests", json=wish, headers=headers).json()

    assert (found["status"], found["id"]) == ("pending", first["id"])
    assert again["id"] == first["id"]


def test_a_stop_is_in_time_with_streams_open(reached: Reached) -> None:
    """SIGTERM ends the gateway within its grace period, even if clients still listen."""
    token = reached.token("dash", "--scope", "read")

    async def listen() -> float:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx.AsyncClient(base_url=reached.url, headers=headers, timeout=30) as client,
            client.stream("GET", "/v1/events/stream?session=main") as stream,
        ):
            began = time.monotonic()
            stopping = asyncio.create_task(asyncio.to_thread(reached.process.stop))
            async for _ in stream.aiter_lines():
                pass
            assert await stopping == 0
            return time.monotonic() - began

    assert asyncio.run(listen()) < 10
    reached.process.start()
