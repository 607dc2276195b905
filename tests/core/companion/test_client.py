"""Check what a gateway takes for an answer: only what its user's companion signed, and fast."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.companion import frames
from core.companion.client import CompanionAddress, NoCompanion, ask, probe
from core.errors import BadRequest
from core.model.approval import ApprovalReply
from tests.core.companion.desks import TOKEN, RecordingDesk, companion, question
from tests.support.page_client import now_ms, sign
from tests.support.waiting import until

Serving = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
NONCE = "00" * 16


def asked(**changes: Any) -> frames.Question:
    """Return a question."""
    found = frames.read_asked(json.dumps(question(**changes)))
    assert isinstance(found, frames.Question)
    return found


async def test_somebody_is_there() -> None:
    """A probe returns the process that listens."""
    async with companion() as server:
        peer = await probe(CompanionAddress(server.path, TOKEN))

    assert (os.getpid(), os.getuid()) == (peer.pid, peer.uid)


async def test_nobody_is_there(tmp_path: Path) -> None:
    """Without a socket, the answer is there at once and says so."""
    took = []
    for _ in range(3):  # the machine may be paused once
        began = time.monotonic()
        with pytest.raises(NoCompanion, match=r"No companion listens on .*No such file"):
            await probe(CompanionAddress(tmp_path / "none.sock", TOKEN))
        took.append(time.monotonic() - began)
    assert min(took) < 1


async def test_a_dialogue_with_our_own_companion() -> None:
    """The dialog opens, the answer arrives, the reply and the end reach the person."""
    dialogs = RecordingDesk()
    async with companion(dialogs) as server:
        dialog = await ask(CompanionAddress(server.path, TOKEN), asked())
        answers = dialog.answers()
        dialogs.shown[0].answer(ApprovalReply.ALLOW_ONCE)
        assert ApprovalReply.ALLOW_ONCE == await anext(answers)
        await dialog.reply("You are no approver.", accepted=False)
        await until(lambda: dialogs.replies == [("You are no approver.", False)])
        dialogs.shown[0].answer(ApprovalReply.DENY)
        assert ApprovalReply.DENY == await anext(answers)
        await dialog.end("Denied")
        await until(lambda: dialogs.ended == ["Denied"])


async def test_an_answer_that_comes_at_once_is_taken() -> None:
    """A companion that answers at the moment of the question first says that it shows it."""
    async with companion(RecordingDesk(press=ApprovalReply.DENY)) as server:
        dialog = await ask(CompanionAddress(server.path, TOKEN), asked())
        assert ApprovalReply.DENY == await anext(dialog.answers())
        await dialog.end("Denied")


async def test_a_companion_that_dies_ends_the_answers() -> None:
    """If the companion is gone, there is no further answer, and no error."""
    async with companion() as server:
        dialog = await ask(CompanionAddress(server.path, TOKEN), asked())
        await server.close()
        assert [] == [one async for one in dialog.answers()]
        await dialog.reply("too late", accepted=True)
        await dialog.end("too late")


@pytest.mark.parametrize("what", ["token", "uid"])
async def test_who_else_listens_is_not_believed(what: str) -> None:
    """A listener with another token, or of another user, is not accepted; the right one is."""
    async with companion() as server:
        right = CompanionAddress(server.path, TOKEN)
        wrong = {
            "token": CompanionAddress(server.path, "other"),
            "uid": CompanionAddress(server.path, TOKEN, os.getuid() + 1),
        }[what]
        with pytest.raises(NoCompanion):
            await probe(wrong)
        with pytest.raises(NoCompanion):
            await ask(wrong, asked())
        assert await probe(right)


async def test_what_is_too_long_is_not_sent() -> None:
    """A question that does not fit a frame is refused here, with its length."""
    async with companion() as server:
        with pytest.raises(BadRequest, match="is longer than 256,000"):
            await ask(CompanionAddress(server.path, TOKEN), asked(command="a" * 256_000))


@asynccontextmanager
async def impostor(path: Path, *lines: bytes, hold: bool = False) -> AsyncIterator[None]:
    """Listen, send a challenge and these lines; then hold the connection or close it."""
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        challenge = frames.Challenge(nonce=NONCE, ts=now_ms())
        writer.write(frames.line_of(challenge) if lines else b"")
        if lines:
            await reader.readline()
        writer.write(b"".join(lines))
        if hold:
            await done.wait()
        writer.close()

    server = await asyncio.start_unix_server(serve, path)
    try:
        yield
    finally:
        done.set()
        server.close()
        await server.wait_closed()


def _frame(**keys: object) -> bytes:
    return json.dumps(keys).encode() + b"\n"


_SHOWN = sign(TOKEN, "shown", NONCE, question()["id"], question()["digest"])
_OTHER_PLAN = sign(TOKEN, "shown", NONCE, question()["id"], "0" * 64)
IMPOSTORS: dict[str, tuple[bytes, ...]] = {
    "silence": (),
    "nonsense": (b"hello\n",),
    "a wrong signature": (_frame(type="shown", id=question()["id"], hmac="0" * 64),),
    "another plan's": (_frame(type="shown", id=question()["id"], hmac=_OTHER_PLAN),),
    "another type": (_frame(type="ready", hmac=sign(TOKEN, "ready", NONCE)),),
    "an answer at once": (
        _frame(type="answer", id=question()["id"], decision="allow-once", hmac=_SHOWN),
    ),
    "too much": (b"a" * 600_000,),
    "a refusal": (_frame(type="refused", reason="busy", words="no"),),
}


@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize("kind", IMPOSTORS)
async def test_an_impostor_is_no_companion(kind: str, tmp_path: Path, *, hold: bool) -> None:
    """Whatever it says or does not say: no companion is there, and that is known soon."""
    address = CompanionAddress(tmp_path / "s", TOKEN)
    async with impostor(tmp_path / "s", *IMPOSTORS[kind], hold=hold):
        with pytest.raises(NoCompanion):
            await ask(address, asked(), 0.5)


async def test_a_server_of_another_protocol_is_named(tmp_path: Path) -> None:
    """Its path and what it said are in the text; the requester gets no traceback."""
    path = tmp_path / "s"

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\n")
        writer.close()

    async with await asyncio.start_unix_server(serve, path):
        with pytest.raises(NoCompanion, match=f"{path} speaks another protocol: "):
            await ask(CompanionAddress(path, TOKEN), asked(), 0.5)


@pytest.mark.parametrize("decision", ["allow-once", "allow-always", "deny"])
async def test_an_answer_that_is_not_signed_for_this_plan_is_none(
    decision: str, tmp_path: Path
) -> None:
    """An answer signed for another decision ends the dialogue; the right one is the control."""
    shown = _frame(type="shown", id=question()["id"], hmac=_SHOWN)
    parts = (NONCE, question()["id"], question()["digest"])
    right = sign(TOKEN, "answer", *parts, decision)
    wrong = sign(TOKEN, "answer", *parts, "deny" if decision != "deny" else "allow-once")
    address = CompanionAddress(tmp_path / "s", TOKEN)

    def answer(signature: str) -> bytes:
        return _frame(type="answer", id=question()["id"], decision=decision, hmac=signature)

    async with impostor(tmp_path / "s", shown, answer(right), answer(wrong), hold=True):
        dialog = await ask(address, asked())
        answers = dialog.answers()
        assert decision == await anext(answers)
        with pytest.raises(NoCompanion, match="did not sign"):
            await anext(answers)
        await dialog.end("over")


async def test_an_answer_that_was_not_offered_is_none(tmp_path: Path) -> None:
    """A companion that allows what may only be denied is not believed."""
    shown = _frame(type="shown", id=question()["id"], hmac=_SHOWN)
    parts = (NONCE, question()["id"], question()["digest"])
    signed = sign(TOKEN, "answer", *parts, "allow-once")
    said = _frame(type="answer", id=question()["id"], decision="allow-once", hmac=signed)
    async with impostor(tmp_path / "s", shown, said, hold=True):
        dialog = await ask(CompanionAddress(tmp_path / "s", TOKEN), asked(answers=["deny"]))
        with pytest.raises(NoCompanion, match="did not sign"):
            await anext(dialog.answers())
        await dialog.end("over")
