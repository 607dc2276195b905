"""Lay cards out as Slack messages; pure.

What does not fit one message goes along whole as messages before the card with the buttons:
whoever can press "Allow once" was offered everything. The ``text`` beside the blocks, which
notifications show and Slack reads as markup, holds words of ours only.
"""

from dataclasses import dataclass
from itertools import groupby, islice

from channels.base import Reply
from channels.cards import NoticeCard, OutcomeCard, PromptCard, facts
from channels.slack.render import layout
from channels.slack.render.buttons import choice_rows, row
from channels.slack.render.layout import Json, cut, weight
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
_CELL = 400
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

_Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """One message: words of ours for notifications, and the blocks."""

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
    lines = _lines(card)
    return card.approvable and (bool(_full(card, lines)) or _offered(_parts(card, lines)))


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
    lines = _lines(card)
    words = f"Sayso asks: may a command run? Code {card.code}. Open Slack to read it."
    full = _full(card, lines)
    if full:
        return (Message(words, full),)
    parts = _parts(card, lines) if card.whole else ()
    offered = _offered(parts)
    before = tuple(
        Message(
            f"Sayso: the whole command of {card.code}, part {number} of {len(parts)}.",
            _part(card.code, part, f"{number} of {len(parts)}"),
        )
        for number, part in enumerate(parts, 1)
        if offered
    )
    return (*before, Message(words, _short_card(card, lines, offered=offered)))


def render_outcome(card: OutcomeCard) -> Message:
    """Return the final state of a prompt, without buttons."""
    head, rest = cut(card.command.text, _OUTCOME)
    more = [layout.context(f"… and {len(rest):,} more characters")] if rest else []
    detail = card.detail.text
    blocks = [
        layout.section(f"{card.code} · {cut(card.headline.text, _DETAIL)[0]}"),
        *layout.boxes(head),
        *more,
        *([layout.section(cut(detail, _DETAIL)[0])] if detail else []),
        layout.context(f"Agent: {cut(card.agent.text, _SHORT)[0]} · Check: {card.digest}"),
    ]
    return Message(f"Sayso: {card.code} is {_ENDINGS[card.state]}.", blocks)


def render_notice(card: NoticeCard) -> tuple[Message, ...]:
    """Return a notice, in as many messages as it takes."""
    return _text(card.text, "Sayso has a notice.")


def render_reply(reply: Reply) -> tuple[Message, ...]:
    """Return a reply, in as many messages as it takes; its choices stand below the last one."""
    *before, last = _text(reply.text, "Sayso has an answer for you.")
    return (*before, Message(last.text, [*last.blocks, *choice_rows(reply.choices)]))


def render_title(title: Redacted) -> Message:
    """Return the message that a thread begins with."""
    return Message("Sayso: a thread for one session.", [layout.section(cut(title.text, _TITLE)[0])])


def _text(text: Redacted, words: str) -> tuple[Message, ...]:
    parts = tuple(layout.chunks(text.text, _PART)) or ("(nothing)",)
    return tuple(Message(words, layout.sections(part)) for part in parts)


def _lines(card: PromptCard) -> _Lines:
    return tuple((fact.label, fact.value.text) for fact in facts(card))


def _offered(parts: tuple[str, ...]) -> bool:
    return 0 < len(parts) <= _MOST_PARTS


def _full(card: PromptCard, lines: _Lines) -> list[Json]:
    """Return the blocks of a prompt in one message, none where they do not fit."""
    command = card.command.text
    if len(command) > layout.MAX_MESSAGE:
        return []
    shown = layout.boxes(command) or [
        layout.section("The command is empty; it can only be denied.")
    ]
    warning = layout.sections(f"⚠ {card.shell.text}") if card.shell.text else []
    blocks = [_title(card), *shown, *warning, *_facts(lines), *_answers(card, offered=True)]
    fits = len(blocks) <= layout.MAX_BLOCKS and layout.size(blocks) <= layout.MAX_MESSAGE
    return blocks if fits else []


def _short_card(card: PromptCard, lines: _Lines, *, offered: bool) -> list[Json]:
    head, rest = cut(card.command.text, _HEAD)
    end = layout.tail(rest, _TAIL)
    left_out = len(rest) - len(end)
    gap = f"… {left_out:,} characters are not in this message …"
    warning = [layout.section(f"⚠ {_short(card.shell.text)}")] if card.shell.text else []
    return [
        _title(card),
        layout.section(_length(card, offered=offered)),
        *layout.boxes(head),
        *([layout.section(gap)] if left_out > 0 else []),
        *layout.boxes(end),
        *warning,
        *_facts(tuple((label, _short(value)) for label, value in lines)),
        *_answers(card, offered=offered),
    ]


def _title(card: PromptCard) -> Json:
    return layout.header(f"Allow this command? · {card.code}")


def _length(card: PromptCard, *, offered: bool) -> str:
    if offered:
        return "Too long for one message. The full text is above; read it first."
    return f"{card.size:,} characters are too many to show here, so it can only be denied here."


def _facts(lines: _Lines) -> list[Json]:
    blocks: list[Json] = []
    for short, group in groupby(lines, key=lambda line: weight(line[1]) <= _CELL):
        texts = [f"{label}\n{value}" for label, value in group]
        if short:
            step = layout.MAX_FIELDS
            blocks += [layout.cells(texts[at : at + step]) for at in range(0, len(texts), step)]
        else:
            blocks += [block for text in texts for block in layout.sections(text)]
    return blocks


def _answers(card: PromptCard, *, offered: bool) -> list[Json]:
    typed = f"approve {card.code} {card.replies if offered else 'deny'}"
    hint = f"Or type /{typed}. Threads have no slash commands: type it there without the slash."
    return [layout.context(hint), row(card, offered=offered)]


def _short(value: str) -> str:
    # No command can hold this mark: "…" is always escaped in what is not ours.
    head, rest = cut(value, _SHORT)
    return f"{head} […{len(rest):,} more]" if rest else head


def _parts(card: PromptCard, lines: _Lines) -> tuple[str, ...]:
    below = "\n".join(f"{label}: {value}" for label, value in lines)
    texts = (card.command.text, card.shell.text, below)
    pieces = layout.chunks("\n\n".join(text for text in texts if text), _PART)
    return tuple(islice(pieces, _MOST_PARTS + 1))


def _part(code: str, text: str, place: str) -> list[Json]:
    words = f"{code} · the whole command, part {place}"
    return [layout.section(words), *layout.boxes(text), layout.context(f"End of part {place}.")]
