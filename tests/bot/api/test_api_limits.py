import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress

import httpx
import pytest

from tests.bot.api import raw_sockets
from tests.support.api_gateway import ApiGateway, api_gateway
from tests.support.waiting import wait_until

LIMITS = {
    "rate": 20,
    "burst": 5,
    "addressRate": 1000,
    "addressBurst": 1000,
    "failures": 3,
    "concurrent": 4,
    "waiting": 3,
    "connections": 40,
    "bodyBytes": 4096,
}
LOOSE = {**LIMITS, "rate": 100_000, "burst": 100_000, "failures": 1000, "waiting": 100}
BRISK = {**LOOSE, "patience": 0.5}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway with tight limits."""
    with api_gateway(tmp_path_factory.mktemp("strict") / "home", limits=LIMITS) as running:
        yield running


@pytest.fixture(scope="module")
def loose(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway without those limits: the negative control of each."""
    with api_gateway(tmp_path_factory.mktemp("loose") / "home", limits=LOOSE) as running:
        yield running


@pytest.fixture(scope="module")
def brisk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiGateway]:
    """Run a gateway with little patience; a paused machine would leave the others none."""
    with api_gateway(tmp_path_factory.mktemp("brisk") / "home", limits=BRISK) as running:
        yield running


def statuses(home: ApiGateway, who: str, number: int, **headers: str) -> Counter[int]:
    """Ask a cheap question a number of times and count the answers."""
    client = home.client(who)
    found = [
        client.get("/v1/events?session=main", headers=headers).status_code for _ in range(number)
    ]
    return Counter(found)


def test_a_token_has_its_rate(strict: ApiGateway, loose: ApiGateway) -> None:
    """Beyond its burst a token is told to wait; another token is served all the same."""
    began = time.monotonic()
    limited = Counter[int]()
    while not limited[429]:  # a slow machine asks no faster than the rate for a while
        limited += statuses(strict, "agent", 30)
    earned = LIMITS["rate"] * (time.monotonic() - began)
    other = statuses(strict, "other", 3)

    assert LIMITS["burst"] <= limited[200] <= LIMITS["burst"] + earned + 1
    assert set(limited) == {200, 429}
    assert other == {200: 3}
    time.sleep(0.3)
    assert statuses(strict, "agent", 1) == {200: 1}
    assert statuses(loose, "agent", 30) == {200: 30}, "negative control: nothing else limits"


def test_retry_after_is_true(strict: ApiGateway) -> None:
    """A client that waits as long as it was told is served."""
    client = strict.client("reader")
    while (answer := client.get("/v1/sessions")).status_code == 200:
        pass
    time.sleep(int(answer.headers["Retry-After"]))

    assert answer.json()["error"]["code"] == "too_many"
    assert client.get("/v1/sessions").status_code == 200


def test_failed_tokens_are_slowed_and_lock_nobody_out(
    strict: ApiGateway, loose: ApiGateway
) -> None:
    """A guesser waits; a valid token from the same address is served at once in that time."""
    bad = {"Authorization": "Bearer sayso_guess"}

    def guess(home: ApiGateway) -> tuple[int, float]:
        began = time.monotonic()
        status = home.client(None).get("/v1/sessions", headers=bad).status_code
        return status, time.monotonic() - began

    def meanwhile() -> tuple[float, float]:
        with ThreadPoolExecutor(2) as pool:
            slow = pool.submit(guess, strict)
            time.sleep(0.1)
            began = time.monotonic()
            good = strict.client("person").get("/v1/sessions").status_code
            served = time.monotonic() - began
            status, took = slow.result()
        assert (good, status) == (200, 429)
        return took, served

    assert [guess(strict)[0] for _ in range(3)] == [401] * 3
    # A machine may be paused for a second: a client delayed by a guesser is so each time.
    for _ in range(3):
        took, served = meanwhile()
        if served < 0.5:
            break
    assert took > 0.9
    assert served < 0.5
    assert all(guess(loose)[0] == 401 for _ in range(6)), "negative control"


def test_long_polls_have_their_places(strict: ApiGateway, loose: ApiGateway) -> None:
    """When all waiting slots are taken, the next is sent away, and short requests continue."""
    for home, refused in ((strict, True), (loose, False)):
        who = ("agent", "other", "asker", "person", "reader")
        with ThreadPoolExecutor(len(who)) as pool:
            waits = [pool.submit(_poll, home, one) for one in who]
            time.sleep(0.4)
            short = home.client("admin").get("/health").status_code
            found = Counter(wait.result() for wait in waits)

        assert short == 200
        assert (found[503] > 0) is refused, found
        assert found[200] >= 3


def _poll(home: ApiGateway, who: str) -> int:
    path = f"/v1/events?session=quiet-{who}&wait=3"
    return home.client(who).get(path).status_code


def test_a_client_that_left_frees_its_place(strict: ApiGateway) -> None:
    """A long poll ends when its client disconnects, not when its wait is over."""
    for _ in range(4):
        with closing(raw_sockets.connect(strict)) as connection:
            path = "/v1/events?session=left&wait=60"
            connection.sendall(raw_sockets.head(strict, "other", "GET", path) + b"\r\n")
            time.sleep(0.15)

    wait_until("a place", lambda: _poll(strict, "person") == 200)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_has_its_size(strict: ApiGateway, *, chunked: bool) -> None:
    """A body beyond the limit is refused before it is kept; one within it is read."""
    client = strict.client("admin")
    small = {"file": {"version": 1}, "baseHash": "0" * 64}
    large = json.dumps({**small, "file": {"note": "x" * 5000}}).encode()
    headers = {"Content-Type": "application/json"}
    time.sleep(0.3)

    def body(text: bytes) -> object:
        return iter([text[:100], text[100:]]) if chunked else text

    refused = client.put("/v1/allowlists", content=body(large), headers=headers)  # type: ignore[arg-type]
    taken = client.put(
        "/v1/allowlists",
        content=body(json.dumps(small).encode()),  # type: ignore[arg-type]
        headers=headers,
    )

    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
    assert "http.limits.bodyBytes" in refused.json()["error"]["message"]
    assert taken.status_code == 409


def test_an_announced_giant_is_refused_unread(strict: ApiGateway) -> None:
    """A body of a terabyte is answered before a byte of it was sent."""
    time.sleep(0.3)
    with closing(raw_sockets.connect(strict)) as connection:
        promised = b"Content-Length: 1000000000000\r\n\r\n"
        connection.sendall(raw_sockets.head(strict, "agent") + promised)
        answer = connection.recv(65_536)

    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_slow_body_is_given_up(brisk: ApiGateway) -> None:
    """One byte now and then is not a body: the request ends within the patience."""
    with closing(raw_sockets.connect(brisk)) as connection:
        connection.sendall(raw_sockets.head(brisk, "agent") + b'Content-Length: 100\r\n\r\n{"a"')
        began = time.monotonic()
        answer = raw_sockets.read_to_end(connection)

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"did not arrive within" in answer
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("begun", [b"", b"G", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"])
def test_a_slow_head_is_given_up(brisk: ApiGateway, begun: bytes) -> None:
    """A connection that never finishes its request is cut, however slowly it continues."""
    began = time.monotonic()
    with closing(raw_sockets.connect(brisk)) as connection:
        connection.sendall(begun)
        raw_sockets.read_to_end(connection)
        waited = time.monotonic() - began

    assert 0.3 < waited < 3


def test_a_drip_after_an_answer_is_given_up(brisk: ApiGateway) -> None:
    """The second request of a connection has the same patience as the first."""
    with closing(raw_sockets.connect(brisk)) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        try:
            while time.monotonic() - began < 5:
                connection.sendall(b"G")
                time.sleep(0.1)
        except ConnectionError:
            pass

    assert time.monotonic() - began < 3


def test_idle_connections_give_way(strict: ApiGateway) -> None:
    """Beyond the bound the oldest idle ones are closed, and a client with a request is served."""
    with ExitStack() as held:
        idle = [held.enter_context(closing(raw_sockets.connect(strict))) for _ in range(60)]
        for connection in idle:
            connection.setblocking(False)
        closed: set[int] = set()

        def lost() -> int:
            for number, connection in enumerate(idle):
                with suppress(BlockingIOError):
                    with suppress(ConnectionResetError):
                        assert connection.recv(65_536) == b""
                    closed.add(number)
            return len(closed)

        wait_until("closed connections", lambda: lost() >= 60 - LIMITS["connections"])
        assert max(closed) < 59, "the last one is open"
        assert strict.client(None).get("/health").status_code == 200


def test_busy_connections_have_their_number(loose: ApiGateway) -> None:
    """Beyond the bound a connection is answered 503 and closed; when some leave, all is well."""
    polls = raw_sockets.head(loose, "agent", "GET", "/v1/events?session=none&wait=20") + b"\r\n"
    with ExitStack() as held:
        heard: list[bytes] = []

        def refused() -> int:
            busy = held.enter_context(closing(raw_sockets.connect(loose)))
            busy.settimeout(0.1)  # until its request is in progress, it gives way
            with suppress(TimeoutError, ConnectionError):
                busy.sendall(polls)
                heard.append(busy.recv(65_536))
            return sum(b"Too many connections" in one for one in heard)

        wait_until("refusals", lambda: refused() >= 5)
        assert not any(one.startswith(b"HTTP/1.1 2") for one in heard), "each of the others waits"

    def served() -> bool:
        with suppress(httpx.TransportError):
            return loose.client(None).get("/health").status_code == 200
        return False

    wait_until("an answer", served)


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[]",
        b'"x"',
        b"\xff\xfe{}",
        b'{"a": NaN}',
        b'{"a": 1, "a": 2}',
        b'{"a": 1e999}',
        b'{"a": "\\u0000"}',
        b'{"a": "\\ud800"}',
        b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"a": 123456789012345678901234567890}',
        b'{"command": "true", "cwd": "/", "unknown": 1}',
        b'{"command": "true", "cwd": "/", "wait": false}',
        b'{"command": "true", "cwd": "/", "stream": true}',
        b'{"command": "true"}',
        b'{"command": 1, "cwd": "/"}',
        b'{"command": "true", "argv": ["true"], "cwd": "/"}',
        b"",
    ],
)
def test_a_body_is_read_strictly(loose: ApiGateway, text: bytes) -> None:
    """What two readers could understand differently, or no one, is refused with 400."""
    headers = {"Content-Type": "application/json"}
    answer = loose.client("agent").post("/v1/requests", content=text, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_only_plain_json_is_a_body(loose: ApiGateway, headers: dict[str, str]) -> None:
    """A form, which any page can send, is refused; so is what has to be unpacked first."""
    body = b'{"command": "true", "cwd": "/"}'
    answer = loose.client("agent").post("/v1/requests", content=body, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "wrong_type")


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /v1 HTTP/9.9\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nBad Header: 1\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /" + b"a" * 300_000,
    ],
)
def test_garbage_is_answered_and_hung_up_on(brisk: ApiGateway, garbage: bytes) -> None:
    """What is not HTTP gets one answer in our shape, or none, and never more of our patience."""
    answer = raw_sockets.exchange(brisk, garbage)

    assert b" 5" not in answer[:14]
    if answer:
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 401", b"HTTP/1.1 403"))
        assert b'{"error":{"code":' in answer
    assert brisk.client(None).get("/health").status_code == 200


@pytest.mark.parametrize("length", ["4", "28", "38"])
def test_a_body_of_two_lengths_is_refused_and_hung_up_on(loose: ApiGateway, length: str) -> None:
    """What follows it on the connection is not taken for a request (RFC 9112 6.1)."""
    body = b'1c\r\n{"command":"true","cwd":"/"}\r\n0\r\n\r\n'
    both = f"Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    behind = raw_sockets.head(loose, "agent", "GET", "/v1/history") + b"\r\n"
    answer = raw_sockets.exchange(loose, raw_sockets.head(loose, "agent") + both + body + behind)

    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b'{"error":{"code":"bad_request"' in answer
    assert b"connection: close" in answer.lower()


def test_a_large_head_is_refused(loose: ApiGateway) -> None:
    """Sixteen KiB of address and headers are enough."""
    for headers, path in (({"X-Long": "x" * 20_000}, "/health"), ({}, "/health?" + "x" * 20_000)):
        answer = loose.client(None).get(path, headers=headers)
        assert answer.status_code in {400, 413}
        assert "bodyBytes" not in answer.text, "another bound than the body's"


def test_a_reader_that_stops_is_cut_off(brisk: ApiGateway, loose: ApiGateway) -> None:
    """A client that asks for megabytes and reads none is cut off; one that reads gets all."""
    request = _long_answer(brisk)
    with closing(raw_sockets.connect(brisk)) as connection:
        connection.sendall(request * 40)
        connection.settimeout(10)
        time.sleep(1.5)
        got = raw_sockets.read_to_end(connection)
    request = _long_answer(loose)
    with closing(raw_sockets.connect(loose)) as connection:
        connection.sendall(request * 39 + request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        whole = raw_sockets.read_to_end(connection)

    assert len(whole) > 40 * 200_000, "negative control: a reader gets everything"
    assert len(got) < len(whole) * 0.9


def _long_answer(home: ApiGateway) -> bytes:
    """Return a request with a large answer."""
    made = home.ask("seq 1 60000", wait=10)
    return raw_sockets.head(home, "agent", "GET", f"/v1/requests/{made['id']}") + b"\r\n"
