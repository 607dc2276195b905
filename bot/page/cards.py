"""Render the card of an approval: the content of the chats' cards, as a page shows it."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from secrets import token_hex

from bot.page.render import Renderer
from channels.cards.build import build_outcome, build_prompt
from channels.cards.card import OutcomeCard, PromptCard
from channels.cards.lines import details, front, whole_text
from channels.cards.text import digest_words
from core.model.approval import Approval
from core.model.evidence import Surface, View
from core.model.identity import Actor, ApprovalId
from core.model.result import Denied, Finished, Submission, Unknown
from core.text.render import Redacted

_MOST_KEPT = 512
_LONG = 1_500
"""Length up to which a list shows a whole command; a longer one is shown whole on its own page."""
_LINES = 14
_DEADLINE = "Answer by"


@dataclass(frozen=True, slots=True)
class ShownCard:
    """One card as HTML; ``rev`` changes with what it says. ``text`` is what a person reads.

    ``whole``: all of its command is shown.
    """

    id: str
    rev: str
    html: str
    text: str
    whole: bool

    def seen_by(self, actor: Actor) -> View:
        """Return the record that a person is shown this card."""
        surface = Surface.WHOLE if self.whole else Surface.LIST
        return View(ApprovalId(self.id), actor, surface, self.text)


@dataclass(slots=True)
class Cards:
    """The cards of what waits, rendered once for all visitors.

    A card contains a random placeholder, which is replaced with each session's own CSRF token.
    """

    render: Renderer
    _place: str = field(default_factory=lambda: token_hex(32), repr=False)
    _kept: OrderedDict[str, ShownCard] = field(default_factory=OrderedDict)

    def listed(self, approval: Approval, csrf: str) -> ShownCard:
        """Return the card for a list: long commands are cut there, and cannot be allowed."""
        votes = "/".join(f"{vote.person}:{vote.reply}" for vote in approval.votes)
        key = (
            f"{approval.id} {approval.plan.digest} {approval.deadline_ms} {approval.asked} {votes}"
        )
        card = self._kept.get(key)
        if card is None:
            card = self._kept[key] = self._made(approval, whole=False)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return replace(card, html=card.html.replace(self._place, csrf))

    def whole(self, approval: Approval, csrf: str) -> ShownCard:
        """Return the card for a page of its own, with the whole command."""
        card = self._made(approval, whole=True)
        return replace(card, html=card.html.replace(self._place, csrf))

    def outcome(self, approval: Approval, status: Submission | None) -> OutcomeCard:
        """Return how an approval ended, in the words of the chats."""
        result = status if isinstance(status, Finished | Denied | Unknown) else None
        return build_outcome(approval, result, self.render.zone)

    def ending(self, approval: Approval, status: Submission | None) -> str:
        """Return how an approval ended, to be shown in place of its card in a list."""
        return self.render.text("ended.html", card=self.outcome(approval, status))

    def _made(self, approval: Approval, *, whole: bool) -> ShownCard:
        card = build_prompt(approval, self.render.zone)
        cut = not whole and is_long(card)
        html = self.render.text(
            "card.html",
            card=card,
            cut=cut,
            command=beginning(card.command) if cut else card.command,
            facts=[fact for fact in front(card) if fact.label != _DEADLINE],
            details=details(card),
            csrf=self._place,
            check=digest_words(approval.plan.digest),
            whole=whole,
            has_task=approval.plan.task is not None,
        )
        rev = hashlib.sha256(html.replace(self._place, "").encode()).hexdigest()[:12]
        shown = html.replace("@rev@", rev, 1)
        text = beginning(card.command).text if cut else whole_text(card)
        return ShownCard(card.id, rev, shown, text, whole=whole)


def is_long(card: PromptCard) -> bool:
    """Return whether a list has no room for the whole command."""
    text = card.command.text
    return len(text) > _LONG or text.count("\n") >= _LINES


def beginning(command: Redacted) -> Redacted:
    """Return the beginning of a command that a list has room for."""
    return Redacted("\n".join(command.text[:_LONG].split("\n")[:_LINES]))
