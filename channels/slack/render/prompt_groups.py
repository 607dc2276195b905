"""Render several prompts as one Slack message, each with its own buttons; pure.

A group holds whole prompts only: whatever does not fit in full is sent separately. An ended item
weighs less than the prompt that it replaces, so a message that fitted once fits in every state.
"""

from channels.cards.card import OutcomeCard, PromptCard
from channels.cards.lines import front, listed
from channels.cards.text import and_more
from channels.slack.render import layout
from channels.slack.render.buttons import row
from channels.slack.render.layout import Json, cut, weight
from channels.slack.render.messages import Message

_GROUP = "group/"
_ENDING = 360
_COMMAND = 150
_BOX = 2_900


def fits(cards: tuple[PromptCard, ...]) -> bool:
    """Return whether one message shows all of these in full, with every button."""
    if not cards or not all(_groupable(card) for card in cards):
        return False
    blocks = render_group(cards).blocks
    return len(blocks) <= layout.MAX_BLOCKS and layout.size(blocks) <= layout.MAX_MESSAGE


def render_group(cards: tuple[PromptCard | OutcomeCard, ...]) -> Message:
    """Return the message: open prompts with their buttons, ended ones with their outcomes."""
    waiting = sum(isinstance(card, PromptCard) for card in cards)
    title = _title(len(cards), waiting)
    hint = "Or type /approve CODE allow-once or deny; in a thread without the slash."
    blocks = [layout.header(title)]
    for card in cards:
        blocks += _open(card) if isinstance(card, PromptCard) else _ended(card)
    end = [layout.context(hint)] if waiting else []
    words = title if title.endswith("?") else f"{title}."
    return Message(f"Sayso asks: {words} Open Slack to read them.", [*blocks, *end])


def _title(all_of_them: int, waiting: int) -> str:
    """Return the title of this message; elsewhere more may wait."""
    if waiting == all_of_them:
        return f"Allow these {all_of_them} commands?"
    verb = "waits" if waiting == 1 else "wait"
    return f"{waiting} of these {all_of_them} commands still {verb}"


def group_delivery(cards: tuple[PromptCard, ...]) -> str:
    """Return the id of a group's delivery, whatever the order of its prompts."""
    return _GROUP + "+".join(sorted(card.id for card in cards))


def grouped_in(delivery: str) -> tuple[str, ...]:
    """Return the ids of the prompts in a group's delivery, none if it is not a group's."""
    return tuple(delivery.removeprefix(_GROUP).split("+")) if delivery.startswith(_GROUP) else ()


def _groupable(card: PromptCard) -> bool:
    facts_fit = weight(_facts(card)) <= _BOX
    return card.approvable and facts_fit and len(card.command.text) <= layout.MAX_MESSAGE


def _open(card: PromptCard) -> list[Json]:
    warning = layout.sections(f"⚠ {card.shell.text}") if card.shell.text else []
    return [
        layout.section(f"{card.code} · Allow this command?"),
        *layout.boxes(card.command.text),
        *warning,
        layout.section(_facts(card)),
        row(card, offered=True, grouped=True),
    ]


def _ended(card: OutcomeCard) -> list[Json]:
    text = "\n".join(text for text in (card.headline.text, card.detail.text) if text)
    ending, more = cut(text, _ENDING)
    command, rest = cut(card.command.text, _COMMAND)
    return [
        layout.section(f"{card.code} · {ending}{' …' if more else ''}"),
        *layout.boxes(command),
        *([layout.context(and_more(len(rest)))] if rest else []),
    ]


def _facts(card: PromptCard) -> str:
    return listed(front(card)).text
