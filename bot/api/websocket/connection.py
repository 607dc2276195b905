"""Speak JSON-RPC 2.0 on ``/ws``: one message per frame, the same methods as on gateway.sock."""

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from starlette.types import Receive, Scope, Send

from bot.api.access.access_log import ROUTE
from bot.api.access.authentication import PROTOCOL, Login, Recent, token_end
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.metrics import Meters
from bot.api.http.rate_limits import Buckets, Places
from bot.api.websocket.subscriptions import Subscriptions
from bot.intake.callers.caller import Caller
from bot.intake.registry.method import AnyMethod, Table, invoke
from core.errors import SaysoError, Unauthenticated
from core.ipc.errors import Code, FrameError, Id
from core.ipc.frames import Call, error_frame, notification_frame, read_frame, result_frame
from core.ipc.jsonrpc import CANCEL, refusal_frame
from core.settings.http import HttpSection
from core.store import Store

_log = logging.getLogger(__name__)
SUBSCRIBE = "events.subscribe"
PATH = "/ws"
_IN_FLIGHT = 64
_NOT_TEXT, _OVERLOADED, _LOGGED_OUT = 1003, 1013, 4401


@dataclass(slots=True)
class FrameWriter:
    """The outgoing side; it sends nothing once the peer is gone or was disconnected."""

    send: Send
    closed: bool = False

    async def write(self, frame: bytes) -> None:
        """Send one frame."""
        await self._send({"type": "websocket.send", "text": frame.decode().rstrip("\n")})

    async def close(self, code: int, reason: str) -> None:
        """Send the reason, and close it."""
        await self._send({"type": "websocket.close", "code": code, "reason": reason})
        self.closed = True

    async def _send(self, message: dict[str, object]) -> None:
        if self.closed:
            return
        try:
            await self.send(message)
        except (OSError, RuntimeError):  # uvicorn: gone, or its own close was sent already
            self.closed = True


@dataclass(frozen=True, slots=True)
class WebSockets:
    """Open WebSockets for the callers of a table."""

    table: Table
    store: Store
    section: HttpSection
    meters: Meters
    places: Places
    tokens: Buckets
    _open: set["Conversation"] = field(default_factory=set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until it ends.

        Raises:
            Fault: it is not opened.
        """
        scope["state"][ROUTE] = PATH
        if scope["type"] != "websocket":
            raise Fault(FaultCode.BAD_REQUEST, "This endpoint accepts WebSocket connections only.")
        if scope["query_string"]:
            raise Fault(FaultCode.BAD_REQUEST, "This address takes no parameters.")
        with self.places.place(scope["state"]["caller"].token):
            self.meters.socket(1)
            try:
                await self._serve(scope, receive, send)
            finally:
                self.meters.socket(-1)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        # A browser needs one of its offers accepted; the token itself is never echoed.
        chosen = PROTOCOL if PROTOCOL in scope["subprotocols"] else None
        await send({"type": "websocket.accept", "subprotocol": chosen, "headers": []})
        login: Login = scope["state"]["login"]
        conversation = Conversation(self, login, FrameWriter(send))
        self._open.add(conversation)
        try:
            await conversation.hold(receive)
        finally:
            self._open.discard(conversation)

    async def settle(self, seconds: float) -> None:
        """Wait until every answer under way is written, at most this long."""
        answers = [answer for one in self._open for answer in one.answers]
        if answers:
            await asyncio.wait(answers, timeout=seconds)


@dataclass(slots=True, eq=False)
class Conversation:
    """One WebSocket: concurrent requests, answers as they are ready, events if subscribed to."""

    home: WebSockets
    login: Login
    writer: FrameWriter
    answers: set[asyncio.Task[None]] = field(default_factory=set)
    _calls: dict[Id, asyncio.Task[None]] = field(default_factory=dict)
    _pump: asyncio.Task[None] | None = None
    _subscriptions: Subscriptions = field(init=False)
    _recent: Recent = field(init=False)

    def __post_init__(self) -> None:
        """Prepare to push."""
        home = self.home
        self._recent = Recent(self.login)
        self._subscriptions = Subscriptions(home.store, home.table, self.caller, self._notify)

    async def hold(self, receive: Receive) -> None:
        """Read frames until the client leaves or its token ends; cancel what is in flight."""
        ending = asyncio.ensure_future(self._end())
        try:
            while not self.writer.closed:
                message = await receive()
                if message["type"] == "websocket.disconnect":
                    break
                if message.get("text") is None:
                    await self.writer.close(_NOT_TEXT, "only text frames are accepted")
                    break
                await self._take(message["text"])
        finally:
            await self._abandon(ending)

    async def caller(self) -> Caller:
        """Return the caller at the other end, by the token's current state.

        Raises:
            Unauthenticated: it has expired or was revoked.
        """
        return replace(await self.login.caller(), notify=self._notify)

    async def _take(self, text: str) -> None:
        try:
            caller = await self.caller()
        except Unauthenticated as error:
            await self._log_out(None, error)
            return
        wait_s = self.home.tokens.take(caller.token, time.monotonic())
        try:
            call = read_frame(text.encode())
            self._start(call, caller, wait_s)
            # The task takes its first step now: one that is cancelled before it never answers.
            await asyncio.sleep(0)
        except FrameError as error:
            await self.writer.write(error_frame(error.id, error.code, str(error)))
        await asyncio.sleep(wait_s)  # nothing more is read in the meantime

    def _start(self, call: Call, caller: Caller, wait_s: float) -> None:
        if wait_s or len(self._calls) >= _IN_FLIGHT:
            raise FrameError(Code.BUSY, "too many requests; slow down", call.id)
        if call.method == CANCEL:
            self._cancel(call)
            return
        if call.id is None:
            raise FrameError(Code.INVALID_REQUEST, "a request needs an id")
        if call.id in self._calls:
            raise FrameError(
                Code.INVALID_REQUEST, "a request with this id is already in progress", call.id
            )
        method = self.home.table.get(call.method)
        if method is None and call.method != SUBSCRIBE:
            raise FrameError(Code.METHOD_NOT_FOUND, f"there is no method {call.method!a}", call.id)
        task = asyncio.ensure_future(self._answer(call.id, method, call.params, caller))
        self._calls[call.id] = task
        self.answers.add(task)
        task.add_done_callback(self.answers.discard)

    def _cancel(self, call: Call) -> None:
        target = call.params.get("id")
        task = self._calls.get(target) if isinstance(target, int | str) else None
        if task is not None:
            task.cancel()

    async def _answer(
        self, frame_id: Id, method: AnyMethod | None, raw: Mapping[str, object], caller: Caller
    ) -> None:
        try:
            frame = await self._outcome(frame_id, method, raw, caller)
        finally:
            del self._calls[frame_id]
        try:
            # It may have waited for hours: only a token that is still valid gets the answer.
            await self.login.caller()
        except Unauthenticated as error:
            await self._log_out(frame_id, error)
            return
        except SaysoError as error:
            frame = refusal_frame(frame_id, error)
        await self.writer.write(frame)

    async def _outcome(
        self, frame_id: Id, method: AnyMethod | None, raw: Mapping[str, object], caller: Caller
    ) -> bytes:
        try:
            if method is None:
                return result_frame(frame_id, self._subscribe(raw, caller))
            return result_frame(frame_id, await invoke(method, raw, caller))
        except asyncio.CancelledError:
            return error_frame(frame_id, Code.CANCELLED, "cancelled")
        except SaysoError as error:
            return refusal_frame(frame_id, error)
        except Exception:  # noqa: BLE001 - a handler's bug must be answered, and logged
            # The text of other exceptions may hold a secret or a path: it goes only to the log.
            _log.exception("a request on a WebSocket failed")
            words = "internal error, see the gateway's log"
            return error_frame(frame_id, Code.INTERNAL_ERROR, words)

    def _subscribe(self, raw: Mapping[str, object], caller: Caller) -> dict[str, object]:
        answer = self._subscriptions.subscribe(raw, caller)
        if self._pump is None:
            self._pump = asyncio.ensure_future(self._push())
        return answer

    async def _push(self) -> None:
        try:
            await self._subscriptions.pump()
            await self.writer.close(_OVERLOADED, "drain the events, then reconnect")
        except Unauthenticated as error:
            await self._log_out(None, error)
        except SaysoError as error:
            _log.warning("events are no longer pushed: %s", error)
            await self.writer.close(_OVERLOADED, "events cannot be read now")

    async def _notify(self, method: str, params: Mapping[str, object], /) -> None:
        try:
            await self._recent.caller()
        except Unauthenticated as error:
            await self._log_out(None, error)
            return
        await self.writer.write(notification_frame(method, params))

    async def _end(self) -> None:
        await self._log_out(None, await token_end(self.home.store, self.login))

    async def _log_out(self, frame_id: Id | None, error: Unauthenticated) -> None:
        await self.writer.write(refusal_frame(frame_id, error))
        await self.writer.close(_LOGGED_OUT, "the token is no longer valid")

    async def _abandon(self, ending: asyncio.Task[None]) -> None:
        self.writer.closed = True
        tasks = [ending, *self._calls.values()]
        if self._pump is not None:
            tasks.append(self._pump)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
