"""Stream a session's events and a run's output as server-sent events (HTML Standard, 9.2).

A client whose token ends receives nothing more, not even how a run that it watches ends.
"""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from starlette.types import Send

from bot.api.access.authentication import Recent
from bot.api.rest.call import Call
from bot.api.rest.live_output import Live
from bot.api.rest.route import Style
from bot.api.rest.wakeups import ApiWakeups, Woken
from bot.intake.registry.method import bound, invoke
from bot.intake.registry.params import EventsParams, read
from core.errors import SaysoError
from core.gate.gate import Gate
from core.model.identity import ApprovalId
from core.model.result import OutputChunk, StreamName
from core.settings.http import HttpSection
from core.store.people import tokens

_log = logging.getLogger(__name__)
TYPE = "text/event-stream"
_PULSE_S = 15.0
_PAGE = 100
_OPEN = frozenset({"pending", "running"})
_RETRY = b"retry: 1000\n\n"
_PULSE = b": still here\n\n"


@dataclass(slots=True)
class Streams:
    """Serve one stream until it ends, the client leaves, or its time is over."""

    gate: Gate
    section: HttpSection
    wakes: ApiWakeups
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock of the stream."""
        self._until = time.monotonic() + self.section.limits.longest_stream

    async def serve(self, call: Call, send: Send) -> None:
        """Serve a call.

        Raises:
            SaysoError: the method refuses; nothing has been sent yet.
        """
        is_events = call.route.style is Style.EVENT_STREAM
        frames = self._events(call) if is_events else self._output(call)
        first = await anext(frames)
        recent = Recent(call.login)
        headers = [(b"content-type", f"{TYPE}; charset=utf-8".encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            await send(_piece(_RETRY + first))
            async for each in frames:
                await recent.caller()
                await send(_piece(each))
        except SaysoError as error:
            # The token ended, or the store fails: the stream ends, and resuming it reports why.
            _log.info("a stream ended early: %s", error)
        finally:
            await frames.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(self, call: Call) -> AsyncGenerator[bytes]:
        """Yield the session's events in order, from the number that the client saw last."""
        params = bound(read(EventsParams, call.params), call.caller)
        seq = call.after if call.after is not None else params.seq
        async with self.wakes.of(f"session:{params.session}", tokens.CHANGED) as woken:
            yield _PULSE
            while self._goes_on():
                # Checked again: a revoked token must not receive more.
                caller = await call.login.caller()
                raw = {**call.params, "seq": seq, "limit": _PAGE}
                answer = await invoke(call.method, raw, caller)
                found = answer["events"] if isinstance(answer, dict) else []
                for event in found:
                    seq = event["seq"]
                    yield frame(event["kind"], event, seq)
                if len(found) < _PAGE and not await woken(self._patience()):
                    yield _PULSE

    async def _output(self, call: Call) -> AsyncGenerator[bytes]:
        """Yield what a run prints from its start, and then how it ended."""
        run_id = ApprovalId(str(call.params["id"]))
        state = await call.invoke(timeoutMs=0)
        yield _PULSE
        live = Live(call.caller)
        about = (f"run:{run_id}", f"approval:{run_id}", tokens.CHANGED)
        watched = False
        async with self.wakes.of(*about) as woken:
            while self._goes_on() and _status(state) in _OPEN:
                heard = False
                async with aclosing(self._printed(run_id, woken, watched=watched)) as printed:
                    async for chunk in printed:
                        heard, watched = True, watched or chunk is not None
                        for each in await self._shown(call, live, chunk):
                            yield each
                if not heard and not await woken(self._patience()):
                    yield _PULSE
                state = await self._state(call)
        for data in live.rest() if watched else _stored(state):
            yield frame("output", data)
        if _status(state) not in _OPEN:
            # A slow reader may have lost the right to see it in the meantime.
            await call.login.caller()
            yield frame("end", state)

    async def _printed(
        self, run_id: ApprovalId, woken: Woken, *, watched: bool
    ) -> AsyncGenerator[OutputChunk | None]:
        """Yield what a run prints, ``None`` when something else happened; nothing if ``watched``.

        A run that prints nothing must not keep its reader from a token's end, or from ours.
        """
        if watched:
            return
        chunks = self.gate.watch(run_id)
        piece = _next(chunks)
        word = asyncio.ensure_future(woken(self._patience()))
        try:
            while self._goes_on():
                await asyncio.wait((piece, word), return_when=asyncio.FIRST_COMPLETED)
                if word.done():
                    yield None
                    word = asyncio.ensure_future(woken(self._patience()))
                if piece.done():
                    chunk = piece.result()
                    if chunk is None:
                        return
                    yield chunk
                    piece = _next(chunks)
        finally:
            piece.cancel()
            word.cancel()
            await asyncio.gather(piece, word, return_exceptions=True)

    async def _shown(self, call: Call, live: Live, chunk: OutputChunk | None) -> list[bytes]:
        """Return what is sent of a piece; if there is none, check that the token is valid."""
        if chunk is not None:
            return [frame("output", data) for data in live.frames(chunk)]
        await call.login.caller()
        return [_PULSE]

    async def _state(self, call: Call) -> object:
        """Return the status of the run, as far as the token may know it now."""
        call.caller = await call.login.caller()
        return await call.invoke(timeoutMs=0)

    def _goes_on(self) -> bool:
        return not self.wakes.stopping.is_set() and time.monotonic() < self._until

    def _patience(self) -> float:
        return max(0.0, min(_PULSE_S, self._until - time.monotonic()))


def frame(kind: str, data: object, number: int | None = None) -> bytes:
    """Return one server-sent event; its data is one line of ASCII."""
    head = "" if number is None else f"id: {number}\n"
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return f"{head}event: {kind}\ndata: {text}\n\n".encode("ascii")


def _next(chunks: AsyncIterator[OutputChunk]) -> asyncio.Future[OutputChunk | None]:
    async def found() -> OutputChunk | None:
        return await anext(chunks, None)

    return asyncio.ensure_future(found())


def _piece(text: bytes) -> dict[str, object]:
    return {"type": "http.response.body", "body": text, "more_body": True}


def _stored(state: object) -> list[dict[str, object]]:
    """Return the output of a run that ended before anybody could watch it here."""
    text = state.get("output") if isinstance(state, dict) else None
    return [{"stream": StreamName.OUTPUT.value, "text": text}] if text else []


def _status(state: object) -> object:
    return state.get("status") if isinstance(state, dict) else None
