"""Let a test in another process act as the people and the network around the local Discord."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tests.emulators.discord_objects import Json
from tests.emulators.faults import Fault, FaultKind

if TYPE_CHECKING:
    from tests.emulators.discord import DiscordServer


async def _press(server: "DiscordServer", body: Json) -> object:
    return (await server.press(**body)).token


async def _choose(server: "DiscordServer", body: Json) -> object:
    return (await server.choose(**body)).token


async def _slash(server: "DiscordServer", body: Json) -> object:
    options = body.pop("options", {})
    return (await server.slash(**body, **options)).token


async def _say(server: "DiscordServer", body: Json) -> object:
    return await server.say(**body)


async def _messages(server: "DiscordServer", body: Json) -> object:
    return server.messages(body["channel"])


async def _interaction(server: "DiscordServer", body: Json) -> object:
    found = server.state.interactions[body["token"]]
    return {"answered": found.answered, "notes": found.notes, "late": found.late}


async def _fault(server: "DiscordServer", body: Json) -> object:
    times = body.pop("times", 1)
    server.faults.add(Fault(FaultKind(body.pop("kind")), **body), times)
    return True


async def _sessions(server: "DiscordServer", body: Json) -> object:
    gateway = server.gateway
    counts = {"identifies": gateway.identifies, "resumes": gateway.resumes}
    return {"live": len(gateway.live), **counts}


async def _abort(server: "DiscordServer", body: Json) -> object:
    await server.gateway.abort()
    return True


async def _calls(server: "DiscordServer", body: Json) -> object:
    return [[call.method, call.body, call.status] for call in server.calls]


CONTROLS: dict[str, Callable[["DiscordServer", Json], Awaitable[object]]] = {
    "press": _press,
    "choose": _choose,
    "slash": _slash,
    "say": _say,
    "messages": _messages,
    "interaction": _interaction,
    "fault": _fault,
    "sessions": _sessions,
    "drop": _abort,
    "calls": _calls,
}
"""What a test in another process may ask for, by ``POST /control/<name>``."""
