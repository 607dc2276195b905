"""Identify who asks, who answers, and where."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

AgentId = NewType("AgentId", str)
SessionKey = NewType("SessionKey", str)
TaskId = NewType("TaskId", str)
"""One piece of an agent's work, as the agent names it; it narrows and proves nothing."""
TASK_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/#-]{0,99}")
"""What a task may be called: nothing that reads like another name or hides in a line."""
TASK_WORDS = "letters, digits and . _ : / # -, a letter or digit first, 100 characters at most"
"""The same for people."""
PersonId = NewType("PersonId", str)
"""One human being: the name in the people directory, or ``channel:account`` where not listed."""
PERSON_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
"""What a person of the directory may be called; lists name one as ``person:NAME``."""
ApprovalId = NewType("ApprovalId", str)
"""128 random bits in Crockford base32 (26 lower-case characters); also the run id."""

DEFAULT_AGENT = AgentId("main")
NAME = re.compile(r"[^\x00-\x1f\x7f]+")
"""What an agent, and anything else that requests name, may be called."""
LONGEST_NAME = 200
NAME_WORDS = f"1 to {LONGEST_NAME} characters, none of them a control character"
"""The same for people."""
CODE_LENGTH = 6
"""Characters of an id that make its short code; upper-case when shown to people."""


def code_of(ref: str) -> str:
    """Return the short code that people type: the id's first characters, upper-case."""
    return ref[:CODE_LENGTH].upper()


def as_shown(ref: str) -> str:
    """Return what a person named as prompts write it: a code in capitals, an id as it is."""
    return code_of(ref) if len(ref) == CODE_LENGTH else ref


def is_name(text: str) -> bool:
    """Return whether something may be called so."""
    return len(text) <= LONGEST_NAME and NAME.fullmatch(text) is not None


class Intake(StrEnum):
    """The way a request came in."""

    SOCKET = "socket"
    CHAT = "chat"
    DEMO = "demo"
    HTTP = "http"
    WEBSOCKET = "websocket"
    REMOTE = "remote"


LOCAL_CHANNEL = "terminal"
"""The channel of whoever answers on this machine; the account is the kernel's: ``uid:1000``."""
COMPANION_CHANNEL = "companion"
"""The channel of whoever answers at a companion; the account is the kernel's: ``uid:1000``."""
API_CHANNEL = "api"
"""The channel of whoever calls with a token; the account is the token's id: ``api:4k7w…``."""
PUSH_CHANNEL = "push"
"""The channel of browsers that take web push; a place is a subscription's id."""
NETWORK = frozenset({Intake.HTTP, Intake.WEBSOCKET})
"""Intakes where a token, and not the kernel, says who calls."""


@dataclass(frozen=True, slots=True)
class Requester:
    """The requester, taken from the connection and never from the body.

    ``account`` is an immutable id in the namespace of ``intake``: ``uid:1000`` on the socket,
    ``telegram:42`` (channel and user id) in a chat, ``api:…`` (a token's id) over the network.
    ``process`` names a local peer's kernel session where known: ``(session id, start time of its
    leader in ticks)``. Two commands of one terminal, or of one agent, share it.
    """

    intake: Intake
    account: str
    process: tuple[int, int] | None = None

    @property
    def uid(self) -> int | None:
        """Return the Unix user who asks, ``None`` for a request over the network or in a chat."""
        if self.intake is not Intake.SOCKET:
            return None
        kind, _, number = self.account.partition(":")
        return int(number) if kind == "uid" and number.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Actor:
    """A person at a surface: channel name and immutable platform id; the name is display only.

    ``groups`` are the approver references that the platform says hold for this person at this
    moment, such as ``role:80351110224678912`` or ``group:S012AB3CD``; they are never stored.
    """

    channel: str
    account: str
    name: str = ""
    groups: frozenset[str] = frozenset()

    @property
    def ref(self) -> str:
        """Return the account over all channels: ``telegram:42``."""
        return f"{self.channel}:{self.account}"


@dataclass(frozen=True, slots=True)
class Target:
    """A place in a channel that prompts go to."""

    channel: str
    to: str
    account: str = ""
    thread: str = ""
