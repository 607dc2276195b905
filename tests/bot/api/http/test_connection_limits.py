"""Drop a WebSocket's peer that makes the gateway hold more than it reads."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.api.http import connection_limits as module
from bot.api.http.connection_limits import WebSocketConnection

Base = WebSocketConnection.__mro__[1]


class Line(SimpleNamespace):
    """A connection's transport with so much unread."""

    unread: int = 0
    dropped: bool = False

    def get_write_buffer_size(self) -> int:
        """Return how much the peer has not read."""
        return self.unread

    def abort(self) -> None:
        """Drop the peer."""
        self.dropped = True


def connection(line: Line, frames: int = 0) -> Any:
    """Return a connection that has so many parts of a message."""
    made: Any = WebSocketConnection.__new__(WebSocketConnection)
    made.transport, made.frames = line, [b""] * frames
    return made


@pytest.mark.parametrize(("beyond", "dropped"), [(-1, False), (0, False), (1, True)])
def test_answers_to_pings_are_held_to_a_bound(
    monkeypatch: pytest.MonkeyPatch, beyond: int, *, dropped: bool
) -> None:
    """A peer that sends pings and reads nothing would fill the memory."""
    answered: list[object] = []

    def answer(one: object) -> None:
        answered.append(one)

    monkeypatch.setattr(Base, "handle_ping", answer)
    line = Line(unread=module._MOST_UNREAD + beyond)
    connection(line).handle_ping()

    assert (len(answered), line.dropped) == (1, dropped)


@pytest.mark.parametrize(("short", "dropped"), [(1, False), (0, True)])
def test_a_message_has_so_many_parts(
    monkeypatch: pytest.MonkeyPatch, short: int, *, dropped: bool
) -> None:
    """The next one is not taken."""
    taken: list[object] = []
    monkeypatch.setattr(Base, "handle_cont", lambda _, event: taken.append(event))
    line = Line()
    event: Any = None
    connection(line, module._MOST_PARTS - short).handle_cont(event)

    assert (len(taken), line.dropped) == (int(not dropped), dropped)
