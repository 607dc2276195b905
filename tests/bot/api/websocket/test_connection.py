import asyncio
import json
import os
import struct
import threading
import time
from base64 import b64encode
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from bot.api.websocket.subscriptions import Subscriptions
from core.model.access import Scope
from core.store.engine.notifications import RESYNC
from core.store.people import people, tokens
from core.store.people.tokens import TokenDraft
from tests.bot.api import raw_sockets
from tests.bot.api.websocket_client import talk
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.waiting import wait_until

PARSE_ERROR, INVALID_REQUEST, UNKNOWN, INVALID_PARAMS = -32700, -32600, -32601, -32602
FORBIDDEN, BUSY, CANCELLED = -32001, -32003, -32800


def call(line: ClientConnection, method: str, number: int = 1, **params: Any) -> dict[str, Any]:
    """Call a method and return its answer; notifications in between are skipped."""
    frame = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    line.send(json.dumps(frame))
    return answer_to(line, number)


def answer_to(line: ClientConnection, number: object) -> dict[str, Any]:
    """Return the answer of an id."""
    while True:
        found: dict[str, Any] = json.loads(line.recv(20))
        if "method" not in found and found["id"] == number:
            return found


def notified(line: ClientConnection, method: str) -> dict[str, Any]:
    """Return the params of the next notification of a method."""
    while True:
        found = json.loads(line.recv(20))
        if found.get("method") == method:
            params: dict[str, Any] = found["params"]
            return params


def closed(line: ClientConnection) -> int:
    """Read until the other side closes, and return its code."""
    try:
        while True:
            line.recv(20)
    except ConnectionClosed as end:
        return end.rcvd.code if end.rcvd is not None else 1006


def test_the_same_methods_as_on_the_socket(home: ApiGateway) -> None:
    """A run with its output before the end, answers out of order, others' things hidden."""
    with talk(home, "agent") as line:
        slow = {"command": "sleep 2", "cwd": "/"}
        line.send(
            json.dumps({"jsonrpc": "2.0", "id": "slow", "method": "exec.run", "params": slow})
        )
        quick = call(line, "exec.run", 2, command="echo hi", cwd="/")["result"]
        assert quick["output"] == "hi\n"
        assert answer_to(line, "slow")["result"]["status"] == "finished"
        told = {"command": "echo a && sleep 0.3 && echo b", "cwd": "/", "stream": True}
        line.send(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "exec.run", "params": told}))
        assert notified(line, "exec.output")["id"] == answer_to(line, 3)["result"]["id"]
        with talk(home, "other") as other:
            hidden = call(other, "exec.wait", id=quick["id"])
            assert hidden["error"]["code"] == INVALID_PARAMS
            assert call(other, "exec.approval.list")["result"] == {"pending": []}
            assert call(other, "people.list")["error"]["code"] == FORBIDDEN
            assert call(other, "token.create", name="x", scopes=["read"])["error"]


def test_events_are_pushed_to_who_asked(home: ApiGateway) -> None:
    """Questions, answers and the session's own events, each once, to those allowed to see them."""
    with talk(home, "person") as ana, talk(home, "agent") as agent, talk(home, "other") as other:
        wish: dict[str, Any] = {"session": "push", "approvals": True}
        assert call(ana, "events.subscribe", **wish, events=False)["result"]["approvals"]
        subscribed = call(agent, "events.subscribe", **wish)["result"]
        assert subscribed == {"sessions": ["agent:main:push"], "approvals": True}
        call(other, "events.subscribe", **wish)
        asked = home.ask("uname", session="push")
        question = notified(ana, "exec.approval.requested")
        assert question["id"] == asked["id"]
        assert question["command"] == "uname"
        assert ["/usr/bin/uname"] == question["resolvedPaths"]
        assert ("gateway", "allowlist", "on-miss") == tuple(
            question[name] for name in ("host", "security", "ask")
        )
        call(ana, "exec.approval.resolve", 8, id=question["id"], decision="allow-once")
        heard = [json.loads(agent.recv(20)) for _ in range(4)]
        assert {one["method"] for one in heard} == {
            *("exec.approval.requested", "exec.approval.resolved", "exec.started", "exec.finished")
        }
        finished = next(one["params"] for one in heard if one["method"] == "exec.finished")
        assert finished["session"] == "agent:main:push"
        assert finished["seq"] == 2
        with pytest.raises(TimeoutError):
            other.recv(0.3)


def test_a_token_in_the_subprotocol_is_for_browsers(home: ApiGateway) -> None:
    """The token is taken and not echoed; the protocol is."""
    offers = ["sayso.v1", f"bearer.{home.tokens['agent']}"]
    with talk(home, "agent", additional_headers={}, subprotocols=offers) as line:
        assert line.subprotocol == "sayso.v1"
        assert "result" in call(line, "events.drain", session="main")


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/ws", 401),
        ({"Authorization": "Bearer nonsense"}, "/ws", 401),
        ({}, "/ws?token={token}", 401),
        ({"Authorization": "Bearer {token}"}, "/ws?token=1", 400),
        ({"Authorization": "Bearer {token}"}, "/nowhere", 404),
        ({"Authorization": "Bearer {token}"}, "/v1/history", 404),
        ({"Authorization": "Bearer {token}", "Origin": "http://evil.example"}, "/ws", 403),
        ({"Authorization": "Bearer {token}", "Origin": "null"}, "/ws", 403),
    ],
)
def test_who_is_not_let_in_is_told(
    home: ApiGateway, headers: dict[str, str], path: str, status: int
) -> None:
    """No token, a wrong one, one in the address, another site's page: refused before it opens."""
    token = home.tokens["agent"]
    sent = {key: value.format(token=token) for key, value in headers.items()}
    url = home.url.replace("http", "ws") + path.format(token=token)

    with pytest.raises(InvalidStatus) as refused, connect(url, additional_headers=sent):
        pass

    assert refused.value.response.status_code == status
    assert json.loads(refused.value.response.body)["error"]["code"]


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", PARSE_ERROR),
        ("", PARSE_ERROR),
        ("[]", INVALID_REQUEST),
        ('[{"jsonrpc": "2.0", "id": 1, "method": "health.get"}]', INVALID_REQUEST),
        ('{"jsonrpc": "1.0", "id": 1, "method": "health.get"}', INVALID_REQUEST),
        ('{"jsonrpc": "2.0", "method": "exec.run"}', INVALID_REQUEST),
        ('{"jsonrpc": "2.0", "id": 1, "method": "exec.everything"}', UNKNOWN),
        ('{"jsonrpc": "2.0", "id": 1, "method": "__init__"}', UNKNOWN),
        ('{"jsonrpc": "2.0", "id": 1, "method": "exec.run", "params": []}', INVALID_PARAMS),
        ('{"jsonrpc": "2.0", "id": 1, "method": "exec.run", "params": {"x": 1}}', INVALID_PARAMS),
        ('{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "exec.run"}', PARSE_ERROR),
        ('{"jsonrpc": "2.0", "id": NaN, "method": "exec.run"}', PARSE_ERROR),
        ("[" * 5000, PARSE_ERROR),
        ('{"jsonrpc": "2.0", "id": 1, "method": "events.subscribe", "params": 1}', INVALID_PARAMS),
    ],
)
def test_a_bad_frame_is_answered_and_the_line_goes_on(
    home: ApiGateway, frame: str, code: int
) -> None:
    """Each has its JSON-RPC code; the next request is served."""
    with talk(home, "agent") as line:
        line.send(frame)
        assert json.loads(line.recv(20))["error"]["code"] == code
        assert "result" in call(line, "events.drain", session="main")


def test_binary_frames_end_the_line(home: ApiGateway) -> None:
    """Text only: 1003."""
    with talk(home, "agent") as line:
        line.send(b"{}")
        assert closed(line) == 1003


def test_a_frame_that_is_too_large_ends_the_line(home: ApiGateway) -> None:
    """One above the bound is 1009, whole or in parts; one below it is read."""
    with talk(home, "agent") as line:
        line.send('{"x": "' + "x" * 60_000 + '"}')
        assert json.loads(line.recv(20))["error"]["code"] == INVALID_REQUEST
        line.send("x" * 70_000)
        assert closed(line) == 1009
    with talk(home, "agent") as line:
        with pytest.raises(ConnectionClosed):
            line.send(iter(["x" * 1000] * 10_000))
        assert closed(line) in {1009, 1006}


def test_a_text_that_is_no_text_ends_the_line(home: ApiGateway) -> None:
    """Bytes that are not UTF-8 in a text frame: 1007 (RFC 6455)."""
    with talk(home, "agent") as line:
        line.send(b"\xff\xfe", text=True)
        assert closed(line) == 1007


def test_a_message_of_countless_empty_parts_ends_the_line(home: ApiGateway) -> None:
    """Parts without content would only fill the memory."""
    with closing(handshaken(home)) as raw:
        mask = b"\0\0\0\0"
        try:
            raw.sendall(b"\x01\x80" + mask)
            for _ in range(200):
                raw.sendall((b"\x00\x80" + mask) * 1000)
        except ConnectionError:
            pass
        assert raw_sockets.seconds_until_hung_up(raw) < 5


def handshaken(home: ApiGateway, who: str = "agent") -> Any:
    """Open a WebSocket by hand and return the bare connection."""
    raw = raw_sockets.connect(home)
    key = b64encode(os.urandom(16)).decode()
    raw.sendall(
        raw_sockets.head(home, who, "GET", "/ws")
        + f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    assert b"101 Switching" in raw.recv(4096)
    return raw


def masked(text: str) -> bytes:
    """Return a text frame as a client sends it (RFC 6455 section 5.2), masked with zeroes."""
    data = text.encode()
    return b"\x81\xfe" + struct.pack("!H", len(data)) + b"\0\0\0\0" + data


def test_an_id_in_flight_is_not_taken_again_and_can_be_cancelled(home: ApiGateway) -> None:
    """As on the socket: one answer per id, and cancelling ends the wait, not the run."""
    with talk(home, "agent") as line:
        params = {"command": "sleep 5", "cwd": "/"}
        frame = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "exec.run", "params": params})
        line.send(frame)
        line.send(frame)
        assert answer_to(line, 1)["error"]["code"] == INVALID_REQUEST
        cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}
        line.send(json.dumps(cancel))
        assert answer_to(line, 1)["error"]["code"] == CANCELLED


def test_a_revoked_token_is_hung_up_on(home: ApiGateway) -> None:
    """The next frame is refused, and the connection closes with 4401; so does a silent one."""
    with talk(home, "asker") as line, talk(home, "asker") as silent:
        call(silent, "events.subscribe", session="main")
        assert "result" in call(line, "events.drain", session="main")
        home.revoke("asker")
        with suppress(ConnectionClosed):  # the end of a token may have been faster than the frame
            line.send('{"jsonrpc": "2.0", "id": 2, "method": "events.drain"}')
        assert json.loads(line.recv(20))["error"]["code"] == FORBIDDEN
        assert closed(line) == 4401
        home.ask("true", wait=5)
        assert closed(silent) == 4401


def test_an_idle_line_ends_with_its_token(tmp_path: Path) -> None:
    """At its time, its revocation or its person's, without a frame; others stay."""
    draft = TokenDraft("brief", frozenset({Scope.READ}), "main", None, "test", life_ms=4_000)
    with api_gateway(tmp_path / "home") as home:
        home.tokens["brief"] = home.do(home.gateway.store.write(tokens.create, draft)).text
        with (
            talk(home, "brief") as brief,
            talk(home, "asker") as asker,
            talk(home, "person") as person,
            talk(home, "agent") as other,
        ):
            home.revoke("asker")
            home.do(home.gateway.store.write(people.revoke, "ana"))
            assert [closed(line) for line in (asker, person, brief)] == [4401] * 3
            assert "result" in call(other, "events.drain", session="main")
            reader = home.client("reader")
            wait_until("places", lambda: "sayso_websockets 1.0" in reader.get("/metrics").text)


TIGHT = {
    "rate": 50,
    "burst": 20,
    "waiting": 3,
    "patience": 0.5,
    "bodyBytes": 65_536,
    "addressRate": 100_000,
    "addressBurst": 100_000,
}


def test_who_sends_too_fast_is_slowed(tmp_path: Path, home: ApiGateway) -> None:
    """Beyond its rate a token's frames are answered busy and read slowly; without it they pass."""
    with api_gateway(tmp_path / "home", limits=TIGHT) as tight:
        busy, seconds = _flood(tight, 20)
    free, _ = _flood(home, 1)

    assert busy > 20
    assert seconds > 0.5
    assert free == 0, "negative control"


def _flood(home: ApiGateway, times: int) -> tuple[int, float]:
    """Send a hundred frames at once; return how many were refused as busy, and the seconds.

    Repeat if few were, a limited number of times: a slow machine may not exceed the rate.
    """
    busy = 0
    with talk(home, "agent") as line:
        began = time.monotonic()
        for _ in range(times):
            for number in range(100):
                frame = {"jsonrpc": "2.0", "id": number, "method": "no.such"}
                line.send(json.dumps(frame))
            answers = [json.loads(line.recv(20)) for _ in range(100)]
            busy += [one["error"]["code"] for one in answers].count(BUSY)
            if busy > 20:
                break
        return busy, time.monotonic() - began


def test_lines_have_their_number_and_leave_it(tmp_path: Path) -> None:
    """Beyond the slots a connection is refused; one that was cut frees its slot."""
    with api_gateway(tmp_path / "home", limits=TIGHT) as tight:
        lines = [handshaken(tight, who) for who in ("agent", "asker", "person")]
        with pytest.raises(InvalidStatus) as refused, talk(tight, "other"):
            pass
        assert refused.value.response.status_code == 503
        lines[0].close()

        def served() -> bool:
            with suppress(InvalidStatus), talk(tight, "other") as line:
                return "result" in call(line, "events.drain", session="main")
            return False

        wait_until("the place", served)
        for one in lines:
            one.close()


def test_who_does_not_read_is_cut_off(tmp_path: Path, home: ApiGateway) -> None:
    """Megabytes of unread answers end the connection; the gateway keeps none of them."""
    loose = {**TIGHT, "rate": 100_000, "burst": 100_000}
    with api_gateway(tmp_path / "home", limits=loose) as brisk:
        made = brisk.ask("seq 1 60000", wait=10)
        wish = {"jsonrpc": "2.0", "method": "exec.wait", "params": {"id": made["id"]}}
        with closing(handshaken(brisk)) as deaf:
            try:
                for number in range(60):
                    deaf.sendall(masked(json.dumps({**wish, "id": number})))
                    time.sleep(0.01)
            except ConnectionError:
                pass
            time.sleep(1.5)
            got = len(raw_sockets.read_to_end(deaf))
    made = home.ask("seq 1 60000", wait=10)
    with talk(home, "agent") as line:
        sizes = [len(json.dumps(call(line, "exec.wait", n, id=made["id"]))) for n in range(3)]

    assert min(sizes) > 200_000, "negative control: who reads gets it all"
    assert got < 60 * 200_000 * 0.9


def test_a_stop_tells_every_line(tmp_path: Path) -> None:
    """The gateway stops in time with open connections, and tells each that it returns (1012)."""
    with api_gateway(tmp_path / "home") as home, talk(home, "agent") as line:
        began = time.monotonic()
        stop = threading.Timer(0.1, home.loop.call_soon_threadsafe, (home.ended.set,))
        stop.start()
        assert closed(line) == 1012
        stop.join()
    assert time.monotonic() - began < 6


def test_more_than_can_be_marked_is_told(home: ApiGateway) -> None:
    """A client that lags far behind is told to drain instead of being served from memory."""
    told: list[str] = []

    async def notify(method: str, params: object, /) -> None:
        told.append(method)

    async def never() -> Any:
        await asyncio.Event().wait()

    async def lag() -> None:
        store = home.gateway.store
        made = Subscriptions(store, {}, never, notify)
        made._approvals = True
        made._sessions = {"a": 0}
        made._hear(RESYNC)
        pump = asyncio.create_task(made.pump())
        await asyncio.sleep(0)
        for number in range(2000):
            made._hear(f"approval:{number}")
        assert len(made._marked) <= 1001
        pump.cancel()
        made._marked.clear()
        await asyncio.gather(pump, return_exceptions=True)
        await made.pump()

    home.do(lag())
    assert told == ["events.overflow"]
