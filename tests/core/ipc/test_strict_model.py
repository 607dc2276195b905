import time
from typing import Literal

import pytest
from pydantic import TypeAdapter

from core.ipc.errors import FrameError
from core.ipc.strict_json import read_object
from core.ipc.strict_model import StrictFrame, read_model
from tests.support.tables import rows


class Said(StrictFrame):
    """A frame."""

    t: Literal["said"] = "said"
    text: str
    number: int = 0


SAID = TypeAdapter(Said)


def test_a_frame_is_read() -> None:
    """A command's output is taken as it is, including NUL."""
    assert read_model(SAID, b'{"text":"a\\u0000b"}') == Said(text="a\0b")


@rows(
    "text, why",
    [
        (b'{"text":"a","text":"b"}', "duplicate key"),
        (b'{"text":"a","more":1}', "more: Extra"),
        (b'{"text":1}', "text: Input should be a valid string"),
        (b'{"text":"a","number":"1"}', "number: "),
        (b'{"text":"a","number":1e999}', "too large"),
        (b'{"text":"a","number":' + b"9" * 5_000 + b"}", "too large"),
        (b'{"text":' + b"[" * 60_000, "nested too deeply"),
        (b'{"text":' + b"[" * 100_000, "more than 65536 values"),
        (b'{"text":"\xff"}', "UTF-8"),
        (b'{"text":"\\ud800"}', "the frame: Invalid JSON"),
        (b'"said"', "the frame: "),
        (b"", "not JSON"),
    ],
)
def test_what_is_none_is_refused_with_a_sentence(text: bytes, why: str) -> None:
    """By whatever reads it first; nothing hangs and nothing else is raised."""
    with pytest.raises(FrameError, match=why):
        read_model(SAID, text)


def test_countless_wrong_values_are_counted_and_not_told() -> None:
    """Making an error of each takes a quarter of a second; of few, the first is reported."""
    many = TypeAdapter(tuple[int, ...])
    began = time.process_time()
    with pytest.raises(FrameError, match="60000 values are wrong"):
        read_model(many, b"[" + b",".join([b'""'] * 60_000) + b"]")
    assert time.process_time() - began < 0.15
    with pytest.raises(FrameError, match=r"^1: Input should be a valid integer"):
        read_model(many, b'[0,"",""]')


def test_a_request_holds_nothing_that_no_program_could_be_given() -> None:
    """Its reader is that of requests."""
    with pytest.raises(FrameError, match="NUL or bytes that are not UTF-8; correct it"):
        read_model(SAID, b'{"text":"a\\u0000b"}', read_object)
    assert read_model(SAID, b'{"text":"ab"}', read_object) == Said(text="ab")
