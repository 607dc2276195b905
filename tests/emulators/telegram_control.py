"""Let another process play the people of the local Bot API server, inspect it, and cause faults.

``/control/press``, ``press_choice``, ``press_old`` and ``say`` act for a person; ``messages``,
``presses``, ``updates``, ``calls`` and ``webhook`` inspect; ``fault`` and ``forum`` change the
world.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from tests.emulators.faults import Fault, FaultKind
from tests.emulators.telegram_state import Json

if TYPE_CHECKING:
    from tests.emulators.telegram import TelegramServer


@dataclass(frozen=True, slots=True)
class Controls:
    """What ``/control/…`` takes; the keys of a body are the arguments."""

    server: "TelegramServer"

    async def handle(self, request: web.Request) -> web.Response:
        """Carry out one action."""
        action, body = request.match_info["action"], await request.json()
        match action:
            case "press":
                return web.json_response(await self.server.press(**body))
            case "press_choice":
                return web.json_response(await self.server.press_choice(**body))
            case "press_old":
                return web.json_response(await self.server.press_old(**body))
            case "say":
                return web.json_response(await self.server.say(**body))
            case _:
                return web.json_response(self._look(action, body))

    def _look(self, action: str, body: Json) -> object:
        look = _LOOKS.get(action)
        if look is None:
            raise web.HTTPNotFound(text=f"no control {action}")
        return look(self.server, body)


def _press(server: "TelegramServer", body: Json) -> Json:
    press = server.state.presses[body["query"]]
    return {"answered": press.answered, "text": press.text, "alert": press.alert}


def _fault(server: "TelegramServer", body: Json) -> bool:
    times = body.pop("times", 1)
    server.faults.add(Fault(FaultKind(body.pop("kind")), **body), times)
    return True


def _forum(server: "TelegramServer", body: Json) -> bool:
    server.state.forums.setdefault(body["chat"], {})
    return True


_LOOKS: dict[str, Callable[["TelegramServer", Json], object]] = {
    "messages": lambda server, body: server.messages(body["chat"]),
    "presses": _press,
    "updates": lambda server, body: server.state.updates,
    "fault": _fault,
    "forum": _forum,
    "calls": lambda server, body: [
        [one.method, one.parameters, one.status] for one in server.calls
    ],
    "webhook": lambda server, body: {
        "url": server.state.webhook.url,
        "error": server.state.webhook.error,
        "attempts": server.delivery.attempts,
    },
}
