import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from core.model.access import Scope
from core.store.people import tokens
from core.store.people.tokens import TokenDraft
from tests.bot.api.event_stream import stream
from tests.bot.api.websocket_client import talk
from tests.support.api_gateway import ApiGateway, api_gateway

SLOW = "seq 1 3 && sleep 3 && echo too late"


def streamed(
    home: ApiGateway, who: str, after_first: Callable[[], None]
) -> tuple[str, list[str], float]:
    """Watch a run; return what it printed, the kinds of events, and the time from the first on."""
    asked = home.ask(SLOW)
    text, kinds, began = "", [], 0.0
    with stream(home, who, f"/v1/runs/{asked['id']}/output") as events:
        for one in events:
            kinds.append(one["event"])
            text += one["data"].get("text", "")
            if not began:
                began = time.monotonic()
                after_first()
    return text, kinds, time.monotonic() - began


def test_a_stream_of_output_ends_with_its_token(tmp_path: Path) -> None:
    """At once, before the run prints again; neither its output nor its end is sent."""
    with api_gateway(tmp_path / "home") as home:
        whole, kinds, _ = streamed(home, "agent", lambda: None)
        assert whole == "1\n2\n3\ntoo late\n", "negative control: a token that stands"
        assert kinds[-1] == "end"
        # A machine may freeze for a second: a stream that ends late does so each time.
        for who in ("reader", "person", "agent"):
            text, kinds, took = streamed(home, who, partial(home.revoke, who))
            if took < 0.6:
                break

    assert text.startswith("1\n")
    assert "too late" not in text
    assert "end" not in kinds
    assert took < 0.6


def test_a_stream_of_output_ends_when_its_token_expires(tmp_path: Path) -> None:
    """Nothing reports that a token expires: it is checked between the pieces of output."""
    steady = " && sleep 0.4 && ".join(f"echo piece-{number}" for number in range(8))
    printed = {}
    with api_gateway(tmp_path / "home") as home:
        draft = TokenDraft("brief", frozenset({Scope.READ}), "main", None, "test", life_ms=2_000)
        home.tokens["brief"] = home.do(home.gateway.store.write(tokens.create, draft)).text
        asked = home.ask(steady)
        with ThreadPoolExecutor(2) as threads:
            for who, found in [
                (who, threads.submit(watched, home, who, asked["id"])) for who in ("brief", "agent")
            ]:
                printed[who] = found.result()

    assert "piece-7" in printed["agent"], "negative control: a token that lasts"
    assert '"event": "end"' in printed["agent"]
    assert "piece-0" in printed["brief"]
    assert "piece-6" not in printed["brief"]
    assert '"event": "end"' not in printed["brief"]


def watched(home: ApiGateway, who: str, run_id: str) -> str:
    """Watch a run's output to its end; return all that arrived."""
    with stream(home, who, f"/v1/runs/{run_id}/output") as events:
        return json.dumps(list(events))


@pytest.mark.parametrize(("silent", "ends"), [("sleep 30", ["end"]), ("uname -s", [])])
def test_a_silent_stream_ends_at_its_time_and_with_the_gateway(
    tmp_path: Path, silent: str, ends: list[str]
) -> None:
    """A run, or a question, that is silent holds a stream no longer than any other.

    A gateway that stops gives commands 5 s; a watcher is told how that ended the command.
    """
    for limits, stops in (({"longestStream": 0.5}, False), ({}, True)):
        with api_gateway(tmp_path / f"home-{stops}", limits=limits) as home:
            asked = home.ask(silent)
            stop = threading.Timer(0.3, home.loop.call_soon_threadsafe, (home.ended.set,))
            began = time.monotonic()
            with stream(home, "agent", f"/v1/runs/{asked['id']}/output") as events:
                if stops:
                    stop.start()
                heard = list(events)
            took = time.monotonic() - began
            assert [one["event"] for one in heard] == (ends if stops else [])
            assert all("cancelled" in one["data"]["how"] for one in heard)
            if not stops:
                cancelled = home.client("agent").delete(f"/v1/requests/{asked['id']}")
                assert cancelled.status_code == 200, "negative control: it was still going on"
        assert 0.2 < took < (9 if heard else 3)


def spoken(home: ApiGateway, *, stream: bool, revoke: bool) -> tuple[list[dict[str, object]], int]:
    """Run on a WebSocket; return what arrived, and the code that closed the connection, or 0."""
    wish = {"command": SLOW, "cwd": "/", "stream": stream}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "exec.run", "params": wish}
    found: list[dict[str, object]] = []
    with talk(home, "agent") as line:
        line.send(json.dumps(frame))
        if not stream and revoke:
            time.sleep(0.3)
            home.revoke("agent")
        try:
            while not found or "result" not in found[-1]:
                found.append(json.loads(line.recv(10)))
                if revoke and found[-1].get("method") == "exec.output":
                    home.revoke("agent")
                    revoke = False
        except ConnectionClosed as end:
            return found, end.rcvd.code if end.rcvd is not None else 1006
    return found, 0


@pytest.mark.parametrize("stream", [True, False])
def test_a_line_tells_nothing_after_its_token(tmp_path: Path, *, stream: bool) -> None:
    """Neither output nor the answer of an earlier call; the connection closes with 4401."""
    with api_gateway(tmp_path / "home") as home:
        whole, code = spoken(home, stream=stream, revoke=False)
        assert code == 0
        assert "too late" in json.dumps(whole[-1]), "negative control: a token that stands"
        found, code = spoken(home, stream=stream, revoke=True)

    told = json.dumps(found)
    assert code == 4401
    assert "too late" not in told
    assert "dG9vIGxhdGU" not in told, "the same in base64"
    assert "result" not in told


def test_a_long_poll_is_not_answered_after_its_token(tmp_path: Path) -> None:
    """A caller that may no longer know anything gets 401 in place of the answer."""
    with api_gateway(tmp_path / "home") as home:
        for revoke, status in ((False, 200), (True, 401)):
            asked = home.ask(SLOW)
            end = threading.Timer(0.3, home.revoke, ("agent" if revoke else "asker",))
            end.start()
            answer = home.client("agent").get(f"/v1/requests/{asked['id']}?wait=5")
            end.join()
            assert answer.status_code == status
            assert ("too late" in answer.text) is not revoke


def test_a_token_that_ends_while_its_body_arrives_asks_for_nothing(tmp_path: Path) -> None:
    """The head was accepted, and the body may take seconds: nothing may start after `revoke`."""
    with api_gateway(tmp_path / "home") as home:
        codes: list[int] = []
        client, kind = home.client("agent"), {"Content-Type": "application/json"}
        for ends in (lambda: None, partial(home.revoke, "agent")):
            wish = {"command": "true", "cwd": str(tmp_path)}
            sent = client.post("/v1/requests", content=slowly(wish, ends), headers=kind)
            codes.append(sent.status_code)

    assert codes == [201, 401], "the first is the control"


def slowly(wish: dict[str, str], meanwhile: Callable[[], None]) -> Iterator[bytes]:
    """Yield a body in two pieces; something happens between them."""
    body = json.dumps(wish).encode()
    yield body[:10]
    time.sleep(0.5)
    meanwhile()
    yield body[10:]
