"""Tell an answer of our own entry point from errors and from anything else."""

import pytest

from bot.api.gate_proof import _body
from core.errors import SaysoError


@pytest.mark.parametrize("status", [b"200 OK", b"201 Created"])
@pytest.mark.parametrize(("body", "found"), [(b'{"a":1}', {"a": 1}), (b"[]", []), (b"0", 0)])
def test_an_answer_is_its_json(status: bytes, body: bytes, found: object) -> None:
    """Whatever it is, empty too."""
    assert _body(b"HTTP/1.1 " + status + b"\r\nA: b\r\n\r\n" + body) == found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nhello", "it answered 200"),
        (b"HTTP/1.1 200 OK\r\n\r\nnull", "it answered 200"),
        (b"HTTP/1.1 401 Unauthorized\r\n\r\n{}", "it answered 401"),
        (b"HTTP/1.1", "it answered nothing"),
        (b"", "it answered nothing"),
    ],
)
def test_another_answer_is_none(answer: bytes, words: str) -> None:
    """An error, or something else that listens there."""
    with pytest.raises(SaysoError, match=f"^{words}$"):
        _body(answer)
