"""Turn a prompt's card into what a companion's dialog shows; pure except for the clock."""

import time

from channels.cards.card import PromptCard
from channels.cards.lines import Fact, details, front
from core.companion.frames import Line, Question
from core.model.approval import ApprovalReply


def question_of(card: PromptCard) -> Question:
    """Return what a dialog shows: the text of a prompt in a chat, under the protocol's keys."""
    once = (ApprovalReply.ALLOW_ONCE,) if card.approvable and not card.step_up else ()
    always = (ApprovalReply.ALLOW_ALWAYS,) if card.offers_always and not card.step_up else ()
    return Question(
        id=card.id,
        code=card.code,
        command=card.command.text,
        whole=card.whole,
        warning=card.shell.text,
        cwd=card.cwd.text,
        agent=card.agent.text,
        session=card.session.text,
        host=card.host.text,
        security=card.security,
        ask=card.ask,
        resolved=tuple(one.text for one in card.resolved),
        reasons=card.why.text,
        front=_lines(front(card)),
        details=_lines(details(card)),
        answers=(*once, *always, ApprovalReply.DENY),
        digest=card.plan_digest,
        deadline_ms=card.expires_at_ms,
        left_ms=max(0, card.expires_at_ms - time.time_ns() // 1_000_000),
    )


def _lines(facts: tuple[Fact, ...]) -> tuple[Line, ...]:
    return tuple(Line(label=fact.label, value=fact.value.text) for fact in facts)
