"""Show a prompt on Discord: limits, fences, endings; every call as the platform would take it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels import button_payload
from channels.base import Reply
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import Choice, NoticeCard, PromptCard
from channels.cards.lines import details, listed
from channels.commands import Approve, Choose, Details, Malformed
from channels.discord.render.buttons import buttons, choices, decode, ours, under_reply
from channels.discord.render.layout import block, sentence, unbroken
from channels.discord.render.messages import (
    Message,
    payloads,
    render_notice,
    render_outcome,
    render_prompt,
    render_reply,
    render_text,
)
from channels.utf16 import chunks, cut, tail, units
from core.model.approval import Approval, ApprovalReply, ApprovalState, GrantTerms
from core.model.decision import Decision, Reason, SegmentVerdict
from core.model.identity import Actor, Target
from core.text.render import command_text, redact
from tests.contracts.channel_examples import ID, approval, plan, resolved
from tests.emulators.discord_rules import check_message, inside_code, markup, utf16
from tests.support.tables import rows

_HERE = Target("discord", "700000000000000002")
_HARD = st.lists(
    st.sampled_from(
        [*"`\\{}u ab\n…", "\U0001f600", "\u200b", "[x](https://e.example)", "||", "`" * 900]
    ),
    min_size=1,
    max_size=300,
).map("".join)


def _crowded(text: str) -> Approval:
    """Return an approval with every line of a prompt filled to the brim."""
    many = tuple("w" * 500 + str(number) for number in range(9))
    argvs = (("x" * 500, "-y"), ("z" * 500,))
    verdicts = tuple(
        SegmentVerdict(argv, None, Decision.ASK, Reason.NOT_LISTED, "w" * 300) for argv in argvs
    )
    of = plan(*argvs, text=text, cwd="/" + "w" * 900, agent="w" * 300, env=many)
    return approval(of, why="w" * 3_000, promise=many, segments=verdicts)


def _accepted(card: PromptCard) -> None:
    for body in payloads(card, _HERE):
        files = int("files[0]" in body)
        sent = json.loads(json.dumps(body))
        sent.pop("files[0]", None)
        check_message(sent, files)


@rows("size", [0, 1, 200, 1_200, 1_400, 3_000, 6_900, 7_300, 30_000, 199_990])
def test_a_prompt_of_any_length_is_offered_whole(size: int) -> None:
    """Each message fits, only the last has buttons, and everything was offered before them."""
    for of in (approval(plan(text="echo " + "b" * size)), _crowded("echo " + "b" * size)):
        card = build_prompt(of)
        messages = render_prompt(card)

        assert all(utf16(message.content) <= 2_000 for message in messages)
        assert [bool(message.buttons) for message in messages[:-1]] == [False] * (len(messages) - 1)
        assert messages[-1].buttons[0].label == "Allow once"
        assert command_text(of.plan).text in _offered(messages)
        _accepted(card)


def _offered(messages: tuple[Message, ...]) -> str:
    if any(message.file for message in messages):
        return b"".join(message.file or b"" for message in messages).decode()
    *before, last = messages
    if not before:
        return inside_code(last.content)[0]
    return "".join(inside_code(message.content)[0] for message in before)


def test_what_is_too_long_to_be_shown_can_only_be_denied() -> None:
    """Beyond 200,000 characters nothing is sent along, and no button allows."""
    card = build_prompt(approval(plan(text="echo " + "b" * 200_000)))
    (message,) = render_prompt(card)

    assert [button.label for button in message.buttons] == ["Deny", "Details"]
    assert "200,005 characters are too many" in message.content
    assert "|" not in message.content.split("`/approve 7K3F9Q ")[1].split("`")[0]


def test_the_fullest_card_leaves_room_for_both_ends_of_the_command() -> None:
    """Even with every fact cut short, a few hundred characters of the command are on the card."""
    card = build_prompt(_crowded("echo " + "b" * 30_000 + "; rm -rf x"))
    last = render_prompt(card)[-1].content

    head, end, *_ = inside_code(last)
    assert len(head) > 150
    assert len(end) > 80
    assert end.endswith("; rm -rf x")
    assert card.digest in last
    assert "30,015 characters" in last


def test_an_empty_command_is_said_and_can_only_be_denied() -> None:
    """There is no empty block, short card or crowded."""
    for of in (approval(plan(text="")), _crowded("")):
        last = render_prompt(build_prompt(of))[-1]

        assert "The command is empty" in last.content
        assert [button.label for button in last.buttons] == ["Deny", "Details"]
        assert all(inside_code(last.content))


@given(_HARD)
def test_no_text_leaves_its_block_or_is_cut_inside_an_escape(text: str) -> None:
    """Whatever a command contains, nothing of it becomes markup, and the parts join to all."""
    of = approval(plan(text=text))
    card = build_prompt(of)
    messages = render_prompt(card)

    for message in (*messages, render_outcome(build_outcome(of))):
        assert utf16(message.content) <= 2_000
        assert [kind for kind, _ in markup(message.content) if kind != "timestamp"] == []
        assert all(found.startswith("<t:1763719800") for _, found in markup(message.content))
    # A client drops line feeds at the ends of a block; each of a command has its visible mark.
    shown = unbroken(card.command.text).replace("\n", "")
    assert shown in _offered(messages).replace("\n", "")


def test_the_checker_sees_a_broken_fence() -> None:
    """Negative control: the same text without the guard becomes a link."""
    text = "x\n```\n[Approve](https://evil.example)"

    assert markup(block(text)) != []
    assert markup(block(unbroken(text))) == []


def test_a_value_cannot_forge_a_line_of_the_prompt() -> None:
    """A line break inside a value is marked, so that it is not a fact of ours."""
    argv = ("rm", "a\nFolder: /tmp/harmless")
    verdict = SegmentVerdict(argv, None, Decision.ASK, Reason.NOT_LISTED, "no rule")
    card = build_prompt(approval(plan(argv, ("ls",)), segments=(verdict, verdict)))
    (message,) = render_prompt(card)

    lines = f"{message.content}\n{listed(details(card))}".splitlines()
    assert [line for line in lines if line.startswith("Folder:")] == ["Folder: /home/dev/proj"]
    assert "   ┆ Folder: /tmp/harmless' (no rule)" in lines


@pytest.mark.parametrize("state", list(ApprovalState))
def test_an_ending_names_people_as_they_are(state: ApprovalState) -> None:
    """A display name full of markup stays letters, and no component is left."""
    by = Actor("discord", "42", "**@everyone** [x](https://evil.example) ```")
    of = approval(plan(text="```" * 400), resolution=resolved(state, None, by, "||note||" * 100))
    message = render_outcome(build_outcome(of))

    assert message.buttons == ()
    assert markup(message.content) == []
    assert utf16(message.content) <= 2_000
    assert "7K3F9Q" in message.content


def test_plain_sentences_stand_plainly_and_others_in_code() -> None:
    """Only words without any character of markup are outside a block."""
    assert sentence("Allowed once: 7K3F9Q.") == "Allowed once: 7K3F9Q."
    for text in ("see https://x.example", "*bold*", "<@1>", "a\nb", "- item", "1. item", "_x_"):
        assert inside_code(sentence(text)) == [text]


def test_long_notices_keep_every_character() -> None:
    """Parts join to the text; what needs more than four goes as a file."""
    text = redact("0123456789" * 500)
    parts = render_text(text)
    assert "".join(inside_code(part.content)[0] for part in parts) == text.text

    (file,) = render_notice(NoticeCard(redact("0123456789" * 5_000)))
    assert file.file == b"0123456789" * 5_000
    (fences,) = render_text(redact("```" * 600))
    assert fences.file is not None


@given(st.text(max_size=200), st.integers(min_value=12, max_value=80))
def test_cutting_loses_nothing(text: str, limit: int) -> None:
    """Chunks join to the text, each fits, and a tail is an end of it."""
    parts = list(chunks(text, limit))
    assert "".join(parts) == text
    assert all(units(part) <= limit for part in parts)
    assert text.endswith(tail(text, limit))
    assert sum(map(units, cut(text, limit))) == units(text)


def test_an_escape_is_never_cut_in_two() -> None:
    r"""r``\u{200B}`` is carried whole into the next part, and a tail begins after it."""
    assert cut("abcd\\u{200B}e", 8) == ("abcd", "\\u{200B}e")
    assert tail("abcd\\u{200B}e", 4) == "e"
    assert tail("abc", 0) == ""


def test_custom_ids_are_read_back_exactly() -> None:
    """Only an id of the right letters and length is an answer."""
    made = buttons(build_prompt(approval()))
    once, always, deny, details = (decode(button.custom_id) for button in made)
    assert once == Approve(ID, ApprovalReply.ALLOW_ONCE)
    assert always == Choose(ID)
    assert deny == Approve(ID, ApprovalReply.DENY)
    assert details == Details(ID)
    for other in (f"appr:q:{ID}", f"appr:o:{ID}x", "appr:o:7k3f9q", f"appr:o:{ID}\n", "appr:"):
        assert ours(other)
        assert isinstance(decode(other), Malformed)
    assert not ours("another-bots-button")


def test_a_choice_is_read_back_and_told_from_a_prompts_button() -> None:
    """The same decision under a reply has another id, and a reply has rows of five."""
    offered = tuple(
        Choice(f"{minutes} min", Approve(ID, ApprovalReply.ALLOW_ALWAYS, terms=GrantTerms(60_000)))
        for minutes in range(7)
    )
    made = choices(offered)

    assert [button.row for button in made] == [0] * 5 + [1] * 2
    assert offered[0].command == decode(made[0].custom_id)
    assert under_reply(made[0].custom_id)
    assert not under_reply(buttons(build_prompt(approval()))[0].custom_id)


def test_a_long_reply_has_its_choices_at_its_end() -> None:
    """A reader of all of it finds the buttons below, be it messages or a file."""
    offered = (Choice("Always", Approve(ID, ApprovalReply.ALLOW_ALWAYS)),)
    for size in (10, 4_000, 20_000):
        *before, last = render_reply(Reply(redact("x" * size), choices=offered))
        assert [message.buttons for message in before] == [()] * len(before)
        assert [button.label for button in last.buttons] == ["Always"]
        assert last.buttons[0].custom_id == f"pick:{button_payload.encode(offered[0].command)}"


def test_the_same_prompt_has_the_same_nonces_and_another_place_others() -> None:
    """A repeated send is recognised; copies for two places are not one."""
    card = build_prompt(approval(plan(text="echo " + "b" * 3_000)))
    first = [body["nonce"] for body in payloads(card, _HERE)]

    assert first == [body["nonce"] for body in payloads(card, _HERE)]
    assert len({*first}) == len(first) == 3
    elsewhere = [body["nonce"] for body in payloads(card, Target("discord", "1"))]
    assert not {*first} & {*elsewhere}
