"""Lay cards out as Discord messages; pure, and without the library.

What does not fit one message goes along whole, as up to four messages or as a file, and the card
with the buttons comes last: whoever can press "Allow" was offered everything. Nothing is an embed:
people can switch embeds off and would then press buttons under nothing.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from channels.base import Reply
from channels.cards import NoticeCard, OutcomeCard, PromptCard, facts
from channels.discord.render.buttons import Button, buttons, choices
from channels.discord.render.layout import FENCE_UNITS, MAX_UNITS, block, sentence, unbroken
from channels.utf16 import chunks, cut, tail, units
from core.model.approval import ApprovalState
from core.model.identity import Target
from core.text.render import CONTINUATION, Redacted

SUPPRESS_EMBEDS = 1 << 2
"""The message flag that keeps Discord from fetching what a link in the text points to."""

SHELL = "**⚠ A shell runs this text as is.**\n"
"""What a prompt says of a line that is not run command by command."""

WORDS = {
    ApprovalState.PENDING: "Waiting",
    ApprovalState.ALLOWED: "Allowed",
    ApprovalState.DENIED: "Denied",
    ApprovalState.EXPIRED: "Expired",
    ApprovalState.CANCELLED: "Withdrawn",
}
"""What a prompt's state is called at its top."""

_PART_UNITS = 1800
_MOST_PARTS = 4
_FACT_UNITS = 60
_DETAIL_UNITS = 600
_OUTCOME_UNITS = 900
_NONCE_LENGTH = 25
_GAP = "… {:,} characters are left out …\n"
_MOST_LEFT_OUT = 9_999_999
_EMPTY = "The command is empty; it can only be denied.\n"
Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """One message to send: content, buttons, and a file where the text is too long for messages."""

    content: str
    buttons: tuple[Button, ...] = ()
    file: bytes | None = None
    file_name: str = ""


def payloads(card: PromptCard, target: Target) -> list[dict[str, object]]:
    """Return the JSON bodies of the calls that post a prompt, in order.

    Each is the body of ``POST /channels/{id}/messages``. A file travels beside its body, as the
    form field ``files[0]``; it is shown here under that name.
    """
    return [
        body(message, nonce(card.id, target, number))
        for number, message in enumerate(render_prompt(card))
    ]


def approvable(card: PromptCard) -> bool:
    """Return whether Discord is offered the whole command, so that it may be allowed here."""
    return card.approvable


def body(message: Message, nonce: str) -> dict[str, object]:
    """Return the JSON body that creates a message."""
    rows = groupby(message.buttons, key=lambda button: button.row)
    made: dict[str, object] = {
        "content": message.content,
        "components": [{"type": 1, "components": [*map(_button, row)]} for _, row in rows],
        "nonce": nonce,
        "enforce_nonce": True,
        "tts": False,
        "flags": SUPPRESS_EMBEDS,
        "allowed_mentions": {"parse": []},
    }
    if message.file is not None:
        made["attachments"] = [{"id": 0, "filename": message.file_name}]
        made["files[0]"] = message.file.decode()
    return made


def _button(button: Button) -> dict[str, object]:
    return {
        "type": 2,
        "style": int(button.style),
        "label": button.label,
        "disabled": False,
        "custom_id": button.custom_id,
    }


def nonce(subject: str, target: Target, number: int) -> str:
    """Return what makes a message sent again the same message, for some minutes (API "nonce")."""
    place = f"{subject}|{target.to}|{target.thread}|{number}"
    return hashlib.sha256(place.encode()).hexdigest()[:_NONCE_LENGTH]


def render_prompt(card: PromptCard) -> tuple[Message, ...]:
    """Return the messages of a prompt in order; the last one has the buttons."""
    lines = _lines(card)
    command = unbroken(card.command.text)
    full = _card(card, block(command) if command else _EMPTY, lines)
    if units(full) <= MAX_UNITS:
        return (Message(full, buttons(card)),)
    before = _everything(card, command, lines) if card.whole else ()
    short = tuple((label, _short(value)) for label, value in lines)
    room = MAX_UNITS - units(_card(card, "", short))
    return (*before, Message(_card(card, _ends(card, command, room), short), buttons(card)))


def render_outcome(card: OutcomeCard) -> Message:
    """Return the final state of a prompt, without buttons."""
    ending = f"{card.headline}\n{card.detail}" if card.detail.text else card.headline.text
    head, rest = cut(unbroken(card.command.text), _OUTCOME_UNITS)
    more = f"… and {units(rest):,} more characters\n" if rest else ""
    below = f"Agent: {_short(unbroken(card.agent.text))}\nCheck: {card.digest}"
    return Message(
        f"**{WORDS[card.state]} · {card.code}**\n"
        + block(cut(unbroken(ending), _DETAIL_UNITS)[0])
        + (block(head) if head else "")
        + more
        + block(below).rstrip()
    )


def render_notice(card: NoticeCard) -> tuple[Message, ...]:
    """Return a notice, in as many messages as it takes, or as a file."""
    return render_text(card.text)


def render_reply(reply: Reply) -> tuple[Message, ...]:
    """Return the messages to a person; the last one has the choices, if there are any."""
    *before, last = render_text(reply.text)
    return (*before, replace(last, buttons=choices(reply.choices)))


def render_text(text: Redacted) -> tuple[Message, ...]:
    """Return text as messages in which nothing is a link, mention or markup."""
    words = unbroken(text.text)
    if units(words) <= _PART_UNITS:
        return (Message(sentence(words)),)
    parts = tuple(chunks(words, _PART_UNITS))
    if len(parts) > _MOST_PARTS:
        return (Message("The answer is too long for messages.", (), text.text.encode(), "all.txt"),)
    return tuple(Message(block(part).rstrip()) for part in parts)


def _lines(card: PromptCard) -> Lines:
    shell = (("Shell", unbroken(card.shell.text)),) if card.shell.text else ()
    return (*shell, *((fact.label, unbroken(fact.value.text)) for fact in facts(card)))


def _card(card: PromptCard, command: str, lines: Lines) -> str:
    at = card.expires_at_ms // 1000
    shell = SHELL if card.shell.text else ""
    return (
        f"**Allow this command? · {card.code}**\n{command}{shell}{block(listed(lines))}"
        f"Answer by <t:{at}:T> (<t:{at}:R>) with a button, with `/approve {card.code} "
        f"{card.replies}`, or reply to this message with the mention on."
    )


def listed(lines: Lines) -> str:
    """Return labels and values, one to a line; ``lines`` are ``unbroken``."""
    # A value's own line breaks are marked, so that none passes for a line of ours.
    values = ((label, value.replace("\n", f"\n{CONTINUATION}")) for label, value in lines)
    return "\n".join(f"{label}: {value}" for label, value in values)


def _ends(card: PromptCard, command: str, room: int) -> str:
    if not command:
        return _EMPTY
    words = _length(card)
    left = room - units(words) - 2 * FENCE_UNITS - len(_GAP.format(_MOST_LEFT_OUT))
    head, rest = cut(command, left * 2 // 3)
    end = tail(rest, left // 3)
    gap = _GAP.format(units(rest) - units(end))
    return words + block(head) + (gap + block(end) if end else "")


def _length(card: PromptCard) -> str:
    if card.whole:
        return "Too long for one message. **The full text is above; read it first.**\n"
    return f"{card.size:,} characters are too many to show, so it can only be denied.\n"


def _short(text: str) -> str:
    # No command can hold this mark: "…" is always escaped in what is not ours.
    head, rest = cut(text, _FACT_UNITS)
    return f"{head} […{units(rest):,} more]" if rest else head


def _everything(card: PromptCard, command: str, lines: Lines) -> tuple[Message, ...]:
    whole = f"{command}\n\n{listed(lines)}"
    parts = tuple(chunks(whole, _PART_UNITS))
    if len(parts) <= _MOST_PARTS:
        return tuple(_parts(card.code, parts))
    words = f"**{card.code} · the whole command: {card.size:,} characters**"
    return (Message(words, file=whole.encode(), file_name=f"command-{card.code}.txt"),)


def _parts(code: str, parts: tuple[str, ...]) -> Iterator[Message]:
    for number, part in enumerate(parts, 1):
        place = f"{number} of {len(parts)}"
        yield Message(
            f"**{code} · the whole command, part {place}**\n{block(part)}End of part {place}."
        )
