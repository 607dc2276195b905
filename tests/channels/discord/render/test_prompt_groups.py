"""Put several prompts in one message: what fits, what each button means, how each ends."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.base import Groups
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import OutcomeCard, PromptCard
from channels.commands import Approve, Choose
from channels.discord.render.messages import body
from channels.discord.render.prompt_groups import fits, render_group
from core.errors import ChannelError
from core.model.approval import ApprovalReply, ApprovalState
from core.model.identity import Actor, ApprovalId
from core.text.render import command_text
from tests.channels.discord.guild import ANA, DiscordGuild
from tests.contracts.channel_examples import approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.discord_objects import CHANNEL
from tests.emulators.discord_rules import check_message, inside_code, markup, utf16
from tests.emulators.faults import Fault, FaultKind

_IDS = tuple(ApprovalId(f"{number}k3f9q0123456789abcdefghjk") for number in range(6))


def _card(number: int, *argv: str, text: str | None = None) -> PromptCard:
    of = plan(argv or ("ls",), text=text)
    return build_prompt(approval(of, id=_IDS[number]))


def _end(number: int, name: str = "Ana", note: str = "", text: str | None = None) -> OutcomeCard:
    by = Actor("discord", "42", name)
    ended = resolved(ApprovalState.DENIED, ApprovalReply.DENY, by, note)
    return build_outcome(approval(plan(("ls",), text=text), id=_IDS[number], resolution=ended))


def test_each_prompt_shows_its_command_facts_code_and_row() -> None:
    """Command, folder, agent, host, reason and deadline are above buttons that name the code."""
    cards = (_card(0, "rm", "-rf", "a b"), _card(1, "ls"))
    message = render_group(cards)

    blocks = inside_code(message.content)
    assert blocks[0] == "rm -rf 'a b'"
    for words in ("Folder: /home/dev/proj", "Agent: main · on gateway", "Does: ", "Why: "):
        assert words in blocks[1]
    assert "Answer by <t:1763719800:T>" in message.content
    assert [(button.label, button.row) for button in message.buttons] == [
        (f"{card.code} {words}", row)
        for row, card in enumerate(cards)
        for words in ("once", "always…", "deny", "details")
    ]
    check_message(body(message, "n"), 0)


def test_what_does_not_fit_is_not_grouped() -> None:
    """More than five rows, a long command, one that cannot be allowed, the same prompt twice."""
    short = tuple(_card(number) for number in range(6))
    assert fits(short[:5])
    assert not fits(short)
    assert not fits(())
    assert not fits((short[0], short[0]))
    assert not fits((short[0], _card(1, text="echo " + "b" * 2_000)))
    assert not fits((short[0], _card(1, text="")))


def test_fits_is_exact() -> None:
    """One unit more than the longest command that fits makes a message that Discord refuses."""
    cards = (_card(0, "ls", "x" * 60),)
    size = max(size for size in range(2_000) if fits((*cards, _card(2, text="#" * size))))
    full = (*cards, _card(2, text="#" * size))
    over = (*cards, _card(2, text="#" * (size + 1)))

    assert utf16(render_group(full).content) == 2_000
    assert utf16(render_group(over).content) == 2_001
    assert not fits(over)


_HARD = st.text(st.sampled_from([*"`\\{}u ab\n…*_|", "\U0001f600", "\u200b"]), max_size=200)


@settings(max_examples=40)
@given(texts=st.lists(_HARD.map("x".__add__), min_size=1, max_size=5), name=_HARD, note=_HARD)
def test_every_mix_of_open_and_ended_prompts_fits(texts: list[str], name: str, note: str) -> None:
    """What was posted can always be updated to what is true, and nothing in it is live."""
    cards = tuple(_card(number, text=text) for number, text in enumerate(texts))
    if not fits(cards):
        return
    ends = tuple(_end(number, name, note, text) for number, text in enumerate(texts))
    either: list[tuple[PromptCard | OutcomeCard, ...]] = [*zip(cards, ends, strict=True)]
    for mix in product(*either):
        message = render_group(mix)
        check_message(body(message, "n"), 0)
        assert [kind for kind, _ in markup(message.content) if kind != "timestamp"] == []
        open_rows = {row for row, card in enumerate(mix) if isinstance(card, PromptCard)}
        assert {button.row for button in message.buttons} == open_rows


def test_an_ending_keeps_its_words_and_its_command() -> None:
    """However long name, note and command are, the verdict and the command's start are there."""
    long = _end(0, "n" * 300, "r" * 900, "echo " + "b" * 900)
    asked = tuple(_card(number) for number in range(1, 5))
    blocks = inside_code(render_group((long, *asked)).content)

    assert blocks[0].startswith("Denied by nnn")
    assert blocks[1].startswith("echo bbb")
    assert blocks[1].endswith("…")
    assert command_text(plan(("ls",))).text in blocks


def test_tiny_prompts_have_room_for_their_endings() -> None:
    """The reserve lets each say who and why, next to an open prompt that fills the message."""

    def tiny(number: int) -> PromptCard:
        of = plan(("w",), cwd="/", agent="a", folder="/bin/")
        return build_prompt(approval(of, id=_IDS[number], why="asked", promise=()))

    few = tuple(tiny(number) for number in range(4))
    sizes = [size for size in range(2_000) if fits((*few, _card(4, text="#" * size)))]
    full = _card(4, text="#" * sizes[-1])
    ends = tuple(_end(number, note="use staging, " * 9, text="w " * 99) for number in range(4))
    message = render_group((*ends, full))

    assert utf16(message.content) <= 2_000
    for ending in inside_code(message.content)[:8:2]:
        assert ending.startswith("Denied by Ana (discord 42) at 10:02 UTC\nReason: use staging, ")
        assert len(ending) > 120


class TestPosted:
    """On a real connection."""

    async def test_a_press_names_its_approval_and_the_message(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Each row answers its own prompt, and all are from the one message."""
        assert isinstance(setup.channel, Groups)
        cards = tuple(_card(number) for number in range(5))
        await setup.channel.start(inbox)
        assert setup.channel.fits(cards)
        message = await setup.channel.post_group(setup.target, cards)
        for number, label in enumerate(("0K3F9Q once", "3K3F9Q deny", "4K3F9Q always…"), 1):
            await setup.server.press(CHANNEL, int(message), ANA, label)
            await inbox.take(number)

        assert [one.command for one in inbox.got] == [
            Approve(_IDS[0], ApprovalReply.ALLOW_ONCE),
            Approve(_IDS[3], ApprovalReply.DENY),
            Choose(_IDS[4]),
        ]
        assert {one.replied_to for one in inbox.got} == {message}

    async def test_ended_prompts_lose_their_buttons_one_by_one(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """Open ones stay whole and answerable; at the end no button is left."""
        assert isinstance(setup.channel, Groups)
        cards = (_card(0, "rm", "x"), _card(1, "df"))
        await setup.channel.start(inbox)
        message = await setup.channel.post_group(setup.target, cards)
        await setup.channel.update_group(setup.target, message, (_end(0), cards[1]))

        shown = setup.message(message)
        labels = [button["label"] for row in shown["components"] for button in row["components"]]
        assert labels == ["1K3F9Q once", "1K3F9Q always…", "1K3F9Q deny", "1K3F9Q details"]
        assert "Denied by Ana" in shown["content"]
        assert "df" in inside_code(shown["content"])

        await setup.channel.update_group(setup.target, message, (_end(0), _end(1)))
        assert not setup.can_press(message)
        assert "/approve" not in setup.message(message)["content"]

    async def test_a_group_sent_again_stays_one_message(
        self, setup: DiscordGuild, inbox: RecordingInbox
    ) -> None:
        """The nonce covers groups; another set of prompts is another message."""
        assert isinstance(setup.channel, Groups)
        cards = (_card(0), _card(1))
        await setup.channel.start(inbox)
        setup.server.faults.add(Fault(FaultKind.LOSE, "createMessage"))
        with pytest.raises(ChannelError):
            await setup.channel.post_group(setup.target, cards)
        first = await setup.channel.post_group(setup.target, cards)
        other = await setup.channel.post_group(setup.target, (*cards, _card(2)))

        assert [one["id"] for one in setup.server.messages(CHANNEL)] == [first, other]
