"""Hear what a supervisor said, whatever could not be said to it."""

import contextlib
import socket

import pytest

from core.runner.link import Link
from core.runner.supervisor.protocol import GO, encode, encode_text


@pytest.mark.parametrize("gone", [True, False])
async def test_the_last_report_is_heard_although_an_answer_comes_too_late(*, gone: bool) -> None:
    """A cancelled supervisor ends while the gateway still checks its question."""
    ours, theirs = socket.socketpair()
    link = Link(ours, 1)
    theirs.send(encode({"failed": {"drift": False, "why": "the last words"}}))
    if gone:
        theirs.close()
    link.go_on({})
    assert await link.receive() == {"failed": {"drift": False, "why": "the last words"}}
    if gone:
        assert await link.receive() is None
    else:
        assert theirs.recv(100) == GO + encode_text("{}")
        theirs.close()
    link.close()


async def test_who_is_not_told_ends() -> None:
    """A peer that reads nothing cannot be answered: it must not wait for ever."""
    ours, theirs = socket.socketpair()
    link = Link(ours, 1)
    with contextlib.suppress(BlockingIOError):
        while ours.send(b"x" * 4096):
            pass
    link.go_on({})
    assert ours.fileno() == -1
    theirs.close()
