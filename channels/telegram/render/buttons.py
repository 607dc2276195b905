"""Build buttons, and decode what they send back; nothing about them is kept in memory.

The data of a press is our mark and a press of ``channels.button_payload``: ``p|o:<id>`` under
a prompt, ``r42|m30:<id>`` under a reply to user 42. That is 55 bytes at most; Telegram allows 64.
"""

import re
from dataclasses import dataclass

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from channels.button_payload import FOREIGN
from channels.button_payload import decode as decode_press
from channels.button_payload import encode as encode_press
from channels.cards.card import Choice, PromptCard
from channels.cards.text import ON_PAGE, ON_PAGE_SHORT
from channels.commands import Approve, Choose, Command, Malformed
from core.model.approval import ApprovalReply

MOST_BUTTONS = 100
"""Buttons under one message; Telegram refuses more."""
_LONGEST_LABEL = 40
_PER_ROW = 2
_DATA = re.compile(r"(?:p|r(?P<asked_by>[1-9][0-9]{0,19}))\|(?P<press>.+)")


@dataclass(frozen=True, slots=True)
class _Answer:
    """One button of a prompt: its label alone, its label next to a code, and what it means.

    With ``url`` it opens a page and sends nothing.
    """

    label: str
    short: str
    command: Command
    url: str = ""


@dataclass(frozen=True, slots=True)
class Pressed:
    """What a button means; ``asked_by`` is the person whom the choices under a reply are for."""

    command: Command
    asked_by: str = ""


def prompt_keyboard(card: PromptCard) -> InlineKeyboardMarkup:
    """Return the buttons of a prompt; those that allow only if allowing may be offered."""
    return InlineKeyboardMarkup(
        [[_button(answer.label, answer.command, answer.url) for answer in _answers(card)]]
    )


def group_keyboard(cards: tuple[PromptCard, ...]) -> InlineKeyboardMarkup | None:
    """Return a row of buttons for each prompt, labelled with its code; ``None`` without prompts."""
    rows = [
        [
            _button(f"{card.code} {answer.short}", answer.command, answer.url)
            for answer in _answers(card)
        ]
        for card in cards
    ]
    return InlineKeyboardMarkup(rows) if rows else None


def choice_keyboard(
    choices: tuple[Choice, ...], asked_by: str | int
) -> InlineKeyboardMarkup | None:
    """Return the buttons under a reply to a person; ``None`` without choices."""
    made = [
        InlineKeyboardButton(
            choice.label[:_LONGEST_LABEL],
            callback_data=f"r{asked_by}|{encode_press(choice.command)}",
        )
        for choice in choices
    ]
    rows = [made[start : start + _PER_ROW] for start in range(0, len(made), _PER_ROW)]
    return InlineKeyboardMarkup(rows) if rows else None


def notice_keyboard(choices: tuple[Choice, ...]) -> InlineKeyboardMarkup | None:
    """Return the buttons under a notice; ``None`` without choices."""
    made = [_button(choice.label[:_LONGEST_LABEL], choice.command) for choice in choices]
    return InlineKeyboardMarkup([made]) if made else None


def decode(data: str) -> Pressed:
    """Decode the data of a press; one not made by this version is ``Malformed``."""
    found = _DATA.fullmatch(data)
    if found is None:
        return Pressed(Malformed(FOREIGN))
    return Pressed(decode_press(found["press"]), found["asked_by"] or "")


def _answers(card: PromptCard) -> tuple[_Answer, ...]:
    once = (_Answer("Allow once", "once", Approve(card.id, ApprovalReply.ALLOW_ONCE)),)
    if card.allowed_on:
        there = Approve(card.id, ApprovalReply.ALLOW_ONCE)
        deny = _Answer("Deny", "deny", Approve(card.id, ApprovalReply.DENY))
        return (_Answer(ON_PAGE, ON_PAGE_SHORT, there, card.allowed_on), deny)
    always = (_Answer("Always allow…", "always…", Choose(card.id)),)
    deny = _Answer("Deny", "deny", Approve(card.id, ApprovalReply.DENY))
    return (
        *(once if card.approvable else ()),
        *(always if card.offers_always else ()),
        deny,
    )


def _button(label: str, command: Command, url: str = "") -> InlineKeyboardButton:
    if url:
        return InlineKeyboardButton(label, url=url)
    return InlineKeyboardButton(label, callback_data=f"p|{encode_press(command)}")
