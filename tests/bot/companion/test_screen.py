"""Show what was asked and take one key per answer, never one that came too early."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from textual.pilot import Pilot

from bot.companion.dialog_queue import DialogQueue
from bot.companion.screen import CALM_S, CompanionScreen, visible
from core.companion.server import CompanionServer
from core.model.approval import ApprovalReply
from tests.core.companion.desks import TOKEN, companion, name, question
from tests.support.companion import shown
from tests.support.page_client import PageClient
from tests.support.waiting import until


@dataclass
class Table:
    """A companion's server, desk and screen, and clients that ask it."""

    server: CompanionServer
    screen: CompanionScreen
    pilot: Pilot[None]
    clients: list[PageClient] = field(default_factory=list)

    async def ask(self, **changes: Any) -> PageClient:
        """Ask one question and wait until its dialog is there; keys do not count yet."""
        client = PageClient(self.server.path, TOKEN)
        self.clients.append(client)
        before = len(self.screen.dialogs.waiting)
        said = await asyncio.to_thread(client.ask, question(**changes))
        assert said is not None
        assert "shown" == said["type"]
        await until(lambda: len(self.screen.dialogs.waiting) == before + 1)
        await self.pilot.pause()
        return client

    async def calm(self) -> None:
        """Let enough time pass that keys count."""
        await self.pilot.pause(CALM_S + 0.1)

    def words(self) -> str:
        """Return what the screen shows."""
        return shown(self.screen)


@asynccontextmanager
async def table(size: tuple[int, int] = (100, 30)) -> AsyncIterator[Table]:
    """Run a companion with its screen."""
    dialogs = DialogQueue()
    async with companion(dialogs) as server:
        screen = CompanionScreen(dialogs, str(server.path))
        async with screen.run_test(size=size) as pilot:
            found = Table(server, screen, pilot)
            try:
                yield found
            finally:
                for client in found.clients:
                    client.close()


@pytest.mark.parametrize(
    ("key", "reply"),
    [
        ("a", ApprovalReply.ALLOW_ONCE),
        ("A", ApprovalReply.ALLOW_ALWAYS),
        ("d", ApprovalReply.DENY),
    ],
)
async def test_each_answer_is_one_key(key: str, reply: ApprovalReply) -> None:
    """Its frame is sent once, however often the key is pressed."""
    async with table() as at:
        client = await at.ask()
        await at.calm()
        await at.pilot.press(key, key, "d")
        answer = await asyncio.to_thread(client.read)
        assert "waiting for the gateway" in at.words()
        client.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            await asyncio.to_thread(client.read)

    assert reply == (answer or {})["decision"]


@contextmanager
def hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let keys pressed in the meantime be too early, however long the machine freezes."""
    with monkeypatch.context() as patched:
        patched.setattr("bot.companion.screen.CALM_S", 3_600.0)
        yield


async def test_a_key_that_comes_too_soon_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in transit when the question appeared is refused; pressed again, it counts."""
    async with table() as at:
        client = await at.ask()
        with hasty(monkeypatch):
            await at.pilot.press("a")
            assert "too soon" in at.words()
        client.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            await asyncio.to_thread(client.read)
        client.socket.settimeout(5)
        await at.calm()
        await at.pilot.press("a")
        assert "allow-once" == (await asyncio.to_thread(client.read) or {})["decision"]


async def test_what_comes_later_waits_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question that is being read stays in front; the next follows it, and keys wait again."""
    async with table() as at:
        first = await at.ask(id=name(1), command="first command")
        await at.calm()
        second = await at.ask(id=name(2), command="second command")
        assert name(1) == at.screen.front_id
        assert "2 questions wait:" in at.words()
        await at.pilot.press("d")
        assert "deny" == (await asyncio.to_thread(first.read) or {})["decision"]
        first.send({"type": "ended", "id": name(1), "words": "Denied by ana"})
        await until(lambda: at.screen.front_id == name(2))
        with hasty(monkeypatch):
            await at.pilot.press("a")
            assert "too soon" in at.words()
        assert "7K3F9Q: Denied by ana" in at.words()
        await at.calm()
        await at.pilot.press("a")
        assert "allow-once" == (await asyncio.to_thread(second.read) or {})["decision"]


async def test_one_can_step_through_what_waits() -> None:
    """`n` and `p` bring another question to the front, which is then the one that is answered."""
    async with table() as at:
        clients = [await at.ask(id=name(number)) for number in range(3)]
        await at.pilot.press("n", "n", "n", "p")
        assert name(2) == at.screen.front_id
        await at.calm()
        await at.pilot.press("d")
        assert name(2) == (await asyncio.to_thread(clients[2].read) or {})["id"]


async def test_details_are_behind_a_key() -> None:
    """`v` shows the other lines and hides them; the countdown is in the title."""
    async with table() as at:
        await at.ask(leftMs=90_400)
        assert "git: /usr/bin/git" not in at.words()
        await at.pilot.press("v")
        assert "git: /usr/bin/git" in at.words()
        await at.pilot.press("v")
        assert "git: /usr/bin/git" not in at.words()
        title = str(at.screen.query_one("#card").border_title)
        assert title.startswith("Allow this command?  7K3F9Q · 1:")


async def test_only_offered_answers_are_keys() -> None:
    """What can only be denied shows no other key and takes none."""
    async with table() as at:
        client = await at.ask(answers=["deny"], whole=False)
        await at.calm()
        await at.pilot.press("a", "A")
        words = at.words()
        assert "Allow once" not in words
        assert "not offered" in words
        assert "Only the beginning" in words
        await at.pilot.press("d")
        assert "deny" == (await asyncio.to_thread(client.read) or {})["decision"]


async def test_an_answer_that_did_not_count_can_be_given_again() -> None:
    """The gateway's sentence is shown and the dialog stays."""
    async with table() as at:
        client = await at.ask()
        await at.calm()
        await at.pilot.press("a")
        answer = await asyncio.to_thread(client.read)
        assert answer is not None
        refused = {"type": "reply", "id": answer["id"], "accepted": False, "words": "Not listed."}
        client.send(refused)
        await until(lambda: "Not listed." in at.words())
        await at.pilot.press("d")
        assert "deny" == (await asyncio.to_thread(client.read) or {})["decision"]


async def test_nothing_in_a_question_moves_the_cursor_or_is_markup() -> None:
    """Escape sequences, bidirectional marks and brackets are shown as what they are."""
    async with table() as at:
        await at.ask(command="echo \x1b[2J\u202e[bold]x[/bold]")
        words = at.words()

    assert "echo \\u{001B}[2J\\u{202E}[bold]x[/bold]" in words
    assert "\x1b" not in words


def test_plain_text_is_shown_as_it_is() -> None:
    """Letters of any script, line breaks and the signs of prompts stay."""
    assert "größer\n⚠ · 漢字" == visible("größer\n⚠ · 漢字")


async def test_an_empty_screen_says_that_it_listens() -> None:
    """Before the first question it names its socket, and a key does nothing."""
    async with table() as at:
        await at.pilot.press("a", "n", "d")
        assert f"Listening on {at.server.path}." in at.words().replace("\n", "")
