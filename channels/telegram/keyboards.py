"""Make buttons, and read what they send back.

A press carries ``a1|o|<id>``: a format mark, the decision (``o`` once, ``a`` always, ``d`` deny)
and the approval id. That is 31 bytes of the 64 that Telegram allows. The id is no secret: who may
answer is checked at the press.
"""

import re

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from channels.cards import PromptCard
from channels.commands import Approve, Command, Malformed
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId

_LETTERS = {
    ApprovalReply.ALLOW_ONCE: "o",
    ApprovalReply.ALLOW_ALWAYS: "a",
    ApprovalReply.DENY: "d",
}
_REPLIES = {letter: reply for reply, letter in _LETTERS.items()}
_LABELS = {
    ApprovalReply.ALLOW_ONCE: "Allow once",
    ApprovalReply.ALLOW_ALWAYS: "Allow always",
    ApprovalReply.DENY: "Deny",
}
_DATA = re.compile(r"a1\|([oad])\|([0-9a-hjkmnp-tv-z]{26})")
_FOREIGN = "This button is from another version of Sayso, so nothing was changed. Use /approve."


def keyboard(card: PromptCard) -> InlineKeyboardMarkup:
    """Return the buttons of a prompt; those that allow only where allowing may be offered."""
    allow = [ApprovalReply.ALLOW_ONCE] if card.approvable else []
    always = [ApprovalReply.ALLOW_ALWAYS] if card.offers_always else []
    row = [
        InlineKeyboardButton(_LABELS[reply], callback_data=encode(reply, card.id))
        for reply in (*allow, *always, ApprovalReply.DENY)
    ]
    return InlineKeyboardMarkup([row])


def encode(reply: ApprovalReply, approval: ApprovalId) -> str:
    """Return the callback data of one button."""
    return f"a1|{_LETTERS[reply]}|{approval}"


def decode(data: str) -> Command:
    """Read the callback data of a press."""
    match = _DATA.fullmatch(data)
    return Approve(match[2], _REPLIES[match[1]]) if match else Malformed(_FOREIGN)
