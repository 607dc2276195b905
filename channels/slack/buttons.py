"""Make buttons, and read what a press of one sends back.

A button carries the decision in its ``action_id`` and the approval id in its ``value``. The id is
no secret: who may answer is checked at the press.
"""

import re

from channels.cards import PromptCard
from channels.commands import Approve, Command, Malformed
from channels.slack.layout import Json, plain, weight
from core.model.approval import ApprovalReply

_LABELS = {
    ApprovalReply.ALLOW_ONCE: "Allow once",
    ApprovalReply.ALLOW_ALWAYS: "Always allow…",
    ApprovalReply.DENY: "Deny",
}
_STYLES = {ApprovalReply.ALLOW_ONCE: "primary", ApprovalReply.DENY: "danger"}
_ACTION = re.compile(r"approval:(allow-once|allow-always|deny)")
_ID = re.compile(r"[0-9a-hjkmnp-tv-z]{26}")
_FOREIGN = "This button is from another version of Sayso, so nothing was changed. Use /approve."
_MAX_CONFIRM = 300
_SEE_ABOVE = "What would be stored stands in the prompt, at “Allow always stores”."


def row(card: PromptCard, *, offered: bool) -> Json:
    """Return the buttons of a prompt; ``offered``: the whole command was shown here."""
    allow = [ApprovalReply.ALLOW_ONCE] if card.approvable and offered else []
    always = [ApprovalReply.ALLOW_ALWAYS] if card.offers_always and offered else []
    buttons = [_button(card, reply) for reply in (*allow, *always, ApprovalReply.DENY)]
    return {"type": "actions", "block_id": f"approval:{card.id}", "elements": buttons}


def decode(action_id: str, value: str) -> Command:
    """Read the press of a button."""
    action = _ACTION.fullmatch(action_id)
    if action is None or not _ID.fullmatch(value):
        return Malformed(_FOREIGN)
    return Approve(value, ApprovalReply(action[1]))


def _button(card: PromptCard, reply: ApprovalReply) -> Json:
    button: Json = {
        "type": "button",
        "action_id": f"approval:{reply}",
        "text": plain(_LABELS[reply]),
        "value": card.id,
    }
    if reply in _STYLES:
        button["style"] = _STYLES[reply]
    if reply is ApprovalReply.ALLOW_ALWAYS:
        button["confirm"] = _confirmation(card)
    return button


def _confirmation(card: PromptCard) -> Json:
    stored = "\n".join(pattern.text for pattern in card.promise)
    told = f"Stored for agent {card.agent.text}, until it is revoked:\n{stored}"
    return {
        "title": plain("Allow from now on?"),
        "text": plain(told if weight(told) <= _MAX_CONFIRM else _SEE_ABOVE),
        "confirm": plain("Always allow"),
        "deny": plain("Back"),
    }
