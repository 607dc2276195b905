"""Define what people were shown before they answered, and the sum that the journal binds it by."""

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
    """The message that a person's answer was given under."""


@dataclass(frozen=True, slots=True)
class View:
    """A question that one person is shown now; ``text`` is what, redacted.

    ``place`` and ``message`` are where a chat has it, for ``Surface.ANSWERED``, which has no text.
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

    ``account`` and ``name`` are of who looked, empty for a copy in a chat. ``waiting``: nobody had
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

    A copy in their chat counts from when it was sent, for nobody knows when they looked.
    """
    own = [
        one.at_ms
        for one in showings
        if one.waiting and one.channel == by.channel and one.account in {"", by.account}
    ]
    return min(own, default=None)
