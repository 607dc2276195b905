"""Serve the port at which an agent asks its model."""

import http.client
import json
from collections.abc import Iterator

import pytest

from bot.executor.model_proxy import ModelProxy, NoKey, Upstream, without
from tests.support.agents import KEY, Model, model
from tests.support.tables import rows


@pytest.fixture
def the_model() -> Iterator[Model]:
    """Yield a model."""
    with model() as found:
        yield found


def asked(proxy: ModelProxy, headers: dict[str, str], body: str = "{}") -> tuple[int, str]:
    """Return the status and the body of a request to a proxy."""
    connection = http.client.HTTPConnection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
    try:
        connection.request("POST", "/v1/x?a=b", body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["x-api-key", "x-goog-api-key", "Authorization"])
def test_puts_the_key_in_the_tokens_place(the_model: Model, name: str) -> None:
    """The token is in any of the headers that agents use; the key leaves in the API's own."""
    proxy = ModelProxy(Upstream(the_model.url, "Authorization", "Bearer "), lambda: KEY)
    prefix = "Bearer " if name == "Authorization" else ""
    answer = asked(proxy, {name: prefix + proxy.token, "x-other": "kept"})

    assert answer == (200, "the model's answer")
    (sent,) = the_model.asked
    assert sent["authorization"] == f"Bearer {KEY}"
    assert (sent["path"], sent["x-other"]) == ("/base/v1/x?a=b", "kept")
    assert proxy.token not in json.dumps(sent)


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "guess"}, {"Authorization": "Bearer "}])
def test_a_stranger_gets_nothing(the_model: Model, headers: dict[str, str]) -> None:
    """A client that reaches the port without the token is refused, and no key is fetched for it."""
    fetched: list[str] = []

    def fetch() -> str:
        fetched.append("")
        return KEY

    proxy = ModelProxy(Upstream(the_model.url, "x-api-key", ""), fetch)

    assert asked(proxy, headers)[0] == 401
    assert (the_model.asked, fetched) == ([], [])


def test_without_a_key_the_model_is_not_asked(the_model: Model) -> None:
    """The gateway's words reach the agent."""

    def none() -> str:
        raise NoKey("there is none for you")

    proxy = ModelProxy(Upstream(the_model.url, "x-api-key", ""), none)

    assert asked(proxy, {"x-api-key": proxy.token}) == (503, "no API key: there is none for you")
    assert the_model.asked == []


def test_the_key_is_fetched_for_each_request(the_model: Model) -> None:
    """It is kept nowhere: the next request has the next key."""
    keys = iter(("one", "two"))
    proxy = ModelProxy(Upstream(the_model.url, "x-api-key", ""), lambda: next(keys))
    for _ in range(2):
        asked(proxy, {"x-api-key": proxy.token})

    assert [one["x-api-key"] for one in the_model.asked] == ["one", "two"]


def test_a_model_that_is_away(the_model: Model) -> None:
    """The agent is told that it cannot be reached, and gets no secret."""
    del the_model
    proxy = ModelProxy(Upstream("http://127.0.0.1:9", "x-api-key", ""), lambda: KEY)
    status, words = asked(proxy, {"x-api-key": proxy.token})

    assert status == 502
    assert KEY not in words


@rows("size", range(1, 12))
def test_a_key_that_the_model_repeats_is_struck_out(size: int) -> None:
    """However the stream is cut; and nothing else is lost, or held back to the end."""
    text = b"a" + b"key-1" + b"kekey-key-1" + b"k" + b"key-"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    passed = list(without(b"key-1", iter(pieces)))

    assert b"".join(passed) == b"a*****kekey-*****kkey-"
    assert list(without(b"key-1", iter([b"data: one\n\n"]))) == [b"data: one\n\n", b""]


def test_a_header_that_cannot_be_sent_on(the_model: Model) -> None:
    """It is the agent's mistake, and the agent is told."""
    proxy = ModelProxy(Upstream(the_model.url, "x-api-key", ""), lambda: "bad\nkey")

    assert asked(proxy, {"x-api-key": proxy.token})[0] == 400
    assert the_model.asked == []
