"""Represent what another product's file says about commands, in our own terms.

A reader returns ``Rule`` for what decides about commands, ``FileRule`` for what protects files, and
``UnreadStatement`` for everything else: each line of a source is one of the three, so that nothing
can vanish silently.
"""

from dataclasses import dataclass

from core.model.decision import Decision
from core.model.identity import DEFAULT_AGENT, AgentId

STAR = "\ue000"
"""In a ``Rule``'s words: any run of characters, even across several words."""
INNER = "\ue001"
"""In a ``Rule``'s words: any run of characters within this word, because it is quoted."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a source: its file, its key or line number there, and its text."""

    file: str
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule about commands: these words, and any after them if it is a ``prefix``.

    ``rank``: a rule gives way to one of a higher rank; if all have the same rank, the strictest
    counts. ``paths`` are the only files that the program may be, empty: any. ``pattern``: the first
    word is a pattern of paths. ``folder`` is the only one it applies in, and below; ``None``: any.
    ``except_words`` are patterns of words about which the source asks nevertheless. ``note``: why a
    rule that asks or denies is stricter here than there.
    """

    place: Place
    decide: Decision
    words: tuple[str, ...]
    prefix: bool
    reason: str | None = None
    rank: float = 0
    agent: AgentId = DEFAULT_AGENT
    paths: tuple[str, ...] = ()
    pattern: bool = False
    folder: str | None = None
    except_words: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class FileRule:
    """One rule that asks about or denies reading files: a pattern of absolute paths.

    ``everywhere``: here it protects such a path in every folder, but there only in a session's.
    """

    place: Place
    decide: Decision
    pattern: str
    note: str | None
    everywhere: bool


@dataclass(frozen=True, slots=True)
class Everything:
    """One rule that asks about or denies every command."""

    place: Place
    decide: Decision
    rank: float = 0


@dataclass(frozen=True, slots=True)
class UnreadStatement:
    """What could not be read as a rule about commands, and why.

    ``allows``: it is a rule that allows, so it counts as dropped. ``narrows``: it may ask about or
    deny commands, of any program; then it counts as lost, and nothing that it might be about may be
    allowed.
    """

    place: Place
    why: str
    allows: bool = False
    narrows: bool = False
    rank: float = 0


Statement = Rule | FileRule | Everything | UnreadStatement
