"""Speak the gateway: identify, heartbeat, resume with replay, and fail in each known way."""

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from tests.emulators.alterations import Alterations
from tests.emulators.discord_objects import BOT, Json
from tests.emulators.discord_state import DiscordState

GUILDS = 1 << 0
GUILD_MESSAGES = 1 << 9
DIRECT_MESSAGES = 1 << 12
MESSAGE_CONTENT = 1 << 15
_KNOWN_INTENTS = (1 << 26) - 1
_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME, _RECONNECT, _INVALID, _HELLO, _ACK = (
    *(0, 1, 2, 6, 7, 9, 10, 11),
)
_HEARTBEAT_MS = 41_250
_ENDING_CLOSES = (1000, 1001)


class Hangup(Exception):
    """The server closes the socket with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


@dataclass(slots=True)
class Session:
    """What a client resumes: its intents, and every event since the session began."""

    id: str
    intents: int
    events: list[Json] = field(default_factory=list)
    socket: web.WebSocketResponse | None = None


@dataclass(slots=True)
class Gateway:
    """The gateway of one server; ``identifies`` and ``resumes`` count the clients' requests."""

    state: DiscordState
    url: str = ""
    sessions: dict[str, Session] = field(default_factory=dict)
    sockets: set[web.WebSocketResponse] = field(default_factory=set)
    alterations: Alterations = field(default_factory=Alterations)
    identifies: int = 0
    resumes: int = 0
    closes: list[int] = field(default_factory=list)
    _hung_up: set[web.WebSocketResponse] = field(default_factory=set)

    @property
    def live(self) -> list[Session]:
        """Return the sessions that have a socket."""
        return [session for session in self.sessions.values() if session.socket is not None]

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one socket until it ends."""
        socket = web.WebSocketResponse(compress=False, timeout=0.5)
        await socket.prepare(request)
        self.sockets.add(socket)
        session: Session | None = None
        try:
            await self._send(socket, {"op": _HELLO, "d": {"heartbeat_interval": _HEARTBEAT_MS}})
            async for frame in socket:
                session = await self._take(socket, _frame(frame), session)
        except Hangup as hangup:
            await socket.close(code=hangup.code)
        finally:
            self.sockets.discard(socket)
            self._ended(session, socket)
            await self.state.notify()
        return socket

    async def emit(self, kind: str, body: Json, needs: int = 0) -> None:
        """Give an event to every session that wants it, also to those that may resume."""
        for session in list(self.sessions.values()):
            if needs and not session.intents & needs:
                continue
            event = {
                "op": _DISPATCH,
                "t": kind,
                "s": len(session.events) + 1,
                "d": _seen(kind, body, session.intents),
            }
            session.events.append(event)
            if session.socket is not None:
                await self._send(session.socket, event)

    async def order(self, op: int, data: object = None) -> None:
        """Send op 7 or op 9 to every client; a session that is not resumable ends."""
        for session in self.live:
            socket = session.socket
            if op == _INVALID and data is not True:
                del self.sessions[session.id]
            if socket is not None:
                await _send(socket, {"op": op, "d": data})

    async def hang_up(self, code: int) -> None:
        """Close every socket with a code."""
        for socket in list(self.sockets):
            self._hung_up.add(socket)
            await socket.close(code=code)

    async def abort(self) -> None:
        """Cut every connection without notice."""
        for socket in list(self.sockets):
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()
        await self.state.until(lambda: not self.live)

    async def _take(
        self, socket: web.WebSocketResponse, frame: Json, session: Session | None
    ) -> Session | None:
        match frame["op"]:
            case 1:
                await _send(socket, {"op": _ACK})
                return session
            case 2 if session is None:
                return await self._identify(socket, frame["d"])
            case 6 if session is None:
                return await self._resume(socket, frame["d"])
            case op if session is None and op in (3, 4, 8):
                raise Hangup(4003)
            case _:
                raise Hangup(4001)

    async def _identify(self, socket: web.WebSocketResponse, data: Json) -> Session:
        self.identifies += 1
        if data["token"] != self.state.token:
            raise Hangup(4004)
        if data["intents"] & ~_KNOWN_INTENTS:
            raise Hangup(4013)
        if data["intents"] & MESSAGE_CONTENT and not self.state.privileged:
            raise Hangup(4014)
        session = Session(f"session{self.state.new_id()}", data["intents"], socket=socket)
        self.sessions[session.id] = session
        guilds = list(self.state.guilds) if session.intents & GUILDS else []
        flags = 1 << 19 if self.state.privileged else 0
        await self._only(
            session,
            "READY",
            {
                "v": 10,
                "user": self.state.person(BOT),
                "guilds": [{"id": str(guild), "unavailable": True} for guild in guilds],
                "session_id": session.id,
                "resume_gateway_url": self.url,
                "application": {"id": str(BOT), "flags": flags},
            },
        )
        for guild in guilds:
            await self._only(session, "GUILD_CREATE", self.state.guild(guild))
        await self.state.notify()
        return session

    async def _resume(self, socket: web.WebSocketResponse, data: Json) -> Session | None:
        self.resumes += 1
        session = self.sessions.get(data["session_id"])
        if data["token"] != self.state.token:
            raise Hangup(4004)
        if session is None:
            await _send(socket, {"op": _INVALID, "d": False})
            return None
        if data["seq"] > len(session.events):
            raise Hangup(4007)
        session.socket = socket
        for event in session.events[data["seq"] :]:
            await self._send(socket, event)
        await self._only(session, "RESUMED", {})
        await self.state.notify()
        return session

    async def _only(self, session: Session, kind: str, body: Json) -> None:
        event = {"op": _DISPATCH, "t": kind, "s": len(session.events) + 1, "d": body}
        session.events.append(event)
        if session.socket is not None:
            await self._send(session.socket, event)

    async def _send(self, socket: web.WebSocketResponse, frame: Json) -> None:
        """Send an event as ``alterations`` leave it; its number in the session always stays."""
        name = str(frame.get("t") or f"op {frame['op']}")
        altered = self.alterations.apply(name, frame.get("d"))
        await _send(socket, frame | {"d": altered})

    def _ended(self, session: Session | None, socket: web.WebSocketResponse) -> None:
        code = socket.close_code or WSCloseCode.ABNORMAL_CLOSURE
        self.closes.append(int(code))
        if session is None or session.socket is not socket:
            return
        session.socket = None
        # The client's own 1000 or 1001 ends the session; any other code leaves it to be resumed.
        if code in _ENDING_CLOSES and socket not in self._hung_up:
            self.sessions.pop(session.id, None)


def _seen(kind: str, body: Json, intents: int) -> Json:
    mine = any(person["id"] == str(BOT) for person in body.get("mentions", []))
    open_to_all = "guild_id" not in body or intents & MESSAGE_CONTENT or mine
    if kind != "MESSAGE_CREATE" or open_to_all:
        return body
    hidden: dict[str, Any] = {"content": "", "embeds": [], "attachments": [], "components": []}
    return {**body, **hidden}


def _frame(message: WSMessage) -> Json:
    if message.type is not WSMsgType.TEXT:
        raise Hangup(4002)
    frame: Json = json.loads(message.data)
    return frame


async def _send(socket: web.WebSocketResponse, frame: Json) -> None:
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):
        await socket.send_str(json.dumps(frame))
