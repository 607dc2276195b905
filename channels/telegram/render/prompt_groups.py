"""Render several prompts as one Telegram message; pure.

Each is shown in full: what does not fit one message in full is not part of a group. An item that
has ended takes at most the room that its prompt had, so the message can always be updated.
"""

from itertools import zip_longest

from channels.cards.card import OutcomeCard, PromptCard
from channels.cards.lines import front
from channels.telegram.render.buttons import MOST_BUTTONS, group_keyboard
from channels.telegram.render.layout import MAX_ENTITIES, MAX_UNITS, Layout
from channels.telegram.render.messages import Message, approve_command, folded, whole_command
from channels.utf16 import cut, units

_LEFT_OUT = frozenset({"Id", "May run for", "Allow always stores"})
"""Details that a group leaves out; the last one is shown before anything is stored."""
_HEADLINE_UNITS = 300
_LEAST_UNITS = 20
_MARK = "…"


def fits(cards: tuple[PromptCard, ...], bot_name: str = "") -> bool:
    """Return whether one message shows all of these in full, with every button."""
    if not cards or not all(card.whole for card in cards):
        return False
    message = render_group(cards, bot_name)
    rows = message.markup.inline_keyboard if message.markup is not None else ()
    return (
        units(message.text) <= MAX_UNITS
        and len(message.entities) <= MAX_ENTITIES
        and sum(len(row) for row in rows) <= MOST_BUTTONS
    )


def render_group(cards: tuple[PromptCard | OutcomeCard, ...], bot_name: str = "") -> Message:
    """Return one message: prompts with a row of buttons each, ended items with how they ended."""
    waiting = tuple(card for card in cards if isinstance(card, PromptCard))
    layout = Layout().bold(_title(len(cards), len(waiting)))
    room = _room(cards, waiting, bot_name)
    for number, card in enumerate(cards, 1):
        layout.plain("\n\n").bold(f"{number}. {card.code}")
        if isinstance(card, PromptCard):
            _prompt(layout, card)
        else:
            _outcome(layout, card, room)
    if waiting:
        _hint(layout, bot_name)
    return Message(layout.text, tuple(layout.entities), group_keyboard(waiting))


def _title(all_of_them: int, waiting: int) -> str:
    if not waiting:
        return f"{all_of_them} commands, all decided"
    if waiting == all_of_them:
        return f"Allow these {all_of_them} commands?"
    return f"{all_of_them} commands, {waiting} still waiting"


def _hint(layout: Layout, bot_name: str) -> None:
    layout.plain("\n\nOr send ").value(f"{approve_command(bot_name)} CODE allow-once|deny")


def _prompt(layout: Layout, card: PromptCard) -> None:
    whole_command(layout.plain("\n"), card)
    for fact in front(card):
        layout.plain(f"\n{fact.label}: ").value(fact.value.text)
    layout.plain("\n").fold(folded(card, "", but=_LEFT_OUT))


def _outcome(layout: Layout, card: OutcomeCard, room: int) -> None:
    """Add how an item ended, in at most ``room`` units below its title."""
    headline = cut(card.headline.text, min(_HEADLINE_UNITS, room - 2 * _LEAST_UNITS))[0]
    layout.bold(f" · {headline}")
    left = room - units(headline) - _LEAST_UNITS
    for text in (card.command.text, card.detail.text):
        shown, rest = cut(text, max(0, left - len(_MARK)))
        if shown:
            layout.plain("\n").block(shown).plain(_MARK if rest else "")
        left -= units(shown) + _LEAST_UNITS


def _room(
    cards: tuple[PromptCard | OutcomeCard, ...], waiting: tuple[PromptCard, ...], bot_name: str
) -> int:
    """Return the units that each ended item may take, besides what the waiting ones need."""
    ended = len(cards) - len(waiting)
    if not ended:
        return 0
    layout = Layout().bold(_title(len(cards), len(waiting)))
    for number, card in zip_longest(range(1, len(cards) + 1), waiting):
        layout.plain(f"\n\n{number}. {'x' * 6}")
        if card is not None:
            _prompt(layout, card)
    _hint(layout, bot_name)
    return max(2 * _LEAST_UNITS, (MAX_UNITS - units(layout.text)) // ended)
