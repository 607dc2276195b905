"""Send a desktop notification over a real session bus; its absence costs nothing."""

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jeepney import MessageType, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

from bot.companion.notification import Notifications
from core.companion import frames
from tests.core.companion.desks import question
from tests.support.waiting import until

SERVICE = "org.freedesktop.Notifications"


def asked(**changes: Any) -> frames.Question:
    """Return a question."""
    found = frames.read_asked(json.dumps(question(**changes)))
    assert isinstance(found, frames.Question)
    return found


@contextmanager
def session_bus() -> Iterator[str]:
    """Run our own dbus-daemon and yield its address."""
    daemon = subprocess.Popen(
        ["dbus-daemon", "--session", "--nofork", "--print-address"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert daemon.stdout is not None
    try:
        yield daemon.stdout.readline().strip().partition(",")[0]
    finally:
        daemon.terminate()
        daemon.wait(10)
        daemon.stdout.close()


@contextmanager
def desktop(bus: str, heard: list[Any]) -> Iterator[None]:
    """Serve org.freedesktop.Notifications for one call, as a desktop does."""
    connection = open_dbus_connection(bus)
    connection.send_and_get_reply(message_bus.RequestName(SERVICE))

    def serve() -> None:
        while not heard:
            message = connection.receive(timeout=20)
            if message.header.message_type is MessageType.method_call:
                heard.append(message.body)
                connection.send(new_method_return(message, "u", (7,)))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join(20)
        connection.close()


async def test_a_question_is_announced_on_the_bus() -> None:
    """The notification names agent and command; markup in them stays text."""
    heard: list[Any] = []
    with session_bus() as bus, desktop(bus, heard):
        Notifications(bus).arrived(asked(command="echo '<b>hi</b>' & true"))
        await until(lambda: heard != [])

    ((name, replaces, _, summary, body, actions, hints, _),) = heard
    assert ("Sayso", 0, "Allow this command?", []) == (name, replaces, summary, actions)
    assert "coder: echo '&lt;b&gt;hi&lt;/b&gt;' &amp; true" == body
    assert ("y", 2) == hints["urgency"]


async def test_a_bus_without_a_desktop_costs_nothing() -> None:
    """No service for notifications: no error reaches the companion."""
    with session_bus() as bus:
        notifications = Notifications(bus)
        notifications.arrived(asked())
        (task,) = notifications._sending
        await asyncio.wait_for(task, 10)
        assert task.exception() is None


async def test_no_bus_no_notification() -> None:
    """Without a session bus nothing is tried; with a dead address nothing fails."""
    silent, dead = Notifications(""), Notifications("unix:path=/nonexistent")
    silent.arrived(asked())
    assert set() == silent._sending
    dead.arrived(asked())
    (task,) = dead._sending
    await asyncio.wait_for(task, 10)
    assert task.exception() is None
