"""Check the head of a request before anything else."""

import pytest

from tests.bot.api import raw_sockets
from tests.support.api_gateway import ApiGateway

_LENGTH, _CHUNKED = b"Content-Length: 4\r\n", b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("headers", "both"),
    [(_LENGTH + _CHUNKED, True), (_LENGTH, False), (_CHUNKED, False)],
)
def test_a_body_of_two_lengths_is_refused_whatever_else_is_said(
    home: ApiGateway, headers: bytes, both: bool
) -> None:
    """HTTP/1.0 needs no ``Host``: two headers are enough, and one length is not such a fault."""
    answer = raw_sockets.exchange(home, b"POST /health HTTP/1.0\r\n" + headers + b"\r\n0\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 4")
    assert (b"Content-Length and Transfer-Encoding are both set" in answer) is both


@pytest.mark.parametrize(
    ("path", "accept", "status", "words"),
    [
        ("/", "*/*", 401, b"sayso login"),
        ("/history", "text/html", 401, b"sayso login"),
        ("/histroy", "text/html", 404, b"Not found"),
    ],
)
def test_a_visitor_of_a_page_is_answered_with_a_page(
    home: ApiGateway, path: str, accept: str, status: int, words: bytes
) -> None:
    """An address of a page is one whatever is accepted; a mistyped one, if HTML is accepted."""
    answer = home.client(None).get(path, headers={"Accept": accept})

    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert words in answer.content


@pytest.mark.parametrize(
    ("path", "accept"), [("/histroy", "*/*"), ("/v1/histroy", "text/html"), ("/v1/x", "*/*")]
)
def test_a_program_that_shows_no_token_is_answered_with_json(
    home: ApiGateway, path: str, accept: str
) -> None:
    """Below /v1 whatever it accepts, elsewhere unless HTML: whether it exists is not revealed."""
    answer = home.client(None).get(path, headers={"Accept": accept})

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorised")
