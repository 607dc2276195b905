"""Build buttons, and decode what they send back; pure.

A custom id is our mark and a press (``channels.button_payload``): ``appr:`` on a prompt,
``pick:`` under a reply. That is at most 63 of the 100 characters that Discord allows. The id in it
is not a secret: who may answer is checked at the press.
"""

from dataclasses import dataclass
from enum import IntEnum

from channels import button_payload
from channels.cards.card import Choice, PromptCard
from channels.cards.text import ON_PAGE, ON_PAGE_SHORT
from channels.commands import Approve, Choose, Command, Details
from core.model.approval import ApprovalReply

ROW = 5
"""Buttons in a row, and rows under a message (Discord API, "Message Components")."""

_PROMPT = "appr:"
_REPLY = "pick:"
_LONGEST_LABEL = 80


class Style(IntEnum):
    """Discord's button styles, as sent."""

    GREY = 2
    GREEN = 3
    RED = 4
    LINK = 5


@dataclass(frozen=True, slots=True)
class Button:
    """One button of a message; rows count from 0. One with ``url`` opens a page, sends nothing."""

    label: str
    custom_id: str
    style: Style
    row: int = 0
    url: str = ""


def buttons(card: PromptCard) -> tuple[Button, ...]:
    """Return the buttons of a prompt; those that allow only if allowing may be offered."""
    return _four(card, ("Allow once", "Always allow…", "Deny", "Details"), 0)


def labelled(card: PromptCard, row: int) -> tuple[Button, ...]:
    """Return the buttons of one prompt of several: each says which prompt it answers."""
    words = ("once", "always…", "deny", "details")
    return _four(card, tuple(f"{card.code} {word}" for word in words), row)


def choices(offered: tuple[Choice, ...]) -> tuple[Button, ...]:
    """Return the buttons under a reply, in rows of five."""
    return _in_rows(offered, _REPLY)


def notice_buttons(offered: tuple[Choice, ...]) -> tuple[Button, ...]:
    """Return the buttons under a notice, which stays as it is when one is pressed."""
    return _in_rows(offered, _PROMPT)


def _in_rows(offered: tuple[Choice, ...], mark: str) -> tuple[Button, ...]:
    return tuple(
        Button(
            choice.label[:_LONGEST_LABEL],
            mark + button_payload.encode(choice.command),
            Style.GREY,
            number // ROW,
        )
        for number, choice in enumerate(offered)
    )


def ours(custom_id: str) -> bool:
    """Return whether a button is one of Sayso's, of any version."""
    return custom_id.startswith((_PROMPT, _REPLY))


def under_reply(custom_id: str) -> bool:
    """Return whether a button is under a reply, which is not a copy of a prompt."""
    return custom_id.startswith(_REPLY)


def decode(custom_id: str) -> Command:
    """Decode the custom id of a press."""
    mark = _REPLY if under_reply(custom_id) else _PROMPT
    return button_payload.decode(custom_id.removeprefix(mark))


def asks(custom_id: str) -> str:
    """Return the id of the prompt that a button is under; empty if it is not one of ours."""
    if not custom_id.startswith(_PROMPT):
        return ""
    command = decode(custom_id)
    return command.ref if isinstance(command, Approve | Choose | Details) else ""


def _four(card: PromptCard, labels: tuple[str, ...], row: int) -> tuple[Button, ...]:
    once, always, deny, details = labels
    made: list[Button] = []
    if card.allowed_on:
        label = f"{card.code} {ON_PAGE_SHORT}" if once.startswith(card.code) else ON_PAGE
        made.append(Button(label, "", Style.LINK, row, card.allowed_on))
    elif card.approvable:
        press = button_payload.answer(ApprovalReply.ALLOW_ONCE, card.id)
        made.append(Button(once, _PROMPT + press, Style.GREEN, row))
    if card.offers_always and not card.allowed_on:
        made.append(
            Button(always, _PROMPT + button_payload.encode(Choose(card.id)), Style.GREY, row)
        )
    press = button_payload.answer(ApprovalReply.DENY, card.id)
    more = _PROMPT + button_payload.encode(Details(card.id))
    made.append(Button(deny, _PROMPT + press, Style.RED, row))
    return (*made, Button(details, more, Style.GREY, row))
