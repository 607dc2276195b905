"""Run the terminal channel on a real pseudo-terminal, and on plain streams."""

import asyncio
import io
import os
import termios
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from channels.base import Inbound
from channels.cards.build import build_outcome, build_prompt
from channels.commands import Approve, BareReply, Malformed
from channels.terminal.channel import UNREAD_S, TerminalChannel
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId, Target
from tests.channels.terminal.terminal_setup import TerminalSetup
from tests.contracts.channel import ChannelContract
from tests.contracts.channel_examples import ID, OTHER_ID, approval, plan, resolved
from tests.contracts.channel_setup import BROKEN_STORE, RecordingInbox
from tests.support.waiting import until

_HERE = Target("terminal", "here")


@pytest.fixture
async def setup() -> AsyncIterator[TerminalSetup]:
    """Open a pseudo-terminal of 200 columns without echo."""
    master, slave = os.openpty()
    attributes = termios.tcgetattr(slave)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    termios.tcsetwinsize(slave, (50, 200))
    os.set_blocking(master, False)
    with os.fdopen(os.dup(slave)) as reader, os.fdopen(slave, "w") as writer:
        yield TerminalSetup(master, TerminalChannel(reader, writer))
    os.close(master)


def refs(got: list[Inbound]) -> list[str]:
    """Return what answers are about."""
    commands = [one.command for one in got if isinstance(one.command, Approve)]
    assert len(commands) == len(got), got
    return [one.ref for one in commands]


class TestTerminal(ChannelContract):
    """The contract, on a pseudo-terminal."""

    two_steps = groups = threads = False

    async def test_answers_typed_before_a_new_prompt_all_count(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """Whole lines that have not been read yet are not discarded with what was half typed."""
        third = ApprovalId(f"3{ID[1:]}")
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.channel.post(setup.target, build_prompt(approval(id=OTHER_ID)))
        await setup.type("d 7K3F9Q")
        await setup.type("d 2MZZ8X")
        await setup.channel.post(setup.target, build_prompt(approval(id=third)))

        got = await inbox.take(2)

        assert {"7k3f9q", "2mzz8x"} == set(refs(got))
        await setup.channel.stop()

    async def test_an_answer_in_hand_is_committed_before_the_stop_returns(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """What was read counts, however long the store takes, and its reply is still shown."""
        inbox.delay = 0.3
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.type("d 7K3F9Q")
        await setup.channel.post(setup.target, build_prompt(approval(id=OTHER_ID)))
        await setup.channel.stop()

        assert ["7k3f9q"] == refs(inbox.got)
        assert inbox.reply in setup.look()

    async def test_the_end_of_the_input_says_how_to_answer_now(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """Ctrl-D ends reading for good, so what was typed before counts and the screen says so."""
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.type("d 7K3F9Q")
        os.write(setup.master, b"\x04")

        await setup.sees("End of input")
        assert ["7k3f9q"] == refs(await inbox.take())
        assert not (await setup.channel.check()).ok
        await setup.channel.stop()

    async def test_a_letter_with_two_prompts_open_answers_none(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """A letter that could mean either of two prompts decides nothing."""
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.channel.post(setup.target, build_prompt(approval(id=OTHER_ID)))
        await setup.type("a")

        (inbound,) = await inbox.take()

        assert isinstance(inbound.command, Malformed)
        await setup.sees("nothing was answered. Name one: `a 2MZZ8X`, `a 7K3F9Q`")
        await setup.channel.stop()

    async def test_of_many_open_prompts_the_newest_are_named(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """Four codes fit on a line; the rest are counted, and the letter is the one typed."""
        await setup.channel.start(inbox)
        for first in "345678":
            one = approval(id=ApprovalId(f"{first}{ID[1:]}"))
            await setup.channel.post(setup.target, build_prompt(one))
        await setup.type("d")

        (inbound,) = await inbox.take()

        named = ", ".join(f"`d {first}K3F9Q`" for first in "8765")
        assert isinstance(inbound.command, Malformed)
        assert inbound.command.usage.endswith(f"Name one: {named} (2 more: /pending)")
        await setup.channel.stop()

    async def test_a_letter_may_name_its_prompt(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """``d CODE`` answers one of several."""
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.channel.post(setup.target, build_prompt(approval(id=OTHER_ID)))
        await setup.type("d 2MZZ8X")

        (inbound,) = await inbox.take()

        assert inbound.command == Approve("2mzz8x", ApprovalReply.DENY)
        await setup.channel.stop()

    async def test_what_was_half_typed_never_answers_a_newer_prompt(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """A letter typed before a prompt appeared and confirmed after it answers nothing."""
        await setup.channel.start(inbox)
        os.write(setup.master, b"a")
        await setup.channel.post(setup.target, build_prompt(approval()))
        os.write(setup.master, b"\n")
        await setup.type("d")

        (inbound,) = await inbox.take()

        assert inbound.command == Approve(ID, ApprovalReply.DENY)
        await setup.channel.stop()

    async def test_a_whole_line_typed_for_the_prompt_before_still_counts(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """An answer in the terminal's buffer belongs to what was shown when it was typed."""
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.type("a")
        await setup.channel.post(setup.target, build_prompt(approval(id=OTHER_ID)))

        (inbound,) = await inbox.take()

        assert inbound.command == Approve(ID, ApprovalReply.ALLOW_ONCE)
        await setup.channel.stop()

    @pytest.mark.parametrize("typed", ["a", "A", "yes", "allow-once", "always 1h"])
    async def test_what_allows_without_a_code_right_after_a_swap_is_refused(
        self, setup: TerminalSetup, inbox: RecordingInbox, typed: str
    ) -> None:
        """An agent that withdraws a harmless question cannot put another under the finger."""
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        setup.read(60)
        await setup.channel.update(setup.target, ID, build_outcome(approval(resolution=resolved())))
        await setup.channel.post(setup.target, build_prompt(approval(id=OTHER_ID)))
        setup.read(UNREAD_S * 0.9)
        os.write(setup.master, f"{typed}\n".encode())

        (early,) = await inbox.take()
        assert early.command == Malformed(
            "What is asked just changed, so nothing was allowed: read it, then type again."
        )

        setup.read(UNREAD_S * 0.1)
        os.write(setup.master, f"{typed}\n".encode())

        _, counted = await inbox.take(2)
        assert isinstance(counted.command, Approve | BareReply)
        assert counted.replied_to == OTHER_ID
        await setup.channel.stop()

    @pytest.mark.parametrize("typed", ["d", "no", "a 7K3F9Q", "/approve 7K3F9Q allow-once"])
    async def test_a_denial_or_a_code_counts_at_once(
        self, setup: TerminalSetup, inbox: RecordingInbox, typed: str
    ) -> None:
        """Denying runs nothing, and a code names the question that was read."""
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        os.write(setup.master, f"{typed}\n".encode())

        (inbound,) = await inbox.take()

        assert isinstance(inbound.command, Approve | BareReply)
        await setup.channel.stop()

    async def test_a_letter_for_what_is_left_of_two_prompts_waits_as_well(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """One of two ended: the letter now means the other, which may not be the one read."""
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.channel.post(setup.target, build_prompt(approval(id=OTHER_ID)))
        setup.read(60)
        ended = build_outcome(approval(resolution=resolved()))
        await setup.channel.update(setup.target, ID, ended)
        os.write(setup.master, b"a\n")
        (early,) = await inbox.take()

        # What ended before changes nothing: a repeated edit delays no one.
        await setup.type("")
        await setup.channel.update(setup.target, ID, ended)
        os.write(setup.master, b"a\n")
        _, counted = await inbox.take(2)

        assert isinstance(early.command, Malformed)
        assert counted.command == Approve(OTHER_ID, ApprovalReply.ALLOW_ONCE)
        await setup.channel.stop()

    async def test_a_failed_inbox_is_told_and_the_answer_can_be_repeated(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """An answer that could not be stored is not called a success."""
        inbox.failures.append(BROKEN_STORE)
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.type("a")
        await setup.sees("the store is away Nothing was decided")
        assert inbox.got == []

        await setup.type("a")

        await inbox.take()
        await setup.channel.stop()

    async def test_no_control_byte_reaches_the_screen(
        self, setup: TerminalSetup, inbox: RecordingInbox
    ) -> None:
        """Escape sequences in a command are shown, not obeyed; a dumb terminal gets no colours."""
        await setup.channel.start(inbox)
        text = "echo \x1b[8mhidden\x1b[0m\r\x07\x9b2K\x08 \x1b]52;c;eA\x07"
        await setup.channel.post(setup.target, build_prompt(approval(plan(text=text))))

        await setup.sees("\\u{001B}[8mhidden")

        shown = setup.look()
        assert all(letter == "\n" or letter.isprintable() for letter in shown), repr(shown)
        await setup.channel.stop()

    async def test_colours_only_on_a_terminal_that_has_them(
        self,
        setup: TerminalSetup,
        inbox: RecordingInbox,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """A colour terminal shows bold; NO_COLOR removes it."""
        monkeypatch.setenv("TERM", "xterm-256color")
        await setup.channel.start(inbox)
        await setup.channel.post(setup.target, build_prompt(approval()))
        await setup.sees("\x1b[1m")

        monkeypatch.setenv("NO_COLOR", "1")
        setup.screen = ""
        await setup.channel.post(setup.target, build_prompt(approval(id=OTHER_ID)))
        await setup.sees("2MZZ8X")
        assert "\x1b" not in setup.look()
        await setup.channel.stop()

    async def test_the_other_end_closing_ends_health(self, inbox: RecordingInbox) -> None:
        """A closed input is reported, not spun on."""
        reader_end, writer_end = os.pipe()
        with os.fdopen(reader_end) as reader:
            channel = TerminalChannel(reader, io.StringIO())
            await channel.start(inbox)
            assert (await channel.check()).ok
            os.close(writer_end)
            await until(lambda: channel._ended)
            health = await channel.check()
            await channel.stop()

        assert not health.ok
        assert "answer in another channel" in health.detail


async def test_lines_longer_than_the_screen_wrap_and_lose_nothing(inbox: RecordingInbox) -> None:
    """Every character of a long command is on the page, and no line is wider than it."""
    output = io.StringIO()
    channel = TerminalChannel(io.StringIO(), output, width=40)
    command = "x" * 500 + "; rm -rf y"
    await channel.post(Target("terminal", "t"), build_prompt(approval(plan(text=command))))

    lines = output.getvalue().splitlines()
    body = "".join(line.removeprefix("│ ") for line in lines)
    assert command in body
    framed = [line for line in lines if line.startswith("│")]
    assert max(map(len, framed)) <= 40


async def test_an_ascii_terminal_gets_ascii(tmp_path: Path) -> None:
    """Frames and foreign letters are written as escapes if the encoding lacks them."""
    path = tmp_path / "screen"
    output = io.TextIOWrapper(path.open("wb"), encoding="ascii")
    channel = TerminalChannel(io.StringIO(), output)
    await channel.post(_HERE, build_prompt(approval(plan(("cat", "файл")))))
    await channel.update(_HERE, ID, build_outcome(approval(resolution=resolved())))
    output.close()

    shown = path.read_text(encoding="ascii")
    assert "Allow this command?" in shown
    assert "\\u0444" in shown


async def test_a_line_counts_from_where_it_began(inbox: RecordingInbox) -> None:
    """In a pipe, where nothing half typed is dropped, a late Enter makes no early letter count."""
    now = 0.0
    reader_end, writer_end = os.pipe()
    with os.fdopen(reader_end) as reader:
        channel = TerminalChannel(reader, io.StringIO(), clock=lambda: now)
        await channel.start(inbox)
        await channel.post(_HERE, build_prompt(approval()))
        os.write(writer_end, b"a")
        await until(lambda: channel._buffer == b"a")
        now = 60.0
        os.write(writer_end, b"\na\n")
        early, counted = await inbox.take(2)
        os.close(writer_end)
        await channel.stop()

    assert isinstance(early.command, Malformed)
    assert counted.command == Approve(ID, ApprovalReply.ALLOW_ONCE)


async def test_answers_can_come_from_a_file(tmp_path: Path, inbox: RecordingInbox) -> None:
    """A regular file cannot be watched; it is read at once."""
    path = tmp_path / "answers"
    path.write_text("/approve 7K3F9Q deny too broad\n")
    with path.open(encoding="utf-8") as answers:
        channel = TerminalChannel(answers, io.StringIO())
        await channel.start(inbox)
        (inbound,) = await inbox.take()
        await channel.stop()

    assert inbound.command == Approve("7k3f9q", ApprovalReply.DENY, "too broad")


async def test_a_stopped_channel_leaves_the_terminal_to_others(inbox: RecordingInbox) -> None:
    """What is typed once it stopped is for who reads next; while it reads, that is the channel."""
    reader_end, writer_end = os.pipe()
    os.set_blocking(reader_end, False)
    with os.fdopen(reader_end) as reader:
        channel = TerminalChannel(reader, io.StringIO())
        await channel.start(inbox)
        os.write(writer_end, b"d 7K3F9Q\n")
        await inbox.take()
        await channel.stop()
        os.write(writer_end, b"ls\n")
        await asyncio.sleep(0.05)  # a loop that still watched it would read it now

        assert os.read(reader_end, 99) == b"ls\n"
    os.close(writer_end)
