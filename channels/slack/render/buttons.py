"""Build buttons, and decode what a press sends back.

A button's ``action_id`` is the press of ``channels.button_payload`` and its block says where it is:
below a prompt, or below a reply whose buttons the press removes.
"""

from channels.button_payload import answer, decode, encode
from channels.cards.card import Choice, PromptCard
from channels.cards.text import ON_PAGE, ON_PAGE_SHORT
from channels.commands import Choose, Command, Details
from channels.slack.render.layout import Json, cut, plain
from core.model.approval import ApprovalReply

ALLOW_ONCE, ALWAYS, DENY, DETAILS = "Allow once", "Always allow…", "Deny", "Details"
_GROUPED = {ALLOW_ONCE: "once", ALWAYS: "always…", DENY: "deny", DETAILS: "details"}
_STYLES = {ALLOW_ONCE: "primary", DENY: "danger"}
_CHOICES, _NOTICE = "choices", "notice"
_ROW = 5
_LABEL = 75


def row(card: PromptCard, *, offered: bool, grouped: bool = False) -> Json:
    """Return the buttons of a prompt; ``offered``: the whole command was shown here.

    ``grouped`` labels name the prompt's code, since other prompts are in the same message.
    """
    presses = {
        DENY: answer(ApprovalReply.DENY, card.id),
        DETAILS: encode(Details(card.id)),
    }
    opens = [_page_button(card, grouped=grouped)] if card.allowed_on and offered else []
    if card.offers_always and offered and not card.allowed_on:
        presses = {ALWAYS: encode(Choose(card.id)), **presses}
    if card.approvable and offered and not card.allowed_on:
        presses = {ALLOW_ONCE: answer(ApprovalReply.ALLOW_ONCE, card.id), **presses}
    buttons = [
        _button(f"{card.code} {_GROUPED[label]}" if grouped else label, press, _STYLES.get(label))
        for label, press in presses.items()
    ]
    return {"type": "actions", "block_id": f"approval:{card.id}", "elements": [*opens, *buttons]}


def _page_button(card: PromptCard, *, grouped: bool) -> Json:
    """Return the button that opens the prompt's page; Slack reports the press all the same."""
    label = f"{card.code} {ON_PAGE_SHORT}" if grouped else ON_PAGE
    return {**_button(label, f"page:{card.id}"), "url": card.allowed_on}


def choice_rows(choices: tuple[Choice, ...]) -> list[Json]:
    """Return the buttons below a reply, a few in a row."""
    return _rows(choices, _CHOICES)


def notice_rows(choices: tuple[Choice, ...]) -> list[Json]:
    """Return the buttons below a notice, which stays as it is when one is pressed."""
    return _rows(choices, _NOTICE)


def _rows(choices: tuple[Choice, ...], block: str) -> list[Json]:
    buttons = [_button(choice.label, encode(choice.command)) for choice in choices]
    return [
        {"type": "actions", "block_id": f"{block}:{at}", "elements": buttons[at : at + _ROW]}
        for at in range(0, len(buttons), _ROW)
    ]


def decode_press(action_id: str, block_id: str) -> tuple[Command, bool]:
    """Decode a press; the flag means that it was a choice below a reply.

    Buttons of earlier versions (``approval:allow-once``) are ``Malformed``.
    """
    return decode(action_id), block_id.partition(":")[0] == _CHOICES


def _button(label: str, press: str, style: str | None = None) -> Json:
    shown = plain(cut(label, _LABEL)[0])
    button: Json = {"type": "button", "action_id": press, "text": shown}
    return button | {"style": style} if style else button
