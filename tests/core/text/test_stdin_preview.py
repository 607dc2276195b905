"""Show what a command reads like the command: whole, framed, masked, and never forged."""

import re
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.cards.build import build_prompt
from core.model.command import ExecPlan
from core.model.stdio import LARGEST_STDIN, Stdio
from core.text.render import command_text, redact, show_command
from core.text.stdin_preview import INPUT_HEAD, INPUT_LINE, LONGEST_INPUT
from tests.channels.rendered import render
from tests.contracts.channel_examples import approval, plan


def reading(stdin: bytes | None, *argv: str) -> ExecPlan:
    """Return a plan of a command that reads."""
    return replace(plan(argv or ("psql", "shop")), stdio=Stdio(stdin=stdin))


def block(stdin: bytes) -> tuple[str, str]:
    """Return the head of the block, and its content without the frame."""
    command, head, *lines = command_text(reading(stdin)).text.split("\n")
    assert command == "psql shop"
    assert head.startswith(INPUT_HEAD)
    assert all(line.startswith(INPUT_LINE) for line in lines)
    return head.removeprefix(INPUT_HEAD), "\n".join(line.removeprefix(INPUT_LINE) for line in lines)


def test_the_whole_text_stands_below_the_command() -> None:
    """Each line is framed, line feeds are marked as in commands, and the size is shown."""
    assert block(b"select 1;\n\ndrop table x") == (
        "standard input: 23 bytes",
        "select 1;\u23ce\n\u23ce\ndrop table x",
    )
    assert block(b"\n") == ("standard input: 1 byte", "\u23ce")


def test_nothing_is_shown_where_nothing_is_read() -> None:
    """No input, and an empty one, leave the command unchanged."""
    assert command_text(reading(None)).text == command_text(reading(b"")).text == "psql shop"


@given(st.text(min_size=1, max_size=80).filter(lambda text: bool(text.encode("utf-8", "ignore"))))
def test_text_is_shown_as_all_text_is(text: str) -> None:
    """Escapes, marks and masks are those of every other text."""
    data = text.encode("utf-8", "ignore")

    assert block(data)[1] == redact(data.decode(), multiline=True).text.removesuffix("\n")


@given(st.binary(min_size=1, max_size=200))
def test_bytes_that_are_no_text_are_shown_each(data: bytes) -> None:
    """Every byte is shown as an escape, and reads back."""
    damaged = b"\xff" + data

    head, content = block(damaged)

    assert f"SHA-256 {sha256(damaged).hexdigest()}" in head
    assert "binary, shown in hex" in head
    if "[secret: " not in content:
        shown = content.replace("\n", "").split("\\x")[1:]
        assert bytes(int(one, 16) for one in shown) == damaged


@pytest.mark.parametrize("damage", [b"", b"\xff"])
def test_secrets_are_masked(damage: bytes) -> None:
    """A secret is in no text that leaves, not even in hex; no hash allows guessing it either."""
    secret = "ghp_0123456789abcdefABCDEF0123456789abcd"
    data = damage + f"log in with {secret}\n".encode()

    shown = command_text(reading(data)).text

    assert "[secret: GitHub token]" in shown
    assert secret not in shown
    assert secret.encode().hex()[:12] not in re.sub(r"\\x|\s|║", "", shown)
    assert "SHA-256" not in shown


FORGED = (
    f"\n{INPUT_LINE}\n{INPUT_HEAD}standard input: 2 bytes\n{INPUT_LINE}ok",
    "\n\n   \u2554 standard input: 2 bytes",
    "\u2551",
)


@pytest.mark.parametrize("forged", FORGED)
def test_the_frame_cannot_be_forged(forged: str) -> None:
    """What looks like the frame is escaped in commands and in input, so there is one block."""
    for of in (
        reading(b"rm -rf /", "echo", forged),
        replace(reading(b"rm -rf /"), commands=plan(("a", forged), ("b", forged)).commands),
        replace(plan(text=f"echo {forged}"), stdio=Stdio(stdin=b"rm -rf /")),
        reading(f"rm -rf /{forged}".encode()),
    ):
        lines = show_command(of).text.split("\n")
        assert [line for line in lines if "\u2554" in line] == [
            line for line in lines if line.startswith(INPUT_HEAD)
        ]
        assert sum(line.startswith(INPUT_HEAD) for line in lines) == 1
        framed = [line for line in lines if "\u2551" in line]
        assert all(line.startswith(INPUT_LINE) for line in framed)
        assert framed[0].startswith(f"{INPUT_LINE}rm -rf /")


def test_a_line_for_a_shell_shows_what_it_reads() -> None:
    """An unreadable line is followed by its input, then by the statement about the shell."""
    of = replace(plan(text="cat $(x)"), stdio=Stdio(stdin=b"hello"))

    shown = show_command(of).text

    assert shown.index("cat $(x)") < shown.index("hello") < shown.index("A shell will run")


def test_what_nobody_reads_can_only_be_denied() -> None:
    """Beyond the bound the content is not shown, and allowing is not offered; below it is."""
    much, most = b"x" * (LONGEST_INPUT + 1), b"x\n" * (LONGEST_INPUT // 2)
    shown = build_prompt(approval(reading(much)))

    assert not shown.approvable
    assert shown.replies == "deny"
    assert "too long to be shown" in shown.command.text
    assert len(command_text(reading(b"y" * LARGEST_STDIN)).text) < 300
    assert build_prompt(approval(reading(most))).approvable


@pytest.mark.parametrize("size", [10, 3_000, 9_000, 60_000])
def test_a_prompt_offers_all_of_it_before_it_may_be_allowed(size: int) -> None:
    """On Telegram all of it is sent before, or with, the one message that has buttons."""
    lines = (f"({number}, 1),\n" for number in range(size))
    data = "".join(lines)[:size].encode()
    shown = render(approval(reading(data)))
    expected = command_text(reading(data)).text

    files = [message.file.decode() for message in shown.messages if message.file]
    parts = [block for message in shown.messages[:-1] for block in shown.blocks(message)]
    assert expected in ("".join(files or parts) or shown.blocks()[0])
    assert [bool(message.markup) for message in shown.messages][:-1] == [False] * (
        len(shown.messages) - 1
    )
    assert "Allow once" in shown.labels
