"""Define what a chat platform must offer, where its answers go, and what is unreadable.

The chat libraries read responses without checking them: an absent field is a ``KeyError``, an
``AttributeError`` much later, or a ``TypeError`` of some constructor. A proxy, a self-hosted
platform or a change at the platform must not end a channel that way.
"""

import logging
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from channels.cards.card import Choice, NoticeCard, OutcomeCard, PromptCard
from channels.commands import Command
from core.errors import ChannelError
from core.model.identity import Actor, Target
from core.text.render import Redacted, redact

UNREADABLE = (AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading an odd response raises; no ``SaysoError`` is among them."""

_log = logging.getLogger(__name__)
_LONGEST = 200
_CLASS = re.compile(r"^(?:\w+\.)+\w+: ")
"""The name of a library's exception, which means nothing to people: ``httpx.ConnectError: ``."""


def unreadable(platform: str, error: BaseException, *, setting: str) -> ChannelError:
    """Return the channel error for an unreadable response; ``setting`` is its URL's key."""
    _log.debug("An answer of %s cannot be read", platform, exc_info=error)
    said = redact(f"{type(error).__name__}: {error}"[:_LONGEST])
    return ChannelError(
        f"{platform} gave an answer that Sayso cannot read ({said}). Check {setting} and the "
        "proxies on the way."
    )


def out_of_reach(platform: str, said: str) -> ChannelError:
    """Return the channel error for a platform that does not answer, as one complete sentence."""
    words = _CLASS.sub("", said[:_LONGEST]).rstrip(". ")
    return ChannelError(f"{platform} cannot be reached: {redact(words)}.")


def failure_of(
    error: Exception,
    part: str,
    known: tuple[type[BaseException], ...],
    translate: Callable[[Exception], ChannelError],
) -> ChannelError:
    """Return what ended a connection as a channel error; a fault of ours is logged in full.

    ``known`` are the errors that ``translate`` accepts; ``part`` is what failed, such as "The bot".
    """
    if isinstance(error, ChannelError):
        return error
    if isinstance(error, known):
        return translate(error)
    _log.error("%s failed", part, exc_info=error)
    return ChannelError(f"{part} failed ({type(error).__name__}); see the log.")


class Tone(StrEnum):
    """How a reply is meant."""

    OK = "ok"
    REFUSED = "refused"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a person's press or message, after the commit.

    ``choices`` are shown as buttons if the platform has buttons, privately where it can; a press
    arrives with an empty ``Inbound.replied_to``, since the reply is not a copy of a prompt.
    ``link`` is an address to open, below the text; only the reply to a ``private`` event has one.
    """

    text: Redacted
    tone: Tone = Tone.INFO
    choices: tuple[Choice, ...] = ()
    link: str = field(default="", repr=False)


STOPPING = Reply(
    Redacted("Sayso is stopping; nothing was changed. Answer again when it is back."),
    Tone.REFUSED,
)
"""The reply to a person on ``Stopping``, if the platform does not redeliver."""
BROKEN = Reply(
    Redacted(
        "Internal error: this answer was not recorded and changed nothing. Contact the operator."
    ),
    Tone.REFUSED,
)
"""The reply to a person after a fault of ours."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """What a person did: who, where, what.

    ``key`` is the same for a redelivery of the same event (platform and update id).
    ``replied_to`` is the message id that ``post`` returned, if the person answered one. ``process``
    is the kernel session of a person who answers on this machine, as in ``Requester``. ``private``:
    nobody but this person sees the reply, on a platform that can show links. ``message`` is the
    message that the person wrote, as ``post`` would name it; empty if they pressed a button or used
    the platform's own form of a command.
    """

    actor: Actor
    place: Target
    command: Command
    key: str
    replied_to: str = ""
    process: tuple[int, int] | None = None
    private: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a channel can be used now; if not, why, and what to do."""

    ok: bool
    detail: str


class Inbox(Protocol):
    """Where answers go; the composition root fills it (``bot.chat.inbox``)."""

    async def receive(self, inbound: Inbound) -> Reply:
        """Authorise, decide and commit; return the reply to that person.

        Raises:
            Stopping: nothing was decided and the gateway stops; the channel leaves the event with a
            platform that sends it again, or else replies ``STOPPING`` to the person.
            SaysoError: nothing was decided; the channel keeps the event and retries it.
        """


class Channel(Protocol):
    """A place where people are asked.

    A channel never judges who may answer and never says that something was decided before
    ``Inbox.receive`` returned.
    """

    @property
    def name(self) -> str:
        """Return the channel's name, which ``Target.channel`` uses."""

    async def start(self, inbox: Inbox) -> None:
        """Start to listen; an outage of the platform is no error here but shows in ``check``."""

    async def stop(self) -> None:
        """Stop listening; the next ``start`` takes up what people do in the meantime."""

    async def check(self) -> Health:
        """Return whether prompts and answers get through now."""

    async def post(self, target: Target, card: PromptCard) -> str:
        """Show a prompt and return the platform's message id.

        Buttons that allow are offered only if the whole command was offered before.

        Raises:
            ChannelError: the platform refused it (``permanent``) or cannot be reached.
        """

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Bring a prompt to its final state, without buttons; a vanished message is not an error.

        Raises:
            ChannelError: the platform refused it (``permanent``) or cannot be reached.
        """

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Show a notice and return the platform's message id.

        Raises:
            ChannelError: the platform refused it (``permanent``) or cannot be reached.
        """


@runtime_checkable
class Groups(Protocol):
    """A channel that shows several prompts in one message, each with its own buttons."""

    def fits(self, cards: tuple[PromptCard, ...]) -> bool:
        """Return whether one message can show all of these in full, with every button."""

    async def post_group(self, target: Target, cards: tuple[PromptCard, ...]) -> str:
        """Show several prompts as one message and return the platform's message id.

        Raises:
            ChannelError: as ``Channel.post``.
        """

    async def update_group(
        self, target: Target, message: str, cards: tuple[PromptCard | OutcomeCard, ...]
    ) -> None:
        """Update the message to the current state: outcomes have no buttons, prompts keep theirs.

        Raises:
            ChannelError: as ``Channel.update``.
        """


@runtime_checkable
class Recordable(Protocol):
    """A channel that reports exactly what it posts, for the record of what people were shown."""

    def rendering(self, target: Target, cards: tuple[PromptCard, ...]) -> list[dict[str, object]]:
        """Return the bodies of the calls that post one prompt, or several as one message."""


@runtime_checkable
class Resumable(Protocol):
    """A channel that can look for a prompt whose sending was not confirmed."""

    async def resume(self, target: Target, card: PromptCard) -> str:
        """Return the id of the message or group that already shows the prompt; else post it.

        Raises:
            ChannelError: as ``Channel.post``.
        """


@runtime_checkable
class Ephemeral(Protocol):
    """A channel that knows only what its own process showed; after a restart it is shown again."""

    def open_messages(self) -> Collection[str]:
        """Return the ids of the messages that can be answered here."""


@runtime_checkable
class Reminders(Protocol):
    """A channel that links a reminder to its prompt, and ends both together."""

    async def remind(self, target: Target, message: str, card: NoticeCard) -> str:
        """Show a reminder as the reply to a prompt's message and return its id.

        A vanished prompt is not an error: the reminder is then sent alone.

        Raises:
            ChannelError: as ``Channel.notify``.
        """

    async def end_reminder(self, target: Target, message: str, card: NoticeCard) -> None:
        """Replace a reminder with how its question ended; a vanished one is not an error.

        Raises:
            ChannelError: as ``Channel.update``.
        """


@runtime_checkable
class Threads(Protocol):
    """A channel that can open a thread for an agent's session or prompt."""

    async def open_thread(self, target: Target, title: Redacted, message: str = "") -> Target:
        """Open a thread in a place and return the thread's place, where ``post`` then posts.

        With ``message`` it is the thread of that message, if the platform has such threads; a
        repeated call returns the same one.

        Raises:
            ChannelError: as ``Channel.post``; permanent if the place has no threads.
        """


@runtime_checkable
class Growing(Protocol):
    """A channel whose messages can grow; such a channel is also ``Reminders``.

    What is posted by ``notify`` or ``remind`` is replaced by ``end_reminder``.
    """

    def pieces(self, text: Redacted, room: int) -> tuple[Redacted, ...]:
        """Cut a text into pieces that each fit one message with ``room`` characters of ours."""


@dataclass(frozen=True, slots=True)
class Proof:
    """One check at a platform: what was tried, whether it works, and what to do if not.

    ``serious``: without it approvers cannot answer; otherwise something is lost, as ``detail``
    says.
    """

    subject: str
    ok: bool
    detail: str
    serious: bool = True


@runtime_checkable
class Linkable(Protocol):
    """A platform on which a link can send the bot a code."""

    def pair_link(self, code: str) -> str:
        """Return the link, empty while the bot's name is not known."""


@runtime_checkable
class Provable(Protocol):
    """A channel that can prove its set-up (``sayso doctor channels``)."""

    async def prove(self, people: tuple[str, ...]) -> tuple[Proof, ...]:
        """Check token, scopes or intents, and each of these approver references; send nothing.

        An outage of the platform is a failed proof, not an exception.
        """
