"""Limit how long a JSON text may block its reader."""

import time

import pytest

from core.ipc.errors import FrameError
from core.ipc.strict_json import MOST_PARTS, read_object

_LARGE = 8 << 20
_QUICK_S = 0.5


def _array(each: bytes, number: int) -> bytes:
    return b'{"x":[' + b",".join([each] * number) + b"]}"


@pytest.mark.parametrize("each", [b"{}", b"[]", b"1", b'""', b'{"a":1}', b"1e5", b"[[],[]]"])
def test_countless_values_are_refused_before_they_are_read(each: bytes) -> None:
    """A megabyte of them took half a second, in which nothing else was served."""
    text = _array(each, _LARGE // (len(each) + 1))
    began = time.process_time()
    with pytest.raises(FrameError, match="more than 65536 values"):
        read_object(text)
    assert time.process_time() - began < _QUICK_S


@pytest.mark.parametrize(
    "inside", [b",", b"{", b'\\",', b"\\\\\\\\,", "é,".encode()], ids=["comma", "brace", *"qbe"]
)
def test_what_is_within_a_string_is_no_value(inside: bytes) -> None:
    """A script of a megabyte has many commas."""
    text = b'{"x":"' + inside * (1 << 20) + b'"}'
    assert len(str(read_object(text)["x"])) >= 1 << 20


def test_as_many_values_as_there_may_be_are_read() -> None:
    """With their keys; one more is refused."""
    most = MOST_PARTS - 2  # the object and the array
    assert len(str(read_object(_array(b"1", most + 1)))) > most
    with pytest.raises(FrameError, match="values"):
        read_object(_array(b"1", most + 2))
    pairs = b'{"a,b":"c,d",' + b",".join(b'"%d,":","' % n for n in range(most)) + b"}"
    assert len(read_object(pairs)) == most + 1


@pytest.mark.parametrize(
    "text",
    [b'\\",' * (_LARGE // 3), b'\\",' * (_LARGE // 3) + b"\\", b"," * 70_000 + b"\\" * _LARGE],
    ids=["quotes", "an escape without end", "escapes"],
)
def test_a_string_without_end_is_refused_as_soon(text: bytes) -> None:
    """It is scanned once."""
    began = time.process_time()
    with pytest.raises(FrameError):
        read_object(b'{"x":"' + text)
    assert time.process_time() - began < _QUICK_S
