"""Render cards as Telegram messages; pure.

What does not fit one message is sent in full, as up to four messages or as a file, and the card
with the buttons comes last: anyone who can press "Allow" was offered everything.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from telegram import InlineKeyboardMarkup, MessageEntity

from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.cards.lines import Fact, checked, details, ending_facts, front, whole_text
from channels.cards.text import (
    EMPTY,
    READ_ABOVE,
    TOO_LONG,
    and_more,
    file_name,
    left_out,
    part_end,
    part_title,
    shortened,
    too_many,
    whole_title,
)
from channels.telegram.render.buttons import notice_keyboard, prompt_keyboard
from channels.telegram.render.layout import MAX_UNITS, Layout
from channels.utf16 import chunks, cut, tail, units
from core.model.identity import Target
from core.text.render import Redacted

_PART_UNITS = 3900
_MOST_PARTS = 4
_HEAD_UNITS = 800
_TAIL_UNITS = 300
_FACT_UNITS = 120
_OUTCOME_UNITS = 2000
_DETAIL_UNITS = 900
_NOTHING = "(nothing)"


@dataclass(frozen=True, slots=True)
class Message:
    """One message to send: text with entities, or a caption with a file."""

    text: str
    entities: tuple[MessageEntity, ...] = ()
    markup: InlineKeyboardMarkup | None = None
    file: bytes | None = None
    file_name: str = ""


def payloads(card: PromptCard, target: Target, bot_name: str = "") -> list[dict[str, object]]:
    """Return the bodies of the sendMessage and sendDocument calls that post a prompt, in order.

    A file is sent along with its body as a form field; its text is shown here as ``document``.
    """
    return [body(message, target) for message in render_prompt(card, bot_name)]


def approvable(card: PromptCard) -> bool:
    """Return whether Telegram can show the whole command, so that it may be allowed here."""
    return card.approvable


def body(message: Message, target: Target) -> dict[str, object]:
    """Return the body of one call."""
    made: dict[str, object] = {"chat_id": target.to}
    if target.thread:
        made["message_thread_id"] = int(target.thread)
    entities = [entity.to_dict() for entity in message.entities]
    if message.file is not None:
        made |= {"caption": message.text, "caption_entities": entities}
        return made | {"document": message.file.decode(), "file_name": message.file_name}
    made |= {"text": message.text, "entities": entities}
    made["link_preview_options"] = {"is_disabled": True}
    if message.markup is not None:
        made["reply_markup"] = message.markup.to_dict()
    return made


def render_prompt(card: PromptCard, bot_name: str = "") -> tuple[Message, ...]:
    """Return the messages of a prompt in order; the last one has the buttons.

    ``bot_name`` is given in groups: there a bot in privacy mode sees only ``/approve@name``.
    """
    typed = f"{approve_command(bot_name)} {card.code} {card.replies}"
    full = _lines(whole_command(_title(card), card), front(card)).plain("\n")
    full.fold(folded(card, typed))
    if units(full.text) <= MAX_UNITS:
        return (_message(full, prompt_keyboard(card)),)
    before = _everything(card) if card.whole else ()
    short = _lines(_ends(card), tuple(map(_shortened, checked(card)))).plain("\n")
    short.fold(folded(card, typed, _short))
    return (*before, _message(short, prompt_keyboard(card)))


def render_outcome(card: OutcomeCard) -> Message:
    """Return the final state of a prompt, without buttons."""
    layout = Layout().bold(f"{card.code} · ").bold(cut(card.headline.text, _DETAIL_UNITS)[0])
    layout.plain("\n")
    head, rest = cut(card.command.text, _OUTCOME_UNITS)
    layout.block(head)
    if rest:
        layout.plain(f"\n{and_more(units(rest))}")
    if card.detail.text:
        layout.plain("\n").value(cut(card.detail.text, _DETAIL_UNITS)[0])
    for fact in ending_facts(card):
        layout.plain(f"\n{fact.label}: ").value(_short(fact.value.text))
    return _message(layout)


def render_notice(card: NoticeCard) -> tuple[Message, ...]:
    """Return a notice, in as many messages as it takes; the last one has its buttons."""
    return render_text(card.text, notice_keyboard(card.choices))


def render_text(text: Redacted, markup: InlineKeyboardMarkup | None = None) -> tuple[Message, ...]:
    """Return text as messages in which nothing is a link, mention or command.

    The last one has the buttons of ``markup``.
    """
    parts = tuple(chunks(text.text or _NOTHING, MAX_UNITS))
    before = tuple(_message(Layout().value(part)) for part in parts[:-1])
    return (*before, _message(Layout().value(parts[-1]), markup))


def pieces(text: Redacted, room: int) -> tuple[Redacted, ...]:
    """Cut a text into pieces; each is one notice, with room for ``room`` characters of ours."""
    return tuple(map(Redacted, chunks(text.text, MAX_UNITS - room)))


def approve_command(bot_name: str) -> str:
    """Return the command that answers a prompt, with the bot's name if it is needed."""
    return f"/approve@{bot_name}" if bot_name else "/approve"


def whole_command(layout: Layout, card: PromptCard) -> Layout:
    """Add a prompt's command in full, and the statement that a shell runs it, if one does."""
    if card.command.text:
        layout.block(card.command.text)
    else:
        layout.plain(EMPTY)
    return layout.plain("\n⚠ ").value(card.shell.text) if card.shell.text else layout


def _title(card: PromptCard) -> Layout:
    return Layout().bold(f"Allow this command? · {card.code}").plain("\n")


def folded(
    card: PromptCard,
    typed: str,
    shown: Callable[[str], str] = str,
    but: AbstractSet[str] = frozenset(),
) -> Layout:
    """Return what a prompt shows only when unfolded, each value as formatted by ``shown``.

    ``but`` are labels of lines that are left out.
    """
    layout = Layout().bold("Details")
    for fact in details(card):
        if fact.label not in but:
            layout.plain(f"\n{fact.label}: ").value(shown(fact.value.text))
    return layout.plain("\nOr send ").value(typed) if typed else layout


def _lines(layout: Layout, lines: tuple[Fact, ...]) -> Layout:
    for line in lines:
        layout.plain("\n").bold(line.label).plain(": ").value(line.value.text)
    return layout


def _ends(card: PromptCard) -> Layout:
    layout = _title(card).bold(_length(card)).plain("\n")
    head, rest = cut(card.command.text, _HEAD_UNITS)
    end = tail(rest, _TAIL_UNITS)
    layout.block(head)
    absent = units(rest) - units(end)
    if absent > 0:
        layout.plain("\n").bold(left_out(absent)).plain("\n")
    layout.block(end)
    return layout.plain("\n⚠ ").value(_short(card.shell.text)) if card.shell.text else layout


def _length(card: PromptCard) -> str:
    return f"{TOO_LONG} {READ_ABOVE}" if card.whole else too_many(card.size)


def _short(text: str) -> str:
    head, rest = cut(text, _FACT_UNITS)
    return shortened(head, units(rest))


def _shortened(line: Fact) -> Fact:
    return Fact(line.label, Redacted(_short(line.value.text)))


def _everything(card: PromptCard) -> tuple[Message, ...]:
    whole = whole_text(card)
    parts = tuple(chunks(whole, _PART_UNITS))
    if len(parts) > _MOST_PARTS:
        caption = Layout().bold(whole_title(card.code, card.size))
        return (_file(caption, whole, card.code),)
    return tuple(
        _message(_part(card.code, part, number, len(parts))) for number, part in enumerate(parts, 1)
    )


def _part(code: str, text: str, number: int, total: int) -> Layout:
    # Telegram trims a message's ends; our own text is there, so no blank of a command is lost.
    head = Layout().bold(part_title(code, number, total)).plain("\n")
    return head.block(text).plain(f"\n{part_end(number, total)}")


def _file(caption: Layout, whole: str, code: str) -> Message:
    return Message(
        caption.text,
        tuple(caption.entities),
        file=whole.encode(),
        file_name=file_name(code),
    )


def _message(layout: Layout, markup: InlineKeyboardMarkup | None = None) -> Message:
    return Message(layout.text, tuple(layout.entities), markup)
