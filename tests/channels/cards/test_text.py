"""Say in the same words on every platform what does not fit one message."""

import json
from dataclasses import replace

import pytest

from channels.cards.build import build_prompt
from channels.cards.card import PromptCard
from channels.cards.text import (
    EMPTY,
    READ_ABOVE,
    TOO_LONG,
    digest_words,
    duration,
    headline,
    odd_programs,
    part_end,
    part_title,
    program,
    shortened,
)
from channels.discord.render import messages as discord
from channels.slack.render import messages as slack
from channels.telegram.render import messages as telegram
from core.model.approval import ApprovalReply, ApprovalState, Resolution
from core.model.identity import LOCAL_CHANNEL, Actor, Target
from tests.contracts.channel_examples import approval, plan
from tests.support.plans import command, wrapped

PLATFORMS = {
    "discord": discord.payloads,
    "slack": slack.payloads,
    "telegram": telegram.payloads,
}


def _sent(platform: str, card: PromptCard) -> str:
    bodies = PLATFORMS[platform](card, Target(platform, "1"))
    return json.dumps(bodies, ensure_ascii=False, default=str)


@pytest.mark.parametrize(
    ("platform", "length"), [("discord", 5_500), ("slack", 20_000), ("telegram", 10_000)]
)
def test_a_long_command_goes_ahead_in_numbered_parts(platform: str, length: int) -> None:
    """Each part says which it is at its top and at its end, and the prompt says to read them."""
    card = build_prompt(approval(plan(text="x" * length)))
    sent = _sent(platform, card)
    total = len(PLATFORMS[platform](card, Target(platform, "1"))) - 1

    assert total > 1
    for number in range(1, total + 1):
        assert part_title(card.code, number, total) in sent
        assert part_end(number, total) in sent
    assert TOO_LONG in sent
    assert READ_ABOVE in sent


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_short_command_has_no_parts(platform: str) -> None:
    """Negative control: nothing is said of parts if one message has it all."""
    sent = _sent(platform, build_prompt(approval()))

    assert "part 1 of" not in sent
    assert TOO_LONG not in sent


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_empty_command_says_so(platform: str) -> None:
    """No one takes a prompt without a command for one whose command failed to show."""
    assert EMPTY in _sent(platform, build_prompt(approval(plan(text=""))))


def test_a_value_that_is_whole_has_no_mark() -> None:
    """The mark counts what follows, and is absent if nothing does."""
    assert "abc […1,234 more]" == shortened("abc", 1_234)
    assert "abc" == shortened("abc", 0)


ECHO = command("/usr/bin/echo", "x")


def test_a_program_of_the_system_by_its_own_name_is_not_odd() -> None:
    """Called by its path or by its name alone, below a wrapper too."""
    assert odd_programs(ECHO) == ()
    assert odd_programs(command("echo", "x")) == ()
    assert odd_programs(wrapped("timeout", "5", "echo", "x")) == ()


def test_a_program_is_named_as_called_and_by_its_path() -> None:
    """Once where it was called by its path; and where it leads."""
    assert program(ECHO).text == "/usr/bin/echo"
    assert program(command("echo", "x")).text == "echo: /usr/bin/echo"
    link = command("/usr/bin/awk", realpath="/srv/mawk")
    assert program(link).text == "/usr/bin/awk (a link to /srv/mawk); not in a system folder"


def test_a_program_other_than_its_name_is_odd() -> None:
    """Not found, reached by a link, elsewhere, renamed, or with a character that is escaped."""
    file = ECHO.executable
    assert file is not None
    for one in (
        replace(ECHO, executable=None),
        replace(ECHO, executable=replace(file, realpath="/usr/bin/busybox")),
        replace(ECHO, executable=replace(file, path="/srv/echo", realpath="/srv/echo")),
        replace(ECHO, argv=("/usr/bin/cat", "x")),
        replace(ECHO, argv=("/usr/\u202ebin/echo", "x")),
        command("/usr/bin/écho", "x"),  # a letter that a text may have, a name not
    ):
        assert len(odd_programs(one)) == 1, one
    inner = wrapped("timeout", "5", "echo", "x")
    assert len(odd_programs(replace(inner, inner=(replace(ECHO, executable=None),)))) == 1


def test_digest_words_are_proquints() -> None:
    """The published examples: 127.0.0.1 is lusab-babad, 63.84.220.193 is gutih-tugad."""
    assert digest_words("7f000001" + "3f54dcc1" + "0" * 48) == "lusab-babad-gutih-tugad"


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(0, "0 s"), (999, "0 s"), (45_000, "45 s"), (1_800_000, "30 min"), (5_400_000, "1 h 30 min")],
)
def test_durations_are_worded(milliseconds: int, words: str) -> None:
    """Whole units, largest first."""
    assert duration(milliseconds) == words


def test_a_name_from_the_machine_is_in_ascii() -> None:
    """Other letters are escaped, as in a name that somebody gave himself: they may look alike."""
    who = Actor(LOCAL_CHANNEL, "uid:7", "\u0410\u043d\u044f")
    ended = Resolution(ApprovalState.DENIED, ApprovalReply.DENY, who, 0)

    name = "\\u{0410}\\u{043D}\\u{044F}"
    assert headline(ended).text == f"Denied by {name} (terminal) at 00:00 UTC"
