"""Format a card as lines, each one of our labels and a value: what is in front, what is folded."""

from dataclasses import dataclass
from datetime import datetime

from channels.cards.card import NOTHING, OutcomeCard, PromptCard
from channels.cards.summary import MOST_SENTENCES, shortened
from channels.cards.text import duration
from core.text.render import CONTINUATION, Redacted, join, phrase

_MASK = "[secret: "
_LONG = 500
_MOST_BEYOND = 400


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a prompt: one of our labels and a value."""

    label: str
    value: Redacted


def facts(card: PromptCard) -> tuple[Fact, ...]:
    """Return all lines below the command: those always shown, then the details."""
    return (*front(card), *details(card))


def front(card: PromptCard) -> tuple[Fact, ...]:
    """Return the lines that an answer is based on, in the same order on every platform.

    Whatever may deceive is among them (invariant 9): programs that are not what their names say,
    what happens beyond the command's words, and the check words if the eye is not enough: something
    is masked, or it is long.
    """
    lines = (
        Fact("Does", card.does),
        Fact("Why", card.clause),
        *((_concerns(card),) if _is_crowded(card) else ()),
        Fact("⚠ Program" if len(card.odd) == 1 else "⚠ Programs", join("\n", card.odd)),
        Fact("⚠ Also", shortened(join("\n", card.beyond), _MOST_BEYOND)),
        Fact("Folder", card.cwd),
        Fact("Agent", phrase("{} · on {}", card.agent, card.host)),
        Fact("Sets", join(", ", card.env_names)),
        Fact("Asked", Redacted(f"{card.asked} times" if card.asked > 1 else "")),
        Fact("People", card.people),
        Fact("To allow", _step_up(card)),
        *((_check(card),) if _is_checked(card) else ()),
        Fact("Answer by", Redacted(_deadline(card))),
        Fact("Page", card.link),
    )
    return tuple(line for line in lines if line.value.text)


def details(card: PromptCard) -> tuple[Fact, ...]:
    """Return the lines that "Details" shows on platforms that fold them."""
    several = card.segments > 1
    lines = (
        *(() if _is_crowded(card) else (_concerns(card),)),
        Fact(
            "Programs" if several or len(card.resolved) > 1 else "Program",
            join("\n", card.resolved),
        ),
        Fact("Why you are asked", card.why),
        *((_beyond(card),) if _is_long(_beyond(card)) else ()),
        Fact("Policy", card.policy),
        Fact("Session", join(" · ", _session(card))),
        Fact("Allow always stores", join("\n", card.promise)),
        Fact("May run for", Redacted(duration(card.timeout_ms))),
        Fact("Id", Redacted(card.id)),
        *(() if _is_checked(card) else (_check(card),)),
    )
    return tuple(line for line in lines if line.value.text)


def checked(card: PromptCard) -> tuple[Fact, ...]:
    """Return ``front`` for a card that cannot show the whole: with its commands of concern."""
    shown = front(card)
    more = (_concerns(card), _check(card))
    return (*shown, *(line for line in more if line.value.text and line not in shown))


def listed(lines: tuple[Fact, ...]) -> Redacted:
    """Return lines as text, in which no line break in a value starts one of our lines."""
    rows = (f"{line.label}: {line.value}".replace("\n", f"\n{CONTINUATION}") for line in lines)
    return Redacted("\n".join(rows))


def whole_text(card: PromptCard) -> str:
    """Return the command, what runs it, and every fact, as text that is cut into parts."""
    texts = (card.command.text, card.shell.text, listed(facts(card)).text)
    return "\n\n".join(text for text in texts if text)


def _concerns(card: PromptCard) -> Fact:
    several = join("\n", card.concerns) if card.segments > 1 else NOTHING
    return Fact("Not allowed by policy", several)


def _beyond(card: PromptCard) -> Fact:
    return Fact("Beyond its words", join("\n", card.beyond))


def _is_long(fact: Fact) -> bool:
    return len(fact.value.text) > _MOST_BEYOND


def _is_crowded(card: PromptCard) -> bool:
    """Return whether the clause is not enough to see which command is asked about, and why."""
    return card.mixed or card.size > _LONG or card.segments > MOST_SENTENCES


def _is_checked(card: PromptCard) -> bool:
    return card.size > _LONG or _MASK in card.command.text


def _check(card: PromptCard) -> Fact:
    return Fact("Length and check", Redacted(f"{card.size:,} characters · {card.digest}"))


def ending_facts(card: OutcomeCard) -> tuple[Fact, ...]:
    """Return the lines below how a question ended."""
    lines = (
        Fact("Agent", card.agent),
        Fact("Asked because", card.clause),
        Fact("Stored", join("\n", card.stored)),
        Fact("Check", Redacted(card.digest)),
    )
    return tuple(line for line in lines if line.value.text)


def _session(card: PromptCard) -> tuple[Redacted, ...]:
    return (card.session, *((card.task,) if card.task.text else ()))


def _step_up(card: PromptCard) -> Redacted:
    if not (card.step_up and card.approvable):
        return NOTHING
    words = (
        "type /approve {} allow-once; a button is not enough. With a passkey or an "
        "authenticator app: on the control page"
    )
    return phrase(words, Redacted(card.code))


def _deadline(card: PromptCard) -> str:
    at = datetime.fromtimestamp(card.expires_at_ms / 1000, card.zone)
    return f"{at:%H:%M:%S %Z} ({duration(card.answer_within_ms)}); no answer means deny"
