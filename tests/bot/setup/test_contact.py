"""Find the sender of a code, and say what the platform says about the bot."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from bot.settings import Settings
from bot.setup import contact
from bot.setup.choices import Contact, Platform
from bot.setup.contact import MOST_TRIES, CodeInbox, Search
from channels.base import Health, Inbound, Inbox, Proof, Tone
from channels.commands import LogIn, Pair
from core.errors import ChannelError
from core.model.identity import Actor, Target

ANA = Actor("telegram", "1", "Ana")


def sent(code: str | None) -> Inbound:
    """Return a message with a code, or another one."""
    return Inbound(ANA, Target("telegram", "7"), Pair(code) if code else LogIn(), "k")


@dataclass
class Channel:
    """A platform to which Ana sends the code at once, unless ``health`` says why not."""

    name: str = "telegram"
    health: str = ""
    stopped: bool = False

    async def start(self, inbox: Inbox) -> None:
        """Send it."""
        if not self.health:
            await inbox.receive(sent(cast("CodeInbox", inbox).code.lower()))

    async def stop(self) -> None:
        """Note the end."""
        self.stopped = True

    async def check(self) -> Health:
        """Say what is wrong."""
        return Health(not self.health, self.health)


@dataclass
class Proving(Channel):
    """One that says who the bot is."""

    proofs: tuple[Proof, ...] = ()

    async def prove(self, _people: tuple[str, ...]) -> tuple[Proof, ...]:
        """Return what it was made with."""
        return self.proofs

    def pair_link(self, code: str) -> str:
        """Return a link that holds the code."""
        return f"link:{code}"


@dataclass
class Screen:
    """What was shown."""

    shown: list[tuple[str, str]] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def code(self, code: str, bot: str, link: str) -> None:
        """Note it, without the code itself."""
        self.shown.append((bot, link.replace(code, "CODE")))

    def trouble(self, detail: str) -> None:
        """Note it."""
        self.troubles.append(detail)


async def found(
    monkeypatch: pytest.MonkeyPatch, channel: Channel, screen: Screen, seconds: float = 30
) -> Contact:
    """Search on a channel."""
    monkeypatch.setattr(contact, "make_channels", lambda *_: {Platform.TELEGRAM: channel})
    search = Search(cast("Settings", None), Platform.TELEGRAM, seconds, screen)
    return await search.find()


GOOD = Proof("token", True, "@sayso_bot")


@pytest.mark.parametrize(
    ("channel", "shown"),
    [
        (Channel(), ("", "")),
        (Proving(), ("", "link:CODE")),
        (Proving(proofs=(GOOD, Proof("scopes", True, "all"))), ("@sayso_bot", "link:CODE")),
    ],
)
async def test_what_is_shown_with_the_code(
    monkeypatch: pytest.MonkeyPatch, channel: Channel, shown: tuple[str, str]
) -> None:
    """The first proof tells which bot it is; a platform may have neither proofs nor links."""
    screen = Screen()

    assert await found(monkeypatch, channel, screen) == Contact("1", "7", "Ana")
    assert screen.shown == [shown]
    assert screen.troubles == []
    assert channel.stopped


async def test_a_token_that_does_not_work_shows_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform's own words are passed on, with one full stop."""
    screen = Screen()
    channel = Proving(proofs=(GOOD, Proof("scopes", False, "too few.")))

    with pytest.raises(ChannelError, match=r"^telegram scopes: too few\. Nothing was written"):
        await found(monkeypatch, channel, screen)
    assert screen.shown == []


async def test_an_obstacle_is_told_once_and_again_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody who waits in vain reads why."""
    screen = Screen()
    monkeypatch.setattr(contact, "_LOOK_S", 0.001)

    with pytest.raises(ChannelError, match=r"nothing was written\. telegram: offline\. Run"):
        await found(monkeypatch, Channel(health="offline."), screen, 0.2)
    assert screen.troubles == ["telegram: offline."]


async def test_the_code_is_taken_once_and_not_guessed() -> None:
    """Other messages are no tries; the last wrong code ends the search."""
    inbox = CodeInbox("AB12")
    assert (await inbox.receive(sent(None))).tone is Tone.INFO
    for tries in range(1, MOST_TRIES):
        assert (await inbox.receive(sent("no"))).tone is Tone.REFUSED
        assert (inbox.tries, inbox.found.done()) == (tries, False)
    await inbox.receive(sent("no"))
    with pytest.raises(ChannelError, match="too many wrong codes"):
        inbox.found.result()

    inbox = CodeInbox("AB12")
    assert (await inbox.receive(sent("ab12"))).tone is Tone.OK
    assert (await inbox.receive(sent("ab12"))).tone is Tone.REFUSED
