import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.api.rest import background
from core.runner import runner
from core.runner.concurrency import Turns
from tests.bot.api import raw_sockets
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.waiting import wait_until

TOOL = "/v1/tools/call"


def tool_call(home: ApiGateway, who: str = "agent", *argv: str) -> httpx.Response:
    """Call Exec; without a vector, with one that a person must allow."""
    vector = argv or ("/usr/bin/touch", str(home.home / "touched"))
    wish = {"tool": "Exec", "args": {"argv": vector, "cwd": str(home.home)}, "wait": True}
    with httpx.Client(base_url=home.url, headers=home.headers(who), timeout=20) as client:
        return client.post(TOOL, json=wish)


def pending(home: ApiGateway, number: int) -> list[str]:
    """Return the ids of the questions once there are this many."""
    found: list[str] = []
    until = time.monotonic() + 5
    while time.monotonic() < until:
        answer = home.client("person").get("/v1/approvals")
        assert answer.status_code == 200, answer.text
        found = [one["id"] for one in answer.json()["pending"]]
        if len(found) == number:
            return found
        time.sleep(0.05)
    raise AssertionError(f"there are {found}")


def test_tools_that_wait_for_people_keep_nobody_from_answering(tmp_path: Path) -> None:
    """Calls that ask people take no working slot, and half of the waiting ones at most."""
    limits = {"concurrent": 2, "waiting": 4}
    with (
        api_gateway(tmp_path / "home", tooled=True, limits=limits) as home,
        ThreadPoolExecutor(4) as threads,
    ):
        calls = [threads.submit(tool_call, home) for _ in range(2)]
        asked = pending(home, 2)
        refused = tool_call(home)
        path = f"/v1/approvals/{asked[0]}/decision?wait=0.1"
        assert home.client("person").get(path).json()["state"] == "pending"
        for one in asked:
            resolve = f"/v1/approvals/{one}/resolve"
            answer = home.client("person").post(resolve, json={"decision": "allow-once"})
            assert answer.status_code == 200, answer.text
        ended = [call.result() for call in calls]

    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
    assert [one.status_code for one in ended] == [200, 200]
    assert all(one.json()["ok"] for one in ended), "negative control: the calls themselves work"


def test_a_tool_that_nobody_waits_for_frees_its_place_and_goes_on(tmp_path: Path) -> None:
    """Disconnecting leaves no slot taken, and does not evade the limit of calls in progress."""
    limits = {"waiting": 2}
    with api_gateway(tmp_path / "home", tooled=True, limits=limits) as home:
        body = b'{"tool":"Exec","wait":true,"args":{"argv":["/usr/bin/touch","%b/x"],"cwd":"%b"}}'
        body = body.replace(b"%b", str(home.home).encode())
        with closing(raw_sockets.connect(home)) as connection:
            head = raw_sockets.head(home, "agent", path=TOOL)
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            (asked,) = pending(home, 1)

        def polled() -> bool:
            path = "/v1/events?session=none&wait=0.1"
            return home.client("agent").get(path).status_code == 200

        wait_until("its place", polled)
        more = tool_call(home)
        path = f"/v1/approvals/{asked}/resolve"
        home.client("person").post(path, json={"decision": "allow-once"})
        end = home.client("agent").get(f"/v1/requests/{asked}?wait=5").json()
        again = tool_call(home, "agent", "/usr/bin/true")

    assert (more.status_code, more.json()["error"]["code"]) == (503, "unavailable")
    assert (end["status"], end["exitCode"]) == ("finished", 0)
    assert (home.home / "x").exists()
    assert (again.status_code, again.json()["ok"]) == (200, True)


def test_a_tool_that_takes_long_is_answered_by_how_it_stands(tmp_path: Path) -> None:
    """After the longest wait: 202, where to continue, and the run ends as if it were waited for."""
    with api_gateway(tmp_path / "home", tooled=True, limits={"longestWait": 0.3}) as home:
        waits = tool_call(home)
        runs = tool_call(home, "agent", "/usr/bin/sleep", "2.5")
        for _ in range(4):  # a machine may freeze for as long as the longest wait
            quick = tool_call(home, "agent", "/usr/bin/echo", "hi")
            if quick.status_code == 200:
                break
        (asked,) = pending(home, 1)

        def ended() -> Any:
            found = home.client("agent").get(runs.headers["Location"]).json()
            return found if found["status"] != "running" else None

        end = wait_until("the end of what takes long", ended)

    assert (waits.status_code, waits.json()["status"]) == (202, "pending")
    assert (waits.json()["id"], waits.headers["Location"]) == (asked, f"/v1/requests/{asked}")
    assert (runs.status_code, runs.json()["status"]) == (202, "running")
    assert (end["status"], end["exitCode"]) == ("finished", 0)
    assert (quick.status_code, quick.json()["result"]["stdout"]) == (200, "hi\n")


def test_a_tool_that_asks_is_answered_at_once(tmp_path: Path) -> None:
    """Without ``wait``: 202 and the question's id, long before anyone answers (S1)."""
    with api_gateway(tmp_path / "home", tooled=True) as home:
        args = {"argv": ["/usr/bin/touch", str(home.home / "x")], "cwd": str(home.home)}
        began = time.monotonic()
        answer = home.client("agent").post(TOOL, json={"tool": "Exec", "args": args})
        took_s = time.monotonic() - began
        (asked,) = pending(home, 1)
        resolve = f"/v1/approvals/{asked}/resolve"
        home.client("person").post(resolve, json={"decision": "allow-once"})
        end = home.client("agent").get(f"{answer.headers['Location']}?wait=5").json()

    assert (202, "pending", asked) == (
        answer.status_code,
        answer.json()["status"],
        answer.json()["id"],
    )
    assert took_s < 5
    assert (end["status"], end["exitCode"]) == ("finished", 0)


def test_no_token_has_all_streams_and_lines(tmp_path: Path) -> None:
    """One agent's streams leave slots for others' streams, polls and connections."""
    with api_gateway(tmp_path / "home", limits={"waiting": 4}) as home, ExitStack() as held:
        path = "/v1/events/stream?session=share"
        for _ in range(2):
            connection = held.enter_context(closing(raw_sockets.connect(home)))
            connection.sendall(raw_sockets.head(home, "agent", "GET", path) + b"\r\n")
            assert b"200 OK" in connection.recv(65_536)
        upgrade = (
            b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        seen = {}
        for who in ("agent", "person", "reader"):
            connection = held.enter_context(closing(raw_sockets.connect(home)))
            connection.sendall(raw_sockets.head(home, who, "GET", "/ws") + upgrade)
            seen[who] = connection.recv(65_536)[9:12]
        own = home.client("agent").get(path).status_code

    assert seen == {"agent": b"503", "person": b"101", "reader": b"101"}
    assert own == 503


def test_a_request_without_a_key_holds_no_place(tmp_path: Path) -> None:
    """A null key is none: the answer is the current state, while the command runs."""
    with api_gateway(tmp_path / "home", limits={"concurrent": 2}) as home:
        began = time.monotonic()
        made = [home.ask("sleep 15", requestKey=key) for key in (None, None, "a key")]
        took = time.monotonic() - began
        same = home.ask("sleep 15", requestKey="a key")

        assert [one["status"] for one in made] == ["running"] * 3
        assert took < 10
        assert len({one["id"] for one in made}) == 3
        assert same["id"] == made[2]["id"], "negative control: a key is kept"


def test_what_has_no_turn_yet_is_told_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that waits behind others has no row: 503 says that it continues and by which key."""
    monkeypatch.setattr(runner, "Turns", lambda _most: Turns(1))
    with api_gateway(tmp_path / "home") as home:
        first = home.ask("sleep 60")
        usual_s = background.PATIENCE_S
        monkeypatch.setattr(background, "PATIENCE_S", 0.3)
        wish = {"command": "echo late", "cwd": "/", "requestKey": "late"}
        began = time.monotonic()
        answer = home.client("agent").post("/v1/requests", json=wish)
        took = time.monotonic() - began
        keyless = home.client("agent").post("/v1/requests", json={**wish, "requestKey": None})
        monkeypatch.setattr(background, "PATIENCE_S", usual_s)
        home.client("agent").delete(f"/v1/requests/{first['id']}")
        end = home.client("agent").post("/v1/requests?wait=10", json=wish)

    assert first["status"] == "running"
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "goes_on")
    assert "requestKey is late" in answer.json()["error"]["message"]
    assert re.search("requestKey is [0-9a-f]{32}", keyless.json()["error"]["message"])
    assert 0.2 < took < usual_s / 2
    assert (end.status_code, end.json()["output"]) == (201, "late\n"), "it went on, once"
