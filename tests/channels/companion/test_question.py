"""Give a dialog the words of a chat prompt, and no key that a button would not have."""

from dataclasses import replace

import pytest

from channels.cards.build import build_prompt
from channels.cards.lines import details, front
from channels.companion.question import question_of
from core.model.approval import ApprovalReply
from tests.contracts.channel_examples import approval, plan


def test_a_dialog_has_the_words_of_the_prompt() -> None:
    """Command, lines in front and details are the card's own; the digest is the plan's."""
    card = build_prompt(approval())
    question = question_of(card)

    assert card.command.text == question.command
    assert [(fact.label, fact.value.text) for fact in front(card)] == [
        (line.label, line.value) for line in question.front
    ]
    assert [(fact.label, fact.value.text) for fact in details(card)] == [
        (line.label, line.value) for line in question.details
    ]
    assert plan().digest == question.digest
    assert list(ApprovalReply) == list(question.answers)


@pytest.mark.parametrize("change", [{"step_up": True}, {"whole": False}])
def test_what_no_button_may_allow_has_one_key(change: dict[str, bool]) -> None:
    """A question that needs typed words, or is not shown whole, can only be denied here."""
    question = question_of(replace(build_prompt(approval()), **change))  # type: ignore[arg-type]

    assert (ApprovalReply.DENY,) == question.answers


def test_without_a_promise_there_is_no_always() -> None:
    """Allow-always is a key only if something would be stored."""
    question = question_of(replace(build_prompt(approval()), promise=()))

    assert (ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY) == question.answers
