"""Render cards as Slack messages; pure.

What does not fit one message is sent in full as messages before the card with the buttons: anyone
who can press "Allow once" was offered everything. The ``text`` next to the blocks, which
notifications show and Slack parses as markup, contains only our own text.
"""

from dataclasses import dataclass
from itertools import islice

from channels.base import Reply
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.cards.lines import Fact, checked, ending_facts, front, listed, whole_text
from channels.cards.text import (
    EMPTY,
    OPEN_PAGE,
    READ_ABOVE,
    TOO_LONG,
    and_more,
    left_out,
    part_end,
    part_title,
    shortened,
)
from channels.slack.render import layout
from channels.slack.render.buttons import choice_rows, notice_rows, row
from channels.slack.render.layout import Json, cut
from core.model.approval import ApprovalState
from core.model.identity import Target
from core.text.render import Redacted

PROMPT_EVENT = "sayso_prompt"
"""The ``event_type`` of the metadata by which a sent prompt is found again."""

_MOST_PARTS = 20
_PART = 8_000
_HEAD = 800
_TAIL = 300
_SHORT = 120
_OUTCOME = 2_000
_DETAIL = 1_500
_TITLE = 300
_ENDINGS = {
    ApprovalState.PENDING: "still waiting",
    ApprovalState.ALLOWED: "allowed",
    ApprovalState.DENIED: "denied",
    ApprovalState.EXPIRED: "expired",
    ApprovalState.CANCELLED: "withdrawn",
}


@dataclass(frozen=True, slots=True)
class Message:
    """One message: our text for notifications, and the blocks."""

    text: str
    blocks: list[Json]


def payloads(card: PromptCard, target: Target) -> list[Json]:
    """Return the JSON bodies of the chat.postMessage calls of a prompt, in order."""
    return [
        body(message, target) | {"metadata": metadata(delivery)}
        for delivery, message in numbered(card)
    ]


def numbered(card: PromptCard) -> list[tuple[str, Message]]:
    """Return the messages of a prompt in order, each with the id of its delivery."""
    messages = render_prompt(card)
    return [
        (f"{card.id}/{number}/{len(messages)}", message)
        for number, message in enumerate(messages, 1)
    ]


def approvable(card: PromptCard) -> bool:
    """Return whether Slack can show the whole command, so that it may be allowed here."""
    return card.approvable and (bool(_full(card)) or _offered(_parts(card)))


def body(message: Message, target: Target) -> Json:
    """Return the body of one chat.postMessage call: no markup, no links, no previews."""
    made: Json = {
        "channel": target.to,
        "text": message.text,
        "blocks": message.blocks,
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return made | {"thread_ts": target.thread} if target.thread else made


def metadata(delivery: str) -> Json:
    """Return the metadata that names one delivery."""
    return {"event_type": PROMPT_EVENT, "event_payload": {"delivery": delivery}}


def render_prompt(card: PromptCard) -> tuple[Message, ...]:
    """Return the messages of a prompt in order; the last one has the buttons."""
    words = f"Sayso asks: may a command run? Code {card.code}. Open Slack to read it."
    full = _full(card)
    if full:
        return (Message(words, full),)
    parts = _parts(card) if card.whole else ()
    offered = _offered(parts)
    before = tuple(
        Message(
            f"Sayso: the whole command of {card.code}, part {number} of {len(parts)}.",
            _part(card.code, part, number, len(parts)),
        )
        for number, part in enumerate(parts, 1)
        if offered
    )
    return (*before, Message(words, _short_card(card, offered=offered)))


def render_outcome(card: OutcomeCard) -> Message:
    """Return the final state of a prompt, without buttons."""
    head, rest = cut(card.command.text, _OUTCOME)
    more = [layout.context(and_more(len(rest)))] if rest else []
    detail = card.detail.text
    blocks = [
        layout.section(f"{card.code} · {cut(card.headline.text, _DETAIL)[0]}"),
        *layout.boxes(head),
        *more,
        *([layout.section(cut(detail, _DETAIL)[0])] if detail else []),
        layout.context(listed(tuple(map(_shortened, ending_facts(card)))).text),
    ]
    return Message(f"Sayso: {card.code} is {_ENDINGS[card.state]}.", blocks)


def render_notice(card: NoticeCard) -> tuple[Message, ...]:
    """Return a notice, in as many messages as it takes; its buttons are below the last one."""
    *before, last = _text(card.text, "Sayso has a notice.")
    return (*before, Message(last.text, [*last.blocks, *notice_rows(card.choices)]))


def pieces(text: Redacted, room: int) -> tuple[Redacted, ...]:
    """Cut a text into pieces; each is one notice, with room for ``room`` characters of ours."""
    return tuple(
        map(Redacted, layout.chunks(text.text, _PART - 2 * room))
    )  # a few of ours weigh more


def render_reply(reply: Reply) -> tuple[Message, ...]:
    """Return a reply, in as many messages as it takes; its choices are below the last one."""
    *before, last = _text(reply.text, "Sayso has an answer for you.")
    link = [layout.link(reply.link, OPEN_PAGE)] if reply.link else []
    return (*before, Message(last.text, [*last.blocks, *link, *choice_rows(reply.choices)]))


def render_title(title: Redacted) -> Message:
    """Return the message that a thread begins with."""
    return Message("Sayso: a thread for one session.", [layout.section(cut(title.text, _TITLE)[0])])


def _text(text: Redacted, words: str) -> tuple[Message, ...]:
    parts = tuple(layout.chunks(text.text, _PART)) or ("(nothing)",)
    return tuple(Message(words, layout.sections(part)) for part in parts)


def _offered(parts: tuple[str, ...]) -> bool:
    return 0 < len(parts) <= _MOST_PARTS


def _full(card: PromptCard) -> list[Json]:
    """Return the blocks of a prompt in one message, none if they do not fit."""
    command = card.command.text
    if len(command) > layout.MAX_MESSAGE:
        return []
    shown = layout.boxes(command) or [layout.section(EMPTY)]
    warning = layout.sections(f"⚠ {card.shell.text}") if card.shell.text else []
    blocks = [_title(card), *shown, *warning, *_facts(front(card)), *_answers(card, offered=True)]
    fits = len(blocks) <= layout.MAX_BLOCKS and layout.size(blocks) <= layout.MAX_MESSAGE
    return blocks if fits else []


def _short_card(card: PromptCard, *, offered: bool) -> list[Json]:
    head, rest = cut(card.command.text, _HEAD)
    end = layout.tail(rest, _TAIL)
    absent = len(rest) - len(end)
    warning = [layout.section(f"⚠ {_short(card.shell.text)}")] if card.shell.text else []
    return [
        _title(card),
        layout.section(_length(card, offered=offered)),
        *layout.boxes(head),
        *([layout.section(left_out(absent))] if absent > 0 else []),
        *layout.boxes(end),
        *warning,
        *_facts(tuple(map(_shortened, checked(card)))),
        *_answers(card, offered=offered),
    ]


def _title(card: PromptCard) -> Json:
    return layout.header(f"Allow this command? · {card.code}")


def _length(card: PromptCard, *, offered: bool) -> str:
    if offered:
        return f"{TOO_LONG} {READ_ABOVE}"
    return f"{card.size:,} characters are too many to show here, so it can only be denied here."


def _facts(lines: tuple[Fact, ...]) -> list[Json]:
    return layout.sections(listed(lines).text)


def _answers(card: PromptCard, *, offered: bool) -> list[Json]:
    typed = f"approve {card.code} {card.replies if offered else 'deny'}"
    hint = f"Or type /{typed} (in a thread without the slash)."
    return [layout.context(hint), row(card, offered=offered)]


def _short(value: str) -> str:
    head, rest = cut(value, _SHORT)
    return shortened(head, len(rest))


def _shortened(line: Fact) -> Fact:
    return Fact(line.label, Redacted(_short(line.value.text)))


def _parts(card: PromptCard) -> tuple[str, ...]:
    return tuple(islice(layout.chunks(whole_text(card), _PART), _MOST_PARTS + 1))


def _part(code: str, text: str, number: int, total: int) -> list[Json]:
    title, end = part_title(code, number, total), part_end(number, total)
    return [layout.section(title), *layout.boxes(text), layout.context(end)]
