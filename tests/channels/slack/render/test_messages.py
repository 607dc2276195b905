"""Turn cards into messages that Slack takes and that hide nothing."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.cards.build import LONGEST_SHOWN, build_outcome, build_prompt
from channels.cards.card import NoticeCard
from channels.slack.render.layout import MAX_MESSAGE, chunks, cut, size, tail, weight
from channels.slack.render.messages import (
    Message,
    approvable,
    payloads,
    render_notice,
    render_outcome,
    render_prompt,
)
from core.model.command import PinnedDirectory
from core.model.identity import Target
from core.text.render import redact
from tests.channels.slack.workspace import boxed as boxes
from tests.channels.slack.workspace import labels as labels_of
from tests.contracts.channel_examples import ID, approval, plan, resolved
from tests.emulators.slack_rules import buttons, check_blocks, seen, units

_HOSTILE = st.text(st.characters(exclude_categories=()), max_size=200)
_ESCAPE = re.compile(r"\\u\{[0-9A-F\u00d7]+\}")
_HERE = Target("slack", "C0OPS0001")


def labels(message: Message) -> list[str]:
    """Return the labels of a message's buttons."""
    return labels_of(message.blocks)


def boxed(message: Message) -> str:
    """Return what the boxes of a message contain together."""
    return "".join(boxes(message.blocks))


@settings(max_examples=60)
@given(_HOSTILE, _HOSTILE, _HOSTILE, st.integers(min_value=1, max_value=400))
def test_any_card_is_accepted(command: str, folder: str, why: str, times: int) -> None:
    """Whatever is in the fields, and however long, no message breaks a limit."""
    of = replace(plan(text=command * times), cwd=PinnedDirectory(folder * 20, 1, 2))
    asked = approval(of, why=why * 20, promise=(why, folder))
    ended = replace(asked, resolution=resolved(note=why * 5))

    for message in (
        *render_prompt(build_prompt(asked)),
        render_outcome(build_outcome(ended)),
        *render_notice(NoticeCard(redact(command * times))),
    ):
        check_blocks(message.blocks)
        assert size(message.blocks) <= MAX_MESSAGE
        assert message.text


@pytest.mark.parametrize(("size_", "messages"), [(1_000, 1), (6_000, 1), (14_000, 3), (90_000, 13)])
def test_what_does_not_fit_goes_along_whole(size_: int, messages: int) -> None:
    """As further messages before the card; the buttons come last and only there."""
    command = "".join(f"{number:07d} " for number in range(size_ // 8)) + "; rm -rf x"
    card = build_prompt(approval(plan(text=command)))
    rendered = render_prompt(card)

    assert len(rendered) == messages
    assert [bool(labels(message)) for message in rendered] == [False] * (messages - 1) + [True]
    assert labels(rendered[-1]) == ["Allow once", "Always allow…", "Deny", "Details"]
    offered = "".join(boxed(message) for message in rendered[:-1]) or boxed(rendered[-1])
    assert command in offered
    assert "rm -rf x" in seen(rendered[-1].blocks)
    assert approvable(card)


def test_the_parts_are_numbered_and_hold_every_line_below_the_command() -> None:
    """Nothing that the card had to shorten is missing from the parts."""
    of = plan(text="x" * 20_000, cwd="/srv/" + "d" * 500)
    *parts, card = render_prompt(build_prompt(approval(of, why="w" * 500)))
    whole = "".join(boxed(part) for part in parts)

    assert "/srv/" + "d" * 500 in whole
    assert "w" * 500 in whole
    assert "[…" in seen(card.blocks)
    for number, part in enumerate(parts, 1):
        assert f"7K3F9Q · the whole command, part {number} of {len(parts)}" in seen(part.blocks)


@pytest.mark.parametrize("text", ["x" * (LONGEST_SHOWN + 1), "\u6f22" * 60_000])
def test_what_cannot_be_shown_can_only_be_denied(text: str) -> None:
    """One message, one button, and the typed form that it names is a denial, too."""
    card = build_prompt(approval(plan(text=text)))
    (message,) = render_prompt(card)

    assert labels(message) == ["Deny", "Details"]
    assert "it can only be denied here" in seen(message.blocks)
    assert "/approve 7K3F9Q deny (in" in seen(message.blocks)
    assert not approvable(card)


def test_buttons_carry_the_press_of_every_platform() -> None:
    """Always first asks for how long; without a promise there is no such button."""
    (message,) = render_prompt(build_prompt(approval()))
    presses = {one["text"]["text"]: one["action_id"] for one in buttons(message.blocks)}

    assert presses == {
        "Allow once": f"o:{ID}",
        "Always allow…": f"c:{ID}",
        "Deny": f"d:{ID}",
        "Details": f"i:{ID}",
    }
    (without,) = render_prompt(build_prompt(approval(promise=())))
    assert labels(without) == ["Allow once", "Deny", "Details"]


def test_the_hint_says_how_threads_take_it() -> None:
    """Slack has no slash commands in threads; the prompt says what to type there."""
    (message,) = render_prompt(build_prompt(approval()))

    hint = seen(message.blocks[-2:-1])
    assert hint.startswith("Or type /approve 7K3F9Q allow-once|allow-always|deny ")
    assert "in a thread without the slash" in hint


def test_bodies_name_place_thread_and_delivery() -> None:
    """Each message has its own delivery id, by which it can be found again."""
    place = Target("slack", "C0OPS0001", thread="1.000001")
    bodies = payloads(build_prompt(approval(plan(text="x" * 14_000))), place)

    assert {(body["channel"], body["thread_ts"]) for body in bodies} == {("C0OPS0001", "1.000001")}
    assert [body["metadata"] for body in bodies] == [
        {
            "event_type": "sayso_prompt",
            "event_payload": {"delivery": f"7k3f9q0123456789abcdefghjk/{number}/3"},
        }
        for number in (1, 2, 3)
    ]
    assert "thread_ts" not in payloads(build_prompt(approval()), _HERE)[0]


@settings(max_examples=200)
@given(_HOSTILE, st.integers(min_value=40, max_value=400))
def test_cutting_loses_nothing_and_splits_no_escape(text: str, limit: int) -> None:
    """Pieces weigh no more than they may, join to the text, and contain whole escapes."""
    shown = redact(text, multiline=True).text
    pieces = list(chunks(shown, limit))

    assert "".join(pieces) == shown
    assert all(weight(piece) <= limit for piece in pieces)
    assert all(units(piece) <= limit for piece in pieces)
    assert [one for piece in pieces for one in _ESCAPE.findall(piece)] == _ESCAPE.findall(shown)
    assert shown.endswith(tail(shown, limit))
    assert weight(tail(shown, limit)) <= limit


def test_a_cut_prefers_a_place_without_blanks() -> None:
    """A client may trim the ends of a box."""
    head, rest = cut("word " * 100, 100)

    assert head[-1] != " "
    assert rest[0] != " "
    assert head + rest == "word " * 100
