"""Lay cards out as Telegram messages; pure.

What does not fit one message goes along whole, as up to four messages or as a file, and the card
with the buttons comes last: whoever can press "Allow" was offered everything.
"""

from dataclasses import dataclass

from telegram import InlineKeyboardMarkup, MessageEntity

from channels.cards import NoticeCard, OutcomeCard, PromptCard, facts
from channels.telegram.render.buttons import prompt_keyboard
from channels.telegram.render.layout import MAX_UNITS, Layout
from channels.utf16 import chunks, cut, tail, units
from core.text.render import Redacted

_PART_UNITS = 3900
_MOST_PARTS = 4
_HEAD_UNITS = 800
_TAIL_UNITS = 300
_FACT_UNITS = 120
_OUTCOME_UNITS = 2000
_DETAIL_UNITS = 900
_NOTHING = "(nothing)"

_Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """One message to send: text with entities, or a caption with a file."""

    text: str
    entities: tuple[MessageEntity, ...] = ()
    markup: InlineKeyboardMarkup | None = None
    file: bytes | None = None
    file_name: str = ""


def render_prompt(card: PromptCard, bot_name: str = "") -> tuple[Message, ...]:
    """Return the messages of a prompt in order; the last one has the buttons.

    ``bot_name`` is given in groups: there a bot in privacy mode sees ``/approve@name`` alone.
    """
    lines = tuple((fact.label, fact.value.text) for fact in facts(card))
    typed = f"{approve_command(bot_name)} {card.code} {card.replies}"
    full = _rest(whole_command(_title(card), card), typed, lines)
    if units(full.text) <= MAX_UNITS:
        return (_message(full, prompt_keyboard(card)),)
    before = _everything(card, lines) if card.whole else ()
    short = _rest(_ends(card), typed, tuple((label, _short(value)) for label, value in lines))
    return (*before, _message(short, prompt_keyboard(card)))


def render_outcome(card: OutcomeCard) -> Message:
    """Return the final state of a prompt, without buttons."""
    layout = Layout().bold(f"{card.code} · ").bold(cut(card.headline.text, _DETAIL_UNITS)[0])
    layout.plain("\n")
    head, rest = cut(card.command.text, _OUTCOME_UNITS)
    layout.block(head)
    if rest:
        layout.plain(f"\n… and {units(rest):,} more characters")
    if card.detail.text:
        layout.plain("\n").value(cut(card.detail.text, _DETAIL_UNITS)[0])
    layout.plain("\nAgent: ").value(cut(card.agent.text, _FACT_UNITS)[0])
    layout.plain("\nCheck: ").value(card.digest)
    return _message(layout)


def render_notice(card: NoticeCard) -> tuple[Message, ...]:
    """Return a notice, in as many messages as it takes."""
    return render_text(card.text)


def render_text(text: Redacted, markup: InlineKeyboardMarkup | None = None) -> tuple[Message, ...]:
    """Return text as messages in which nothing is a link, mention or command.

    The last one has the buttons of ``markup``.
    """
    parts = tuple(chunks(text.text or _NOTHING, MAX_UNITS))
    before = tuple(_message(Layout().value(part)) for part in parts[:-1])
    return (*before, _message(Layout().value(parts[-1]), markup))


def approve_command(bot_name: str) -> str:
    """Return the command that answers a prompt, with the bot's name where it is needed."""
    return f"/approve@{bot_name}" if bot_name else "/approve"


def whole_command(layout: Layout, card: PromptCard) -> Layout:
    """Add a prompt's command in full, and the statement that a shell runs it where one does."""
    if card.command.text:
        layout.block(card.command.text)
    else:
        layout.plain("The command is empty; it can only be denied.")
    return layout.plain("\n⚠ ").value(card.shell.text) if card.shell.text else layout


def _title(card: PromptCard) -> Layout:
    return Layout().bold(f"Allow this command? · {card.code}").plain("\n")


def _rest(layout: Layout, typed: str, lines: _Lines) -> Layout:
    for label, value in lines:
        layout.plain("\n").bold(label).plain(": ").value(value)
    return layout.plain("\n\nOr send ").value(typed)


def _ends(card: PromptCard) -> Layout:
    layout = _title(card).bold(_length(card)).plain("\n")
    head, rest = cut(card.command.text, _HEAD_UNITS)
    end = tail(rest, _TAIL_UNITS)
    layout.block(head)
    left_out = units(rest) - units(end)
    if left_out > 0:
        layout.plain("\n").bold(f"… {left_out:,} characters are not in this message …").plain("\n")
    layout.block(end)
    return layout.plain("\n⚠ ").value(_short(card.shell.text)) if card.shell.text else layout


def _length(card: PromptCard) -> str:
    if card.whole:
        return "Too long for one message. The full text is above; read it first."
    return f"{card.size:,} characters are too many to show, so it can only be denied."


def _short(text: str) -> str:
    # No command can hold this mark: "…" is always escaped in what is not ours.
    head, rest = cut(text, _FACT_UNITS)
    return f"{head} […{units(rest):,} more]" if rest else head


def _everything(card: PromptCard, lines: _Lines) -> tuple[Message, ...]:
    below = "\n".join(f"{label}: {value}" for label, value in lines)
    whole = "\n\n".join(text for text in (card.command.text, card.shell.text, below) if text)
    parts = tuple(chunks(whole, _PART_UNITS))
    if len(parts) > _MOST_PARTS:
        caption = Layout().bold(f"{card.code} · the whole command: {card.size:,} characters")
        return (_file(caption, whole, card.code),)
    return tuple(
        _message(_part(card.code, part, f"{number} of {len(parts)}"))
        for number, part in enumerate(parts, 1)
    )


def _part(code: str, text: str, place: str) -> Layout:
    # Telegram trims a message's ends; words of ours stand there, so no blank of a command is lost.
    head = Layout().bold(f"{code} · the whole command, part {place}").plain("\n")
    return head.block(text).plain(f"\nEnd of part {place}.")


def _file(caption: Layout, whole: str, code: str) -> Message:
    return Message(
        caption.text,
        tuple(caption.entities),
        file=whole.encode(),
        file_name=f"command-{code}.txt",
    )


def _message(layout: Layout, markup: InlineKeyboardMarkup | None = None) -> Message:
    return Message(layout.text, tuple(layout.entities), markup)
