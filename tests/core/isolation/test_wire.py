"""Encode frames: JSON-RPC 2.0, one object per line."""

import json

import pytest

from core.isolation import wire
from core.isolation.wire import Lines, LongLine


def test_lines_are_cut_wherever_the_stream_was() -> None:
    """Every way to cut two frames gives the same two."""
    whole = wire.request(1, "ping", {}) + wire.notification("x", {"a": "b\nc"})
    expected = whole.split(b"\n")[:2]

    for place in range(len(whole)):
        lines = Lines()
        assert lines.feed(whole[:place]) + lines.feed(whole[place:]) == expected


def test_a_frame_is_one_line() -> None:
    """A line break in a value is escaped."""
    line = wire.result(3, {"text": "one\ntwo"})

    assert line.count(b"\n") == 1
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 3, "result": {"text": "one\ntwo"}}


def test_a_long_line_is_refused_before_it_ends() -> None:
    """And one of the greatest length is not."""
    assert Lines().feed(b"x" * wire.LONGEST_LINE + b"\n") == [b"x" * wire.LONGEST_LINE]
    with pytest.raises(LongLine):
        Lines().feed(b"x" * (wire.LONGEST_LINE + 1))


def test_counts_have_plain_names() -> None:
    """What an executor passes on is checked again: it is another user's process."""
    odd = {"inputTokens": 3, "x) completed": 1, "a\nb": 2, "n1": 3, "kind": "text", "no": -1}
    assert wire.counts(odd) == {"inputTokens": 3}
    bounds = {"least": 0, "less": -1, "most": 2**53, "more": 2**53 + 1}
    assert wire.counts(bounds) == {"least": 0, "most": 2**53}
    assert wire.counts(["inputTokens", 3]) == wire.counts(None) == {}
    assert len(wire.counts({"a" * number: number for number in range(1, 41)})) == 32
