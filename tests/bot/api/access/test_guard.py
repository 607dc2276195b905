"""The guard looks at the head of a request before anything else."""

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
    """HTTP/1.0 needs no ``Host``: two headers are enough, and one length is no such fault."""
    answer = raw_sockets.exchange(home, b"POST /health HTTP/1.0\r\n" + headers + b"\r\n0\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 4")
    assert (b"Content-Length and Transfer-Encoding are both set" in answer) is both
