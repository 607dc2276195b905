"""Serve exec-approvals.sock: authenticate the client, show the dialog, send the answer back.

Order of the checks: same user, rate, one line in time and in size, the nonce of this connection,
clock, signature; only then is what is asked read at all. A connection carries one request.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from core.companion import frames
from core.companion.frames import MAX_FRAME, TTL_MS, Question, Refusal, RunOrder
from core.companion.limits import MOST_OPEN, MOST_WAITING, RateLimit
from core.companion.signing import Purpose, is_signed, sign, sign_request, sign_result
from core.errors import BadRequest, StateError
from core.ipc.peer import Peer, peer_of
from core.ipc.socket_file import bound, check_path, locked
from core.model.approval import ApprovalReply

_log = logging.getLogger(__name__)
_OWNER = "A companion"
_LINGER_S = 0.5


class CommandRunner(Protocol):
    """What runs commands for those who asked through the socket."""

    def take(self, order: RunOrder, peer: Peer) -> str:
        """Note a run durably before it starts; return why it is not taken, ``""`` if it is.

        Raises:
            StateError: it cannot be noted, so nothing may run.
        """

    async def run(self, order: RunOrder) -> frames.Ran | frames.NotRun:
        """Run what was taken, to its end."""

    async def cancel(self, order: RunOrder) -> None:
        """End a run."""

    def delivered(self, order: RunOrder) -> None:
        """Note that the result of a run was sent."""


class DialogDisplay(Protocol):
    """What shows dialogs: the screen of a companion."""

    def show(self, dialog: "Dialog") -> None:
        """Open a dialog; its ``answer`` may be called at any time until it is closed."""

    def replied(self, question_id: str, words: str, *, accepted: bool) -> None:
        """Show what became of an answer; one that was not accepted leaves the dialog open."""

    def closed(self, question_id: str, words: str) -> None:
        """Close a dialog and say why."""


@dataclass(slots=True)
class Dialog:
    """An open question and the way back to the client."""

    question: Question
    peer: Peer
    _token: str = field(repr=False)
    _nonce: str
    _writer: asyncio.StreamWriter = field(repr=False)

    @property
    def shown(self) -> frames.Shown:
        """Return the frame that says that the dialog is open."""
        asked = self.question
        signed = sign(self._token, Purpose.SHOWN, self._nonce, asked.id, asked.digest)
        return frames.Shown(id=asked.id, hmac=signed)

    def answer(self, reply: ApprovalReply) -> None:
        """Send what the person pressed; what is not among the answers is not sent.

        Raises:
            ValueError: the question does not offer this answer.
        """
        asked = self.question
        if reply not in asked.answers:
            raise ValueError(f"{reply} is not offered")
        signed = sign(self._token, Purpose.ANSWER, self._nonce, asked.id, asked.digest, reply)
        if not self._writer.is_closing():
            self._writer.write(
                frames.line_of(frames.AnswerFrame(id=asked.id, decision=reply, hmac=signed))
            )


class _RefusedError(Exception):
    def __init__(self, reason: Refusal, words: str) -> None:
        super().__init__(words)
        self.reason = reason
        self.words = words


@dataclass(slots=True)
class CompanionServer:
    """A listening companion; made by ``serve``. ``uid`` is the only user that is served."""

    path: Path
    token: str = field(repr=False)
    dialogs: DialogDisplay
    uid: int = field(default_factory=os.getuid)
    rate: RateLimit = field(default_factory=RateLimit)
    ttl_ms: int = TTL_MS
    works: CommandRunner | None = None
    _waiting: dict[asyncio.StreamWriter, None] = field(default_factory=dict)
    _open: dict[str, Dialog] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _listener: asyncio.Server | None = None
    _lock: int = -1
    _inode: int = 0

    async def start(self) -> None:
        """Bind and listen; ``serve`` calls this.

        Raises:
            StateError: the path cannot be used, or another companion owns it.
        """
        check_path(self.path)
        self._lock = locked(self.path, _OWNER)
        try:
            made = bound(self.path, 0o600, _OWNER)
            self._inode = self.path.stat().st_ino
            self._listener = await asyncio.start_unix_server(
                self._accept, sock=made, limit=MAX_FRAME
            )
        except OSError as error:
            self._unlock()
            raise StateError(f"{self.path} cannot be created: {error.strerror}.") from error
        except BaseException:
            self._unlock()
            raise

    async def close(self) -> None:
        """Stop listening and end every connection; whoever asked continues without it."""
        if self._listener is not None:
            self._listener.close()
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - asyncio runs a coroutine callback as a task
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (asyncio.CancelledError, OSError):
            return
        except Exception:  # noqa: BLE001 - one connection's bug must not end the others
            _log.exception("a connection of the companion failed")
        finally:
            self._tasks.discard(task)
            self._waiting.pop(writer, None)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = peer_of(writer.get_extra_info("socket"))
        if peer.uid != self.uid:
            _log.warning("uid %d may not use %s", peer.uid, self.path)
            return
        try:
            self._hold_back(peer)
            nonce, asked = await self._authenticated(reader, writer)
            if isinstance(asked, frames.Hello):
                signed = sign(self.token, Purpose.READY, nonce)
                writer.write(frames.line_of(frames.Ready(hmac=signed)))
                await writer.drain()
                return
            works = await self._taken(asked, peer) if isinstance(asked, RunOrder) else None
            if isinstance(asked, Question):
                self._admit(asked)
        except _RefusedError as refused:
            _log.warning("refused pid %d: %s (%s)", peer.pid, refused.reason, refused.words)
            await _refuse(reader, writer, refused)
            return
        if isinstance(asked, Question):
            await self._show(Dialog(asked, peer, self.token, nonce, writer), reader, writer)
        elif works is not None:
            await self._run(works, asked, nonce, reader, writer)

    async def _taken(self, order: RunOrder, peer: Peer) -> CommandRunner:
        """Note a run before it starts; nothing that is refused here has run or will."""
        if self.works is None:
            raise _RefusedError(Refusal.NO_RUNS, "this companion shows and answers only")
        try:
            why = await asyncio.to_thread(self.works.take, order, peer)
        except StateError as error:
            why = str(error)
        if why:
            raise _RefusedError(Refusal.NO_RUNS, why[:2_000])
        return self.works

    async def _run(
        self,
        works: CommandRunner,
        order: RunOrder,
        nonce: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Run to the end and send the result; a client that goes away meanwhile ends it."""
        signed = sign(self.token, Purpose.TAKEN, nonce, order.id, order.digest)
        writer.write(frames.line_of(frames.Taken(id=order.id, hmac=signed)))
        watching = asyncio.ensure_future(self._until_cancelled(works, order, reader))
        try:
            text = frames.text_of(await works.run(order))
        finally:
            watching.cancel()
        signed = sign_result(self.token, nonce, order.id, order.digest, text)
        result = frames.Result(id=order.id, result_json=text, hmac=signed)
        writer.write(frames.line_of(result))
        await writer.drain()
        works.delivered(order)

    async def _until_cancelled(
        self, works: CommandRunner, order: RunOrder, reader: asyncio.StreamReader
    ) -> None:
        """End a run when its gateway says so, says something else, or is gone."""
        with contextlib.suppress(
            OSError, asyncio.LimitOverrunError, asyncio.IncompleteReadError, BadRequest
        ):
            frames.read_cancel(await reader.readuntil(b"\n"))
        await works.cancel(order)

    def _hold_back(self, peer: Peer) -> None:
        if not self.rate.take(peer.pid):
            raise _RefusedError(Refusal.RATE_LIMITED, "too many connections; wait a second")

    async def _authenticated(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, frames.Asked]:
        """Send a challenge and return its nonce, and what was asked in answer to it."""
        self._make_room(writer)
        nonce = secrets.token_hex(16)
        writer.write(frames.line_of(frames.Challenge(nonce=nonce, ts=_now_ms())))
        try:
            async with asyncio.timeout(self.ttl_ms / 1000):
                line = await reader.readuntil(b"\n")
        except TimeoutError:
            raise _RefusedError(Refusal.TIMED_OUT, "no request came in time") from None
        except asyncio.LimitOverrunError:
            raise _RefusedError(Refusal.TOO_LARGE, f"a frame has {MAX_FRAME} bytes") from None
        except asyncio.IncompleteReadError:
            raise _RefusedError(Refusal.BAD_FRAME, "the frame has no end") from None
        try:
            request = frames.read_request(line)
            self._check(request, nonce)
            asked = frames.read_asked(request.request_json)
        except frames.CannotRead as error:
            raise _RefusedError(Refusal.BAD_FRAME, str(error)[:200]) from None
        self._waiting.pop(writer, None)
        return nonce, asked

    def _check(self, request: frames.Request, nonce: str) -> None:
        if request.nonce != nonce:
            raise _RefusedError(Refusal.STALE, "the nonce is not this connection's")
        if abs(request.ts - _now_ms()) > self.ttl_ms:
            raise _RefusedError(Refusal.STALE, "the clocks differ, or the request is too old")
        expected = sign_request(self.token, nonce, request.ts, request.request_json)
        if not is_signed(request.hmac, expected):
            raise _RefusedError(Refusal.UNAUTHENTICATED, "the signature is not the token's")

    def _make_room(self, writer: asyncio.StreamWriter) -> None:
        """Drop the oldest that has not authenticated where too many wait."""
        self._waiting[writer] = None
        if len(self._waiting) > MOST_WAITING:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.transport.abort()

    def _admit(self, asked: Question) -> None:
        if asked.id in self._open:
            raise _RefusedError(Refusal.ALREADY_SHOWN, "this question is open")
        if len(self._open) >= MOST_OPEN:
            raise _RefusedError(Refusal.BUSY, "too many questions are open")

    async def _show(
        self, dialog: Dialog, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        asked = dialog.question
        self._open[asked.id] = dialog
        words = "The gateway is gone; nothing was decided here."
        try:
            writer.write(frames.line_of(dialog.shown))  # before an answer that comes at once
            self.dialogs.show(dialog)
            words = await self._follow(asked.id, reader)
        except (OSError, asyncio.LimitOverrunError, asyncio.IncompleteReadError, BadRequest):
            return
        finally:
            del self._open[asked.id]
            self.dialogs.closed(asked.id, words)

    async def _follow(self, question_id: str, reader: asyncio.StreamReader) -> str:
        """Pass on what the gateway says about a question until it has ended; return how."""
        while True:
            said = frames.read_from_client(await reader.readuntil(b"\n"))
            if said.id != question_id:
                raise frames.CannotRead("the frame is about another question")
            if isinstance(said, frames.Ended):
                return said.words
            self.dialogs.replied(said.id, said.words, accepted=said.accepted)


async def serve(
    path: Path, token: str, dialogs: DialogDisplay, works: CommandRunner | None = None
) -> CompanionServer:
    """Listen on ``path`` for processes of our own user that know the token.

    Without ``works`` it shows and answers, and runs nothing.

    Raises:
        StateError: the path cannot be used, or another companion owns it.
    """
    server = CompanionServer(path, token, dialogs, works=works)
    await server.start()
    return server


async def _refuse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refused: _RefusedError
) -> None:
    """Send why, and read on for a moment: closed with bytes unread, the words would be lost."""
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(frames.line_of(frames.Refused(reason=refused.reason, words=refused.words)))
        writer.write_eof()
        async with asyncio.timeout(_LINGER_S):
            while await reader.read(1 << 16):
                pass


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
