"""Make buttons, and read what they send back; pure.

A press carries ``appr:o:<id>``: the decision (``o`` once, ``a`` always, ``d`` deny) and the
approval id. That is 33 characters of the 100 that Discord allows. The id is no secret: who may
answer is checked at the press.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

from channels.cards import PromptCard
from channels.commands import Approve, Command, Malformed
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId

PREFIX = "appr:"


class Style(IntEnum):
    """Discord's button styles, as sent."""

    GREY = 2
    GREEN = 3
    RED = 4


@dataclass(frozen=True, slots=True)
class Button:
    """One button of a prompt."""

    label: str
    custom_id: str
    style: Style


_LETTERS = {
    ApprovalReply.ALLOW_ONCE: "o",
    ApprovalReply.ALLOW_ALWAYS: "a",
    ApprovalReply.DENY: "d",
}
_REPLIES = {letter: reply for reply, letter in _LETTERS.items()}
_LOOKS = {
    ApprovalReply.ALLOW_ONCE: ("Allow once", Style.GREEN),
    ApprovalReply.ALLOW_ALWAYS: ("Allow always", Style.GREY),
    ApprovalReply.DENY: ("Deny", Style.RED),
}
_ID = re.compile(PREFIX + r"([oad]):([0-9a-hjkmnp-tv-z]{26})")
_FOREIGN = "This button is from another version of Sayso, so nothing was changed. Use /approve."


def buttons(card: PromptCard) -> tuple[Button, ...]:
    """Return the buttons of a prompt; those that allow only where allowing may be offered."""
    once = (ApprovalReply.ALLOW_ONCE,) if card.approvable else ()
    always = (ApprovalReply.ALLOW_ALWAYS,) if card.offers_always else ()
    return tuple(
        Button(_LOOKS[reply][0], encode(reply, card.id), _LOOKS[reply][1])
        for reply in (*once, *always, ApprovalReply.DENY)
    )


def encode(reply: ApprovalReply, approval: ApprovalId) -> str:
    """Return the custom id of one button."""
    return f"{PREFIX}{_LETTERS[reply]}:{approval}"


def decode(custom_id: str) -> Command:
    """Read the custom id of a press."""
    match = _ID.fullmatch(custom_id)
    return Approve(match[2], _REPLIES[match[1]]) if match else Malformed(_FOREIGN)
