"""Hold a real dialogue with a companion, with a client written from the page alone."""

import asyncio
import os
import stat

import pytest

from core.companion.limits import MOST_OPEN, MOST_WAITING, RateLimit
from core.companion.server import serve
from core.errors import AnotherGateway
from core.ipc.peer import peer_of
from core.model.approval import ApprovalReply
from tests.core.companion.desks import TOKEN, RecordingDesk, companion, name, question
from tests.support.page_client import PageClient, sign
from tests.support.waiting import until


@pytest.mark.parametrize("reply", list(ApprovalReply))
async def test_a_dialogue_as_the_page_has_it(reply: ApprovalReply) -> None:
    """Challenge, request, dialog, answer, reply, end: each signature is the page's."""
    dialogs, asked = RecordingDesk(), question()
    async with companion(dialogs) as server:
        client = PageClient(server.path, TOKEN)
        shown = await asyncio.to_thread(client.ask, asked)
        (dialog,) = dialogs.shown
        dialog.answer(reply)
        answer = await asyncio.to_thread(client.read)
        client.send({"type": "reply", "id": asked["id"], "accepted": True, "words": "Fine."})
        await until(lambda: dialogs.replies == [("Fine.", True)])
        client.send({"type": "ended", "id": asked["id"], "words": "Over."})
        await until(lambda: dialogs.ended == ["Over."])
        client.close()

    parts = (client.nonce, asked["id"], asked["digest"])
    assert {"type": "shown", "id": asked["id"], "hmac": sign(TOKEN, "shown", *parts)} == shown
    assert {
        "type": "answer",
        "id": asked["id"],
        "decision": reply,
        "hmac": sign(TOKEN, "answer", *parts, reply),
    } == answer
    assert asked["command"] == dialog.question.command
    assert os.getpid() == dialog.peer.pid


async def test_hello_is_answered_without_a_dialog() -> None:
    """A companion reports that it is there, proves the token, and shows nothing."""
    dialogs = RecordingDesk()
    async with companion(dialogs) as server:
        client = PageClient(server.path, TOKEN)
        ready = await asyncio.to_thread(client.ask, {"kind": "hello"})
        over = await asyncio.to_thread(client.read)
        client.close()

    assert {"type": "ready", "hmac": sign(TOKEN, "ready", client.nonce)} == ready
    assert over is None
    assert [] == dialogs.shown


async def test_what_is_not_offered_cannot_be_pressed() -> None:
    """A dialog sends no answer that its question does not list."""
    dialogs = RecordingDesk()
    async with companion(dialogs) as server:
        client = PageClient(server.path, TOKEN)
        await asyncio.to_thread(client.ask, question(answers=["deny"]))

        with pytest.raises(ValueError, match="allow-once is not offered"):
            dialogs.shown[0].answer(ApprovalReply.ALLOW_ONCE)
        dialogs.shown[0].answer(ApprovalReply.DENY)
        answer = await asyncio.to_thread(client.read)
        client.close()

    assert answer is not None
    assert "deny" == answer["decision"]


async def test_a_gateway_that_is_gone_closes_its_dialog() -> None:
    """If the connection ends, nothing is left to press."""
    dialogs = RecordingDesk()
    async with companion(dialogs) as server:
        client = PageClient(server.path, TOKEN)
        await asyncio.to_thread(client.ask, question())
        assert [] == dialogs.ended
        client.close()
        await until(lambda: dialogs.ended == ["The gateway is gone; nothing was decided here."])


async def test_the_socket_is_private_and_has_one_owner() -> None:
    """Mode 0600; a second companion is refused, and after the first no socket is left."""
    async with companion() as server:
        assert 0o600 == stat.S_IMODE(server.path.stat().st_mode)
        with pytest.raises(AnotherGateway, match="A companion is already listening"):
            await serve(server.path, TOKEN, RecordingDesk())
        path = server.path

    assert not path.exists()


async def test_a_socket_that_was_left_over_is_replaced() -> None:
    """After a companion was killed, the next one takes its place."""
    async with companion() as server:
        path = server.path
        assert server._listener is not None
        server._listener.close()
        os.close(server._lock)
        server._lock = -1
        later = await serve(path, TOKEN, RecordingDesk())
        client = PageClient(path, TOKEN)
        assert (await asyncio.to_thread(client.ask, {"kind": "hello"}) or {})["type"] == "ready"
        client.close()
        await later.close()


async def test_too_many_open_dialogs_are_refused() -> None:
    """Beyond the limit a question is refused as busy; those before it stay open."""
    dialogs = RecordingDesk()
    async with companion(dialogs, rate=RateLimit(burst=1_000)) as server:
        clients, said = [], []
        for number in range(MOST_OPEN + 1):
            clients.append(PageClient(server.path, TOKEN))
            said.append(await asyncio.to_thread(clients[-1].ask, question(id=name(number))))
        for client in clients:
            client.close()

    assert ["shown"] * MOST_OPEN + ["refused"] == [(one or {})["type"] for one in said]
    assert "busy" == (said[-1] or {})["reason"]


async def test_a_right_client_gets_through_a_crowd_that_says_nothing() -> None:
    """Connections that never authenticate give way to a newcomer, the oldest first."""
    dialogs = RecordingDesk()
    async with companion(dialogs, rate=RateLimit(burst=1_000)) as server:
        crowd = [PageClient(server.path, TOKEN) for _ in range(MOST_WAITING)]
        for one in crowd:
            await asyncio.to_thread(one.challenge)
        client = PageClient(server.path, TOKEN)
        said = await asyncio.to_thread(client.ask, question())
        first = await asyncio.to_thread(crowd[0].read)
        for one in (*crowd, client):
            one.close()

    assert "shown" == (said or {})["type"]
    assert first is None


async def test_another_user_is_not_served() -> None:
    """A companion of another uid closes without a byte; our own gets its challenge."""
    dialogs = RecordingDesk()
    async with companion(dialogs) as server:
        own = PageClient(server.path, TOKEN)
        assert peer_of(own.socket).uid == os.getuid()
        assert await asyncio.to_thread(own.challenge)
        server.uid = os.getuid() + 1
        other = PageClient(server.path, TOKEN)
        assert await asyncio.to_thread(other.read) is None
        own.close()
        other.close()
    assert [] == dialogs.shown
