"""Show several short prompts in one message, each with its own row of buttons; pure.

The room that each prompt needs is reserved when the message is made, so that any mix of ended and
open prompts fits later.
"""

from channels.cards.card import OutcomeCard, PromptCard
from channels.cards.lines import front
from channels.discord.render.buttons import ROW, labelled
from channels.discord.render.layout import FENCE_UNITS, MAX_UNITS, block, unbroken
from channels.discord.render.messages import SHELL, WORDS, Message, rows
from channels.utf16 import cut, units

_LEAST_UNITS = 240
"""Units reserved for each prompt, so that there is room to show how it ended."""

_MOST_UNITS = 600
_COMMAND_UNITS = 60
_MARK = "…"
_HOW = "Answer each by its code: with a button, or with `/approve CODE allow-once` or `deny`."


def fits(cards: tuple[PromptCard, ...]) -> bool:
    """Return whether one message shows all of these in full, and all of their endings."""
    codes = {card.code for card in cards}
    if not 0 < len(cards) == len(codes) <= ROW or not all(card.approvable for card in cards):
        return False
    needed = sum(max(_LEAST_UNITS, units(_open(card))) for card in cards)
    return needed + units(_HOW) <= MAX_UNITS


def render_group(cards: tuple[PromptCard | OutcomeCard, ...]) -> Message:
    """Return the message: open prompts with their buttons, ended ones with their outcomes."""
    asked = [card for card in cards if isinstance(card, PromptCard)]
    how = _HOW if asked else ""
    left = MAX_UNITS - units(how) - sum(units(_open(card)) for card in asked)
    room = min(_MOST_UNITS, left // max(1, len(cards) - len(asked)))
    made = (_open(card) if isinstance(card, PromptCard) else _ended(card, room) for card in cards)
    rows = (
        button
        for row, card in enumerate(cards)
        if isinstance(card, PromptCard)
        for button in labelled(card, row)
    )
    return Message(("".join(made) + how).rstrip(), tuple(rows))


def _open(card: PromptCard) -> str:
    at = card.expires_at_ms // 1000
    shell = SHELL if card.shell.text else ""
    return (
        f"**Allow this command? · {card.code}**\n{block(unbroken(card.command.text))}{shell}"
        f"{block(rows(card, front(card)))}Answer by <t:{at}:T> (<t:{at}:R>)\n"
    )


def _ended(card: OutcomeCard, room: int) -> str:
    head = f"**{WORDS[card.state]} · {card.code}**\n"
    words = f"{card.headline}\n{card.detail}" if card.detail.text else card.headline.text
    left = room - units(head) - 2 * FENCE_UNITS - len(_MARK)
    ending, _ = cut(unbroken(words), left - _COMMAND_UNITS)
    command, rest = cut(unbroken(card.command.text), left - units(ending))
    return head + block(ending) + block(command + (_MARK if rest else ""))
