"""Limit what a notification says, how large it is, and when it may be answered."""

import json
from dataclasses import replace

import pytest

from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.push import payload
from core.model.decision import Reason
from core.text.render import Redacted
from tests.channels.prompt_checks import Entry, asked
from tests.contracts.channel_examples import approval, plan, resolved
from tests.project.tracked import ROOT
from tests.support.hidden_characters import hidden
from tests.support.tables import rows

LISTS = frozenset({Reason.NOT_LISTED, Reason.ASK_ALWAYS})
SPOOFING: list[Entry] = json.loads((ROOT / "tests/corpus/prompts.json").read_text())


def _card() -> PromptCard:
    return build_prompt(approval(plan(("git", "push", "origin", "main"))))


def test_a_prompt_says_who_asks_what_and_where() -> None:
    """With the words against which the plan's digest is checked."""
    card = _card()
    note = payload.prompt("place", card)
    assert note.title == f"{card.agent} asks ({card.code})"
    assert card.command.text in note.text
    assert card.does.text in note.text
    assert card.digest in note.text
    assert note.about == card.id
    assert payload.is_answerable(card)


@pytest.mark.parametrize("size", [121, 5_000, 150_000])
def test_the_largest_prompt_is_small(size: int) -> None:
    """Whatever was asked, in the characters that take the most bytes."""
    wide = Redacted("\U0001f600" * size)
    card = replace(_card(), command=wide, cwd=wide, agent=wide, host=wide)
    assert not payload.is_answerable(card)
    assert len(payload.encoded(payload.prompt("place", card), "x" * 43)) <= payload.LARGEST


@rows(
    "change",
    [
        {"whole": False},
        {"plain": False},
        {"does": Redacted("x" * 121)},
        {"does": Redacted("reads\nwrites")},
        {"step_up": True},
        {"shell": Redacted("runs in bash")},
        {"segments": 2},
        {"odd": (Redacted("git is not git"),)},
        {"env_names": (Redacted("GIT_DIR"),)},
        {"people": Redacted("two of them")},
        {"asked": 2},
        {"command": Redacted("")},
        {"command": Redacted("x" * 121)},
        {"command": Redacted("a\nb")},
        {"cwd": Redacted("/" + "x" * 80)},
        {"agent": Redacted("x" * 81)},
        {"host": Redacted("x" * 81)},
    ],
)
def test_what_leaves_something_out_is_not_answerable(change: dict[str, object]) -> None:
    """Each on its own; the card without the change is accepted (the control)."""
    card = _card()
    assert payload.is_answerable(card)
    assert not payload.is_answerable(replace(card, **change))  # type: ignore[arg-type]


@rows("reason", [one for one in Reason if one not in LISTS])
def test_any_reason_but_a_list_is_not_answerable(reason: Reason) -> None:
    """It warns of what the line does not say: settings, input, what a wrapper hides."""
    asks = approval(plan(("git", "status")))
    card = build_prompt(replace(asks, evaluation=replace(asks.evaluation, reason=reason)))
    assert not payload.is_answerable(card)


@pytest.mark.parametrize("reason", sorted(LISTS))
def test_lists_are_answerable(reason: Reason) -> None:
    """The control; and one that runs another program is not."""
    asks = approval(plan(("git", "status")))
    asks = replace(asks, evaluation=replace(asks.evaluation, reason=reason))
    assert payload.is_answerable(build_prompt(asks))
    (command,) = asks.plan.commands
    wrapped = replace(asks.plan, commands=(replace(command, inner=(command,)),))
    assert not payload.is_answerable(build_prompt(replace(asks, plan=wrapped)))


def test_later_states_have_the_tag_of_the_first() -> None:
    """Of one place; another place's tag says nothing about this one's."""
    asks = approval()
    first = payload.prompt("here", build_prompt(asks))
    assert payload.outcome("here", build_outcome(asks)).tag == first.tag
    assert payload.prompt("there", build_prompt(asks)).tag != first.tag
    assert asks.id not in first.tag


def test_a_notice_is_cut() -> None:
    """To a few lines."""
    note = payload.notice("tag", NoticeCard(Redacted("x" * 10_000)))
    assert len(note.text) == 200
    assert json.loads(payload.encoded(note))["title"] == "Sayso"


def test_nothing_hidden_is_in_a_notification() -> None:
    """Of no spoofing prompt; what is shown of them is not answered in passing."""
    for entry in SPOOFING:
        card = build_prompt(asked(entry))
        for note in (payload.prompt("place", card), payload.outcome("place", _ended(entry))):
            shown = (note.title + note.text).replace("\n", "")
            assert not any(map(hidden, shown)), entry["id"]


def _ended(entry: Entry) -> OutcomeCard:
    return build_outcome(replace(asked(entry), resolution=resolved()))
