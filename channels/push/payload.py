"""Format cards as notifications: a title and a few lines, all of them masked; pure.

A notification is a glance. It may be answered there only if nothing is left out: a short command of
one line, asked about because it is on no list and for no other reason, and a card without lines
that warn or for which the notification has no room.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.cards.lines import front

LARGEST: Final = 3_000
"""Bytes of a message before encryption; services accept 4,096 afterwards."""
_LONGEST_COMMAND: Final = 120
_LONGEST_NAME: Final = 80
_CUT: Final = 200
_SHOWN: Final = frozenset({"Does", "Why", "Folder", "Agent", "Answer by", "Page"})
"""Lines of a card that a notification shows or that only describe; ``Why`` if it names a list."""


@dataclass(frozen=True, slots=True)
class Note:
    """One notification. ``tag``: a later one with the same tag replaces it.

    ``about`` is the approval's id, empty for none; ``until_ms`` when it ends, 0 for never.
    """

    kind: str
    tag: str
    title: str
    text: str
    about: str = ""
    until_ms: int = 0

    def as_json(self) -> dict[str, object]:
        """Return what is shown, in the form that is sent and kept as evidence."""
        return {
            "kind": self.kind,
            "tag": self.tag,
            "title": self.title,
            "text": self.text,
            "id": self.about,
            "until": self.until_ms,
        }


def encoded(note: Note, answer: str = "") -> bytes:
    """Return what is encrypted; ``answer`` is the token the notification may answer with."""
    found = note.as_json() | ({"answer": answer} if answer else {})
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def prompt(place: str, card: PromptCard) -> Note:
    """Return the notification of a question."""
    folder, host = (_short(one.text, _LONGEST_NAME) for one in (card.cwd, card.host))
    command, does = _short(card.command.text, _CUT), _short(card.does.text, _LONGEST_COMMAND)
    lines = (command, does, f"in {folder}, on {host}", f"Check: {card.digest}")
    title = f"{_short(card.agent.text, _LONGEST_NAME)} asks ({card.code})"
    tag = tag_of(place, card.id)
    return Note("prompt", tag, title, "\n".join(filter(None, lines)), card.id, card.expires_at_ms)


def outcome(place: str, card: OutcomeCard) -> Note:
    """Return the notification that replaces a question that has ended."""
    title = f"{card.code}: {_short(card.headline.text, 100)}"
    text = _short(card.command.text, _CUT)
    return Note("outcome", tag_of(place, card.id), title, text, card.id)


def notice(tag: str, card: NoticeCard) -> Note:
    """Return a notification that asks for nothing."""
    return Note("notice", tag, "Sayso", _short(card.text.text, _CUT))


def is_answerable(card: PromptCard) -> bool:
    """Return whether a notification shows everything that an answer is based on."""
    names = (card.cwd.text, card.host.text, card.agent.text)
    texts = (card.command.text, card.does.text)
    fits = all(len(one) <= _LONGEST_COMMAND and one.isprintable() for one in texts)
    named = all(len(one) <= _LONGEST_NAME and one.isprintable() for one in names)
    alone = all(fact.label in _SHOWN for fact in front(card))
    single = not card.step_up and not card.shell.text and card.segments == 1
    return card.approvable and card.plain and fits and named and alone and single


def tag_of(place: str, about: str) -> str:
    """Return the tag of a notification, which tells browser and push service nothing else."""
    return hashlib.sha256(f"{place}\x1f{about}".encode()).hexdigest()[:32]


def _short(text: str, most: int) -> str:
    line = " ".join(text.split("\n"))
    return line if len(line) <= most else f"{line[: most - 1]}…"
