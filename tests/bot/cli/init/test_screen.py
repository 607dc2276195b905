"""Ask who answers only where there is somebody else to choose."""

import io
import json

import pytest

from bot.cli.init.screen import Lines
from bot.setup.choices import Contact

CHAT, TERMINAL = Contact("42", "-100", "Ana"), Contact("uid:0", "here")


@pytest.mark.parametrize(
    ("contact", "asks", "typed", "right"),
    [
        (CHAT, True, "y\n", True),
        (CHAT, True, "n\n", False),
        (CHAT, True, "\n", False),
        (CHAT, False, "", True),
        (TERMINAL, True, "", True),
    ],
)
def test_who_wrote_in_a_chat_is_confirmed(
    monkeypatch: pytest.MonkeyPatch, contact: Contact, typed: str, *, asks: bool, right: bool
) -> None:
    """Enter is no; this terminal needs no question, and without questions nobody is asked."""
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    assert Lines(as_json=False, asks=asks).confirms(contact) is right


def test_a_program_reads_who_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """As one JSON object, with the name if the platform gave one."""
    lines = Lines(as_json=True, asks=False)
    for contact in (CHAT, TERMINAL):
        assert lines.confirms(contact)

    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"step": "approver", "account": "42", "name": "Ana (42)", "to": "-100"}
    assert (second["name"], second["to"]) == ("uid:0", "here")


@pytest.mark.parametrize(
    ("bot", "link", "words"),
    [
        ("", "", "The token works.\n\nIn the chat"),
        ("is @b's", "", "The token is @b's.\n\nIn the chat"),
        ("", "https://t.example/x", "press Start:\n\n    https://t.example/x\n\nWaiting"),
    ],
)
def test_what_the_code_is_shown_with(
    capsys: pytest.CaptureFixture[str], bot: str, link: str, words: str
) -> None:
    """A platform may say whose token it is, and may have a link; a program reads both."""
    Lines(as_json=False, asks=False).code("AB12", bot, link)
    text = capsys.readouterr().out
    Lines(as_json=True, asks=False).code("AB12", bot, link)
    read = json.loads(capsys.readouterr().out)

    assert words in text
    assert "\n\n    /pair AB12\n\n" in text
    assert ("or open this link" in text) is (link != "")
    assert read == {"step": "code", "send": "/pair AB12", "bot": bot, "link": link}
