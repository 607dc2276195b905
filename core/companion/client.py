"""Ask a companion, from a gateway or a node: is it there, show this, it has ended.

The kernel says who listens; the companion proves the token in each of its frames. What is asked is
signed over the nonce of the connection, so nothing that was overheard can be sent again.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from core.companion import frames
from core.companion.frames import MAX_RESULT, Question, RunOrder
from core.companion.signing import Purpose, is_signed, sign, sign_request, sign_result
from core.errors import SaysoError
from core.ipc.peer import Peer, peer_of
from core.model.approval import ApprovalReply

REPLY_S = 2.0
"""Seconds that a companion has to take a connection and to open a dialog."""


class NoCompanion(SaysoError):
    """No companion answers. Start one with `sayso companion`."""


class CompanionRefused(NoCompanion):
    """The companion took nothing of what it was asked. The message says why."""


@dataclass(frozen=True, slots=True)
class CompanionAddress:
    """Where a companion listens, the token of exec-approvals.json, and whose it must be."""

    path: Path
    token: str = field(repr=False)
    uid: int = field(default_factory=os.getuid)


@dataclass(slots=True)
class Asked:
    """A dialog that is open at a companion; made by ``ask``."""

    question: Question
    peer: Peer
    _token: str = field(repr=False)
    _nonce: str
    _reader: asyncio.StreamReader = field(repr=False)
    _writer: asyncio.StreamWriter = field(repr=False)

    async def answers(self) -> AsyncIterator[ApprovalReply]:
        """Yield what the person presses, each signed for this plan, until the companion is gone.

        Raises:
            NoCompanion: it said something that is not of the protocol.
        """
        asked = self.question
        try:
            while line := await _line(self._reader):
                said = _understood(line)
                if not isinstance(said, frames.AnswerFrame) or said.id != asked.id:
                    raise NoCompanion("The companion sent a frame that answers nothing.")
                yield self._checked(said)
        finally:
            self._writer.close()

    def _checked(self, said: frames.AnswerFrame) -> ApprovalReply:
        asked, reply = self.question, said.decision
        signed = sign(self._token, Purpose.ANSWER, self._nonce, asked.id, asked.digest, reply)
        if not is_signed(said.hmac, signed) or reply not in asked.answers:
            raise NoCompanion("The companion sent an answer that it did not sign.")
        return reply

    async def reply(self, words: str, *, accepted: bool) -> None:
        """Tell the person what became of an answer; a companion that is gone is no error here."""
        await self._send(frames.ReplyFrame(id=self.question.id, accepted=accepted, words=words))

    async def end(self, words: str) -> None:
        """Close the dialog, and the connection; a companion that is gone is not an error here."""
        await self._send(frames.Ended(id=self.question.id, words=words))
        self._writer.close()

    async def _send(self, frame: frames.ReplyFrame | frames.Ended) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(REPLY_S):
                self._writer.write(frames.line_of(frame))
                await self._writer.drain()


async def probe(address: CompanionAddress, within_s: float = REPLY_S) -> Peer:
    """Return the process that listens, once it has proved that it knows the token.

    Raises:
        NoCompanion: nobody answers in time, or somebody else does.
    """
    async with _deadline(within_s):
        link = await _connect(address)
        try:
            said = await _request(link, address, frames.text_of(frames.Hello()))
            expected = sign(address.token, Purpose.READY, link.nonce)
            if not isinstance(said, frames.Ready) or not is_signed(said.hmac, expected):
                raise _refusal(said)
            return link.peer
        finally:
            link.writer.close()


async def ask(address: CompanionAddress, question: Question, within_s: float = REPLY_S) -> Asked:
    """Show a question and return it once the dialog is open.

    Raises:
        NoCompanion: nobody shows it; the message says why.
        BadRequest: it is too long to be shown.
    """
    link = await _taken(address, question, frames.Shown, Purpose.SHOWN, within_s)
    return Asked(question, link.peer, address.token, link.nonce, link.reader, link.writer)


@dataclass(slots=True)
class Ordered:
    """A run that a companion has noted; made by ``order_run``."""

    order: RunOrder
    peer: Peer
    _token: str = field(repr=False)
    _link: "_Link" = field(repr=False)

    async def ending(self) -> frames.Ran | frames.NotRun:
        """Wait for the end of the run.

        Raises:
            NoCompanion: it is gone, or says something else; how the run ended is unknown.
        """
        order = self.order
        try:
            said = _understood(await _said(self._link.reader))
            if not isinstance(said, frames.Result):
                raise NoCompanion("The companion sent a frame that ends no run.")
            nonce, text = self._link.nonce, said.result_json
            if not is_signed(
                said.hmac, sign_result(self._token, nonce, order.id, order.digest, text)
            ):
                raise NoCompanion("The companion sent a result that it did not sign.")
            return frames.read_outcome(text)
        except frames.CannotRead as error:
            raise NoCompanion(f"The companion sent what is not a result: {error}") from None
        finally:
            self._link.writer.close()

    async def cancel(self) -> None:
        """Have the run ended; a companion that is gone has ended it."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(REPLY_S):
                self._link.writer.write(frames.line_of(frames.Cancel(id=self.order.id)))
                await self._link.writer.drain()


async def order_run(address: CompanionAddress, order: RunOrder, within_s: float) -> Ordered:
    """Order a run and return it once the companion has noted it.

    Raises:
        NoCompanion: it refused, or nobody answers; only a refusal says that nothing runs.
        BadRequest: the order is too long to be sent.
    """
    link = await _taken(address, order, frames.Taken, Purpose.TAKEN, within_s)
    return Ordered(order, link.peer, address.token, link)


@dataclass(frozen=True, slots=True)
class _Link:
    nonce: str
    peer: Peer
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def _taken(
    address: CompanionAddress,
    asked: Question | RunOrder,
    answer: type[frames.Shown | frames.Taken],
    purpose: Purpose,
    within_s: float,
) -> _Link:
    """Send what is asked; return the link once the companion has signed that it has it."""
    async with _deadline(within_s):
        link = await _connect(address)
        try:
            said = await _request(link, address, frames.text_of(asked))
        except BaseException:
            link.writer.close()
            raise
    expected = sign(address.token, purpose, link.nonce, asked.id, asked.digest)
    if not isinstance(said, answer) or not is_signed(said.hmac, expected):
        link.writer.close()
        raise _refusal(said)
    return link


@contextlib.asynccontextmanager
async def _deadline(within_s: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(within_s):
            yield
    except TimeoutError:
        raise NoCompanion(f"The companion does not answer within {within_s:g} s.") from None


async def _connect(address: CompanionAddress) -> _Link:
    try:
        reader, writer = await asyncio.open_unix_connection(address.path, limit=MAX_RESULT)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise NoCompanion(f"No companion listens on {address.path} ({why}).") from None
    try:
        peer = _known(peer_of(writer.get_extra_info("socket")), address)
        nonce = frames.read_challenge(await _said(reader)).nonce
    except BaseException as error:
        writer.close()
        if isinstance(error, frames.CannotRead):
            words = f"{address.path} speaks another protocol: {error}"
            raise NoCompanion(words) from None
        raise
    return _Link(nonce, peer, reader, writer)


def _known(peer: Peer, address: CompanionAddress) -> Peer:
    if peer.uid != address.uid:
        raise NoCompanion(f"{address.path} belongs to a process of uid {peer.uid}.")
    return peer


async def _request(link: _Link, address: CompanionAddress, text: str) -> frames.FromServer:
    ts = time.time_ns() // 1_000_000
    signed = sign_request(address.token, link.nonce, ts, text)
    frame = frames.Request(nonce=link.nonce, ts=ts, hmac=signed, request_json=text)
    link.writer.write(frames.line_of(frame))
    return _understood(await _said(link.reader))


async def _said(reader: asyncio.StreamReader) -> bytes:
    line = await _line(reader)
    if not line:
        raise NoCompanion("The companion closed the connection.")
    return line


def _understood(line: bytes) -> frames.FromServer:
    try:
        return frames.read_from_server(line)
    except frames.CannotRead as error:
        raise NoCompanion(f"The companion sent what is not a frame: {error}") from None


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line; nothing where the companion is gone.

    Raises:
        NoCompanion: the line is too long, or its end is missing.
    """
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise NoCompanion("The companion closed the connection within a frame.") from None
        return b""
    except (asyncio.LimitOverrunError, OSError) as error:
        raise NoCompanion(f"The connection to the companion failed ({error}).") from None


def _refusal(said: frames.FromServer) -> NoCompanion:
    if isinstance(said, frames.Refused):
        return CompanionRefused(f"The companion refused: {said.reason} ({said.words}).")
    return NoCompanion(
        "The process that listens there does not know the token of exec-approvals.json."
    )
