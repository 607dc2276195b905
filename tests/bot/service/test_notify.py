"""Notify the service manager on real datagram sockets, with a name in a folder or without."""

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.service.notify import Notifier


@pytest.fixture(params=["file", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """Listen as a service manager does; yield the value of $NOTIFY_SOCKET, and the socket."""
    named = str(tmp_path / "notify") if request.param == "file" else f"@sayso-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(named.replace("@", "\0", 1) if named[0] == "@" else named)
        listening.settimeout(5)
        yield named, listening


def test_each_message_is_a_datagram(manager: tuple[str, socket.socket]) -> None:
    """Ready, reloading with the time, stopping, alive and a status in one line."""
    named, listening = manager
    notifier = Notifier.take({"NOTIFY_SOCKET": named})
    notifier.ready()
    notifier.reloading()
    notifier.status("two\nlines\u202e")
    notifier.alive()
    notifier.stopping()
    heard = [listening.recv(4096).decode() for _ in range(5)]
    assert heard[0] == "READY=1"
    assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=[0-9]+", heard[1])
    assert heard[2] == "STATUS=two lines\u202e"
    assert heard[3:] == ["WATCHDOG=1", "STOPPING=1\nSTATUS=stopping"]


def test_the_variables_are_taken_away() -> None:
    """No command inherits them, nor a process that the gateway starts."""
    environ = {
        "NOTIFY_SOCKET": "/run/notify",
        "WATCHDOG_USEC": "3000000",
        "WATCHDOG_PID": str(os.getpid()),
        "PATH": "/bin",
    }
    notifier = Notifier.take(environ)
    assert (notifier.address, notifier.watchdog_s) == ("/run/notify", 3.0)
    assert environ == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"},
    ],
)
def test_what_is_not_for_us_asks_nothing(environ: dict[str, str]) -> None:
    """No watchdog, a broken one, and that of another process."""
    assert Notifier.take(environ).watchdog_s is None


@pytest.mark.parametrize("named", ["", "/nowhere/notify", "vsock:2:1", "@" + "x" * 300])
def test_a_manager_that_is_away_is_no_failure(named: str) -> None:
    """No one to notify, or no one who can be reached: the gateway continues."""
    Notifier.take({"NOTIFY_SOCKET": named}).ready()


def test_a_manager_that_does_not_read_holds_nobody_up(tmp_path: Path) -> None:
    """Its queue is full: what does not fit is left out."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        notifier = Notifier.take({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        for _ in range(2000):
            notifier.alive()
