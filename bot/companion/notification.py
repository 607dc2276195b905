"""Send a desktop notification over the session bus, if there is one (D-Bus, freedesktop.org).

A notification only calls a person to the screen: it accepts no answer, and nothing waits for it.
"""

import asyncio
import html
import logging
import os
from dataclasses import dataclass, field

from core.companion.frames import Question

_log = logging.getLogger(__name__)
_SERVICE, _PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
_PATIENCE_S = 2.0
_LONGEST = 200
_CRITICAL = 2
_SHOWN_MS = 30_000
BUS = "DBUS_SESSION_BUS_ADDRESS"


@dataclass(slots=True)
class Notifications:
    """The notifications of a companion; without a session bus there are none."""

    bus: str = field(default_factory=lambda: os.environ.get(BUS, ""))
    _sending: set[asyncio.Task[None]] = field(default_factory=set)

    def arrived(self, question: Question) -> None:
        """Announce that a question waits; a bus that fails is logged and delays nothing."""
        if not self.bus:
            return
        task = asyncio.create_task(self._notify(question))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _notify(self, question: Question) -> None:
        try:
            await asyncio.to_thread(_send, self.bus, question)
        except Exception as failure:  # noqa: BLE001 - whatever a bus does, the question is on screen
            _log.info("no desktop notification: %s", failure)


def _send(bus: str, question: Question) -> int:
    """Send one notification and return its number.

    Raises:
        OSError, TimeoutError, DBusErrorResponse: the bus or its notification server.
    """
    from jeepney import DBusAddress, new_method_call  # noqa: PLC0415 - only with a bus
    from jeepney.io.blocking import open_dbus_connection  # noqa: PLC0415
    from jeepney.wrappers import unwrap_msg  # noqa: PLC0415

    body = html.escape(f"{question.agent}: {question.command}"[:_LONGEST], quote=False)
    arguments: tuple[object, ...] = (
        "Sayso",
        0,
        "",
        "Allow this command?",
        body,
        [],
        _hints(),
        _SHOWN_MS,
    )
    address = DBusAddress(_PATH, _SERVICE, _SERVICE)
    with open_dbus_connection(bus) as connection:
        call = new_method_call(address, "Notify", "susssasa{sv}i", arguments)
        answer = connection.send_and_get_reply(call, timeout=_PATIENCE_S)
        return int(unwrap_msg(answer)[0])


def _hints() -> dict[str, tuple[str, object]]:
    return {"urgency": ("y", _CRITICAL), "category": ("s", "im.received")}
