"""Render cards as Discord messages; pure, and without the library.

What does not fit one message is sent in full, as up to four messages or as a file, and the card
with the buttons comes last: anyone who can press "Allow" was offered everything. No embeds are
used: people can switch embeds off and would then see buttons under nothing.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from channels.base import Reply
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.cards.lines import Fact, checked, ending_facts, facts, front, listed
from channels.cards.text import (
    EMPTY,
    OPEN_PAGE,
    READ_ABOVE,
    TOO_LONG,
    and_more,
    file_name,
    part_end,
    part_title,
    shortened,
    too_many,
    whole_title,
)
from channels.discord.render.buttons import Button, buttons, choices, notice_buttons
from channels.discord.render.layout import FENCE_UNITS, MAX_UNITS, block, sentence, unbroken
from channels.utf16 import chunks, cut, tail, units
from core.model.approval import ApprovalState
from core.model.identity import Target
from core.text.render import Redacted

SUPPRESS_EMBEDS = 1 << 2
"""The message flag that keeps Discord from fetching what a link in the text points to."""

SHELL = "**⚠ A shell runs this text as is.**\n"
"""What a prompt says about a line that is not run command by command."""

WORDS = {
    ApprovalState.PENDING: "Waiting",
    ApprovalState.ALLOWED: "Allowed",
    ApprovalState.DENIED: "Denied",
    ApprovalState.EXPIRED: "Expired",
    ApprovalState.CANCELLED: "Withdrawn",
}
"""The name of a prompt's state in its headline."""

_PART_UNITS = 1800
_MOST_PARTS = 4
_FACT_UNITS = 60
_DETAIL_UNITS = 600
_OUTCOME_UNITS = 900
_NONCE_LENGTH = 25
_GAP = "… {:,} characters are left out …\n"
_MOST_LEFT_OUT = 9_999_999
_BESIDE = "Answer by"
"""The fact that is outside the block, where Discord counts the time down."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message to send: content, buttons, and a file if the text is too long for messages."""

    content: str
    buttons: tuple[Button, ...] = ()
    file: bytes | None = None
    file_name: str = ""


def payloads(card: PromptCard, target: Target) -> list[dict[str, object]]:
    """Return the JSON bodies of the calls that post a prompt, in order.

    Each is the body of ``POST /channels/{id}/messages``. A file is sent along with its body, as the
    form field ``files[0]``; it is shown here under that name.
    """
    return [
        body(message, nonce(card.id, target, number))
        for number, message in enumerate(render_prompt(card))
    ]


def approvable(card: PromptCard) -> bool:
    """Return whether Discord can show the whole command, so that it may be allowed here."""
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
    sends = {"url": button.url} if button.url else {"custom_id": button.custom_id}
    return {
        "type": 2,
        "style": int(button.style),
        "label": button.label,
        "disabled": False,
        **sends,
    }


def nonce(subject: str, target: Target, number: int) -> str:
    """Return the nonce that prevents duplicates of a message for some minutes (API "nonce")."""
    place = f"{subject}|{target.to}|{target.thread}|{number}"
    return hashlib.sha256(place.encode()).hexdigest()[:_NONCE_LENGTH]


def render_prompt(card: PromptCard) -> tuple[Message, ...]:
    """Return the messages of a prompt in order; the last one has the buttons."""
    command = unbroken(card.command.text)
    full = _card(card, block(command) if command else f"{EMPTY}\n", rows(card, front(card)))
    if units(full) <= MAX_UNITS:
        return (Message(full, buttons(card)),)
    before = _everything(card, command) if card.whole else ()
    short = rows(card, checked(card), _short)
    room = MAX_UNITS - units(_card(card, "", short))
    return (*before, Message(_card(card, _ends(card, command, room), short), buttons(card)))


def render_outcome(card: OutcomeCard) -> Message:
    """Return the final state of a prompt, without buttons."""
    ending = f"{card.headline}\n{card.detail}" if card.detail.text else card.headline.text
    head, rest = cut(unbroken(card.command.text), _OUTCOME_UNITS)
    more = f"{and_more(units(rest))}\n" if rest else ""
    below = "\n".join(f"{fact.label}: {_ending(fact)}" for fact in ending_facts(card))
    return Message(
        f"**{WORDS[card.state]} · {card.code}**\n"
        + block(cut(unbroken(ending), _DETAIL_UNITS)[0])
        + (block(head) if head else "")
        + more
        + block(below).rstrip()
    )


def render_notice(card: NoticeCard) -> tuple[Message, ...]:
    """Return a notice, in as many messages as it takes, or as a file; buttons on the last one."""
    *before, last = render_text(card.text)
    return (*before, replace(last, buttons=notice_buttons(card.choices)))


def render_reply(reply: Reply) -> tuple[Message, ...]:
    """Return the messages to a person; the last one has the choices, if there are any."""
    *before, last = render_text(reply.text)
    if reply.link:
        # In <…> Discord fetches no preview of the link.
        last = replace(last, content=f"{last.content}\n[{OPEN_PAGE}](<{reply.link}>)")
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


def pieces(text: Redacted, room: int) -> tuple[Redacted, ...]:
    """Cut a text into pieces; each is one notice, with room for ``room`` characters of ours."""
    return tuple(map(Redacted, chunks(unbroken(text.text), _PART_UNITS - room)))


def _ending(fact: Fact) -> str:
    return _short(unbroken(fact.value.text.replace("\n", "; ")))


def rows(card: PromptCard, lines: tuple[Fact, ...], shown: Callable[[str], str] = str) -> str:
    """Return the lines of a prompt for a block, each value as formatted by ``shown``."""
    shell = (Fact("Shell", card.shell),) if card.shell.text else ()
    made = (
        Fact(line.label, Redacted(shown(unbroken(line.value.text))))
        for line in (*shell, *lines)
        if line.label != _BESIDE
    )
    return listed(tuple(made)).text


def _card(card: PromptCard, command: str, lines: str) -> str:
    at = card.expires_at_ms // 1000
    shell = SHELL if card.shell.text else ""
    return (
        f"**Allow this command? · {card.code}**\n{command}{shell}{block(lines)}"
        f"Answer by <t:{at}:T> (<t:{at}:R>); no answer means deny. Or send `/approve {card.code} "
        f"{card.replies}`, or reply with the mention on."
    )


def _ends(card: PromptCard, command: str, room: int) -> str:
    if not command:
        return f"{EMPTY}\n"
    words = _length(card)
    left = room - units(words) - 2 * FENCE_UNITS - len(_GAP.format(_MOST_LEFT_OUT))
    head, rest = cut(command, left * 2 // 3)
    end = tail(rest, left // 3)
    gap = _GAP.format(units(rest) - units(end))
    return words + block(head) + (gap + block(end) if end else "")


def _length(card: PromptCard) -> str:
    if card.whole:
        return f"{TOO_LONG} **{READ_ABOVE}**\n"
    return f"{too_many(card.size)}\n"


def _short(text: str) -> str:
    head, rest = cut(text, _FACT_UNITS)
    return shortened(head, units(rest))


def _everything(card: PromptCard, command: str) -> tuple[Message, ...]:
    shell = (Fact("Shell", card.shell),) if card.shell.text else ()
    whole = f"{command}\n\n{unbroken(listed((*shell, *facts(card))).text)}"
    parts = tuple(chunks(whole, _PART_UNITS))
    if len(parts) <= _MOST_PARTS:
        return tuple(_parts(card.code, parts))
    words = f"**{whole_title(card.code, card.size)}**"
    return (Message(words, file=whole.encode(), file_name=file_name(card.code)),)


def _parts(code: str, parts: tuple[str, ...]) -> Iterator[Message]:
    for number, part in enumerate(parts, 1):
        title, end = part_title(code, number, len(parts)), part_end(number, len(parts))
        yield Message(f"**{title}**\n{block(part)}{end}")
