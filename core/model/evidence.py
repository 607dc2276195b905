"""Define what people were shown before they answered, and the hash that the journal binds."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.model.identity import Actor, ApprovalId


class Surface(StrEnum):
    """Where a question was shown."""

    MESSAGE = "message"
    """A copy of the prompt in a chat: everybody there can read it."""
    LIST = "list"
    """In a list, where a long command is cut."""
    WHOLE = "whole"
    """On its own page, with all of its command."""
    METHOD = "method"
    """As the answer of a method: the API, the terminal."""
    ANSWERED = "answered"
    """The chat that a person's answer was given in, and the message that it was given under."""


@dataclass(frozen=True, slots=True)
class View:
    """A question that one person is shown now; ``text`` is its text, redacted.

    ``place`` and ``message`` are where a chat has it, for ``Surface.ANSWERED``, which has no text;
    an answer under no message has no ``message``.
    """

    approval_id: ApprovalId
    actor: Actor
    surface: Surface
    text: str = ""
    place: str = ""
    message: str = ""

    @property
    def key(self) -> str:
        """Return what is recorded once only: this person, on this surface."""
        return f"{self.surface}:{self.actor.ref}:{self.message}"


@dataclass(frozen=True, slots=True)
class Showing:
    """A question as it was shown once; ``hash`` is the SHA-256 of its text, empty for none.

    ``account`` and ``name`` are the viewer's, empty for a copy in a chat. ``waiting``: nobody had
    decided yet, so it is part of what the decision rests on. ``at_ms`` is on the database's clock.
    """

    key: str
    surface: Surface
    channel: str
    place: str
    message: str
    account: str
    name: str
    hash: str
    at_ms: int
    waiting: bool


def text_hash(text: str) -> str:
    """Return the SHA-256 of what was shown, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def basis_of(showings: Sequence[Showing]) -> str:
    """Return the SHA-256 over all that was shown before the decision.

    It is over a line of canonical JSON for each, ordered by time and key; ``verify.py`` computes it
    again.
    """
    rows = sorted((one for one in showings if one.waiting), key=lambda one: (one.at_ms, one.key))
    lines = (
        json.dumps(
            [
                *(one.key, one.surface, one.channel, one.place, one.message),
                *(one.account, one.name, one.hash, one.at_ms),
            ],
            separators=(",", ":"),
        )
        for one in rows
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def seen_since(showings: Sequence[Showing], by: Actor) -> int | None:
    """Return since when a person could read what they answered, ``None`` where nothing says so.

    A copy in the chat that they answered in counts from when it was sent, because nobody knows when
    they looked; one in another chat does not, because nobody knows that they read it there.
    """
    rows = [one for one in showings if one.waiting and one.channel == by.channel]
    looks = [one for one in rows if one.account == by.account]
    chats = {_chat(one.place) for one in looks if one.surface is Surface.ANSWERED}
    copies = [one for one in rows if not one.account and _chat(one.place) in chats]
    # An answer that was typed under no message shows where, and not that anything was read.
    read = [one for one in looks if one.surface is not Surface.ANSWERED or one.message]
    own = [one.at_ms for one in (*read, *copies)]
    return min(own, default=None)


def _chat(place: str) -> str:
    """Return the chat of a place, whatever the thread."""
    return place.partition("/")[0]
