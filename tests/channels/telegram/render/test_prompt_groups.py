"""Put several prompts in one message: whole, or not at all, and true to the end."""

from bisect import bisect_left
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.base import Groups
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import OutcomeCard, PromptCard
from channels.commands import Approve
from channels.telegram.render.messages import Message
from channels.telegram.render.prompt_groups import fits, render_group
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import PinnedDirectory
from core.model.identity import Actor, ApprovalId, Target
from tests.channels.telegram.bot_and_user import ANA, CHAT, GROUP, TelegramUsers
from tests.channels.telegram.render.accepted import accepted
from tests.contracts.channel_examples import ID, OTHER_ID, approval, plan, resolved
from tests.contracts.channel_setup import RecordingInbox
from tests.emulators.telegram_rules import check_markup, tappable, utf16

_TEXT = st.text(st.characters(exclude_categories=()), max_size=120)
_BOT = "x" * 32
_NAME = "Ana " * 40


def _cards(*texts: str) -> tuple[PromptCard, ...]:
    return tuple(build_prompt(one) for one in _approvals(*texts))


def _approvals(*texts: str) -> tuple[Approval, ...]:
    return tuple(
        approval(plan(text=text), id=ApprovalId(f"{number:06d}{ID[6:]}"))
        for number, text in enumerate(texts)
    )


def _labels(message: Message) -> list[list[str]]:
    rows = message.markup.inline_keyboard if message.markup else ()
    return [[button.text for button in row] for row in rows]


def test_each_prompt_stands_in_full_with_its_row() -> None:
    """Code, command, main facts and buttons of each."""
    first = build_prompt(approval())
    second = build_prompt(approval(plan(text="curl x | sh"), id=OTHER_ID, promise=()))
    message = render_group((first, second))

    assert message.text.startswith("Allow these 2 commands?\n\n1. 7K3F9Q\nrm -rf /srv/x")
    for words in ("2. 2MZZ8X\ncurl x | sh\n⚠ A shell will run", "Folder: /home/dev/proj"):
        assert words in message.text
    for label in ("Agent", "Why", "Why you are asked", "Answer by", "Program"):
        assert 2 == message.text.count(f"{label}: ")
    assert message.text.endswith("Or send /approve CODE allow-once|deny")
    assert [
        ["7K3F9Q once", "7K3F9Q always…", "7K3F9Q deny"],
        ["2MZZ8X once", "2MZZ8X deny"],
    ] == _labels(message)


@pytest.mark.parametrize(("letter", "width"), [("x", 1), ("\u4f60", 1), ("\U00020000", 2)])
def test_fits_is_exact_in_utf16_units(letter: str, width: int) -> None:
    """4096 units fit and no more; characters beyond U+FFFF count twice."""

    def size(count: int) -> int:
        return utf16(render_group(_cards(letter * count, "a"), _BOT).text)

    most = bisect_left(range(4096), 1, key=lambda n: not fits(_cards(letter * n, "a"), _BOT)) - 1

    assert size(most) <= 4096 < size(most + 1)
    assert 4096 - size(most) < width
    assert most * width > 2_800


def test_what_cannot_be_shown_whole_is_no_part_of_a_group() -> None:
    """Nothing is approved that was not shown, and no group is empty."""
    assert not fits(())
    assert not fits(_cards("x" * 5_000))
    assert not fits((replace(_cards("x")[0], whole=False),))
    assert not fits(_cards(*["ls"] * 40))


@settings(max_examples=60)
@given(
    st.lists(_TEXT, min_size=1, max_size=8),
    _TEXT,
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_what_fits_is_accepted_until_all_have_ended(
    texts: list[str], note: str, over: list[bool]
) -> None:
    """Whatever ended first and however it is worded, the message stays within every limit."""
    asked = tuple(
        replace(one, plan=replace(one.plan, cwd=PinnedDirectory(note or "/", 1, 2)))
        for one in _approvals(*texts)
    )
    cards: tuple[PromptCard, ...] = tuple(build_prompt(one) for one in asked)
    if not fits(cards, _BOT):
        return
    by = Actor("telegram", "42", _NAME)
    ended = resolved(ApprovalState.DENIED, ApprovalReply.DENY, by, note * 5)
    now: list[PromptCard | OutcomeCard] = [
        build_outcome(replace(one, resolution=ended)) if done else card
        for one, card, done in zip(asked, cards, over, strict=False)
    ]
    for state in (cards, tuple(now)):
        message = render_group(state, _BOT)
        accepted((message,))
        if message.markup is not None:
            check_markup(message.markup.to_json())
        raw = [entity.to_dict() for entity in message.entities]
        assert [] == tappable(message.text, raw)
    for card, done in zip(cards, over, strict=False):
        if not done:
            assert card.command.text in render_group(tuple(now), _BOT).text


async def test_a_press_in_a_group_names_its_own_approval(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """The pressed message is the posted one; the ended item's row is gone."""
    channel = setup.channel
    assert isinstance(channel, Groups)
    await channel.start(inbox)
    first, second = build_prompt(approval()), build_prompt(approval(id=OTHER_ID))
    message = await channel.post_group(setup.target, (first, second))
    await setup.server.press(CHAT, int(message), ANA, "2MZZ8X deny")
    (inbound,) = await inbox.take()
    outcome = build_outcome(approval(id=OTHER_ID, resolution=resolved()))
    for _ in range(2):
        await channel.update_group(setup.target, message, (first, outcome))
    await channel.update_group(setup.target, "99999", (first, outcome))
    await channel.stop()

    assert (Approve(OTHER_ID, ApprovalReply.DENY), message) == (inbound.command, inbound.replied_to)
    shown = setup.server.state.message(CHAT, int(message))
    assert shown["text"].startswith("2 commands, 1 still waiting")
    rows = shown["reply_markup"]["inline_keyboard"]
    assert [["7K3F9Q once", "7K3F9Q always…", "7K3F9Q deny"]] == [
        [button["text"] for button in row] for row in rows
    ]


async def test_in_a_group_chat_the_typed_command_names_the_bot(
    setup: TelegramUsers, inbox: RecordingInbox
) -> None:
    """Prompts and groups alike: a bot in privacy mode sees no bare command."""
    channel = setup.channel
    assert isinstance(channel, Groups)
    await channel.start(inbox)
    place = Target("telegram", str(GROUP))
    await channel.post(place, build_prompt(approval()))
    await channel.post_group(place, (build_prompt(approval(id=OTHER_ID)),))
    await channel.stop()

    for message in setup.server.messages(GROUP):
        assert "Or send /approve@sayso_test_bot " in message["text"]
