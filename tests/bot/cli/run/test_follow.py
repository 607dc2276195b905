"""Print a line between what shows that somebody is asked, which need not be there."""

import os
import signal
from pathlib import Path

import pytest

from bot.cli.run.follow import FollowedRequest
from bot.cli.run.signals import Signals
from bot.cli.run.spinner import Notice
from bot.client import Client


class Shown(Notice):
    """What shows that somebody is asked; ``hidden`` counts how often it was erased."""

    def __init__(self, *, broken: bool = False) -> None:
        super().__init__()
        self.hidden = 0
        self._broken = broken

    def hide(self) -> None:
        """Erase it, if its terminal is still there."""
        self.hidden += 1
        if self._broken:
            raise OSError


class Ticking(Shown):
    """A spinner that is shown; ``ticks`` counts how often it was drawn."""

    tick_ms = 1

    def __init__(self, *, shown: bool = True) -> None:
        super().__init__()
        self.shown = shown
        self.ticks = 0

    def tick(self) -> None:
        """Count it; somebody answers after the third."""
        self.ticks += 1
        self.shown = self.ticks < 3


class Answering(Client):
    """A gateway that says nothing while a spinner is shown."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        """Return what becomes readable with an answer."""
        return self._fd

    def frames(self) -> list[dict[str, object]]:
        """Return an answer."""
        return [{"id": 0, "result": {}}]


class Heard(Signals):
    """Signals that came, without handlers of this process."""

    def __init__(self, *heard: int) -> None:
        self.received = [*heard]


def following(home: Path, *heard: int) -> FollowedRequest:
    """Return a request that was not sent."""
    client = Client(str(home / "gateway.sock"))
    return FollowedRequest(client, Heard(*heard), None, None, waits=True)


def test_a_line_needs_no_spinner(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nobody may be asked, or the output may be no terminal's."""
    following(tmp_path).say("a line")

    assert capfd.readouterr() == ("", "sayso: a line\n")


@pytest.mark.parametrize("broken", [False, True])
def test_a_spinner_is_erased_before_a_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], *, broken: bool
) -> None:
    """What cannot be written to has nothing to erase; the line is printed all the same."""
    one = following(tmp_path)
    one._spinner = shown = Shown(broken=broken)
    one.say("a line")
    one.say("another")

    assert capfd.readouterr().err == "sayso: a line\nsayso: another\n"
    assert (shown.hidden, one._spinner) == (2, shown)


def test_after_a_signal_nothing_shows_that_somebody_is_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The user wants to leave: it is erased once, and never drawn again."""
    one = following(tmp_path, signal.SIGINT)
    one._spinner = shown = Shown()
    one.say("cancelling")
    one.say("cancelled")

    assert capfd.readouterr().err == "sayso: cancelling\nsayso: cancelled\n"
    assert (shown.hidden, one.interrupted) == (1, signal.SIGINT)
    assert vars(one)["_spinner"] is None


def test_a_spinner_is_drawn_while_nothing_comes() -> None:
    """Where it is shown; what is not shown is not drawn, and a frame is taken at once."""
    (came, comes), (heard, never) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
    signals = Heard()
    signals.fd = heard
    one = FollowedRequest(Answering(came), signals, None, None, waits=True)
    one._ask_where_at = float("inf")
    one._spinner = ticking = Ticking()
    quiet = [tuple(one._frames()) for _ in range(3)]
    os.write(comes, b"x")
    frames = tuple(one._frames())
    for fd in (came, comes, heard, never):
        os.close(fd)

    assert (ticking.ticks, quiet) == (3, [(), (), ()])
    assert frames == ({"id": 0, "result": {}},)
