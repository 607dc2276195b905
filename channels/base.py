"""Define what a chat platform must offer, and where its answers go."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from channels.cards import NoticeCard, OutcomeCard, PromptCard
from channels.commands import Command
from core.model.identity import Actor, Target
from core.text.render import Redacted


class Tone(StrEnum):
    """How a reply is meant."""

    OK = "ok"
    REFUSED = "refused"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Choice:
    """One button under a reply: what it says and what pressing it means."""

    label: str
    command: Command


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a person's press or message, after the commit.

    ``choices`` are shown as buttons where the platform has some, privately where it can; a press
    comes in with an empty ``Inbound.replied_to``, since the reply is no copy of a prompt.
    """

    text: Redacted
    tone: Tone = Tone.INFO
    choices: tuple[Choice, ...] = ()


STOPPING = Reply(
    Redacted("Sayso is stopping; nothing was changed. Answer again when it is back."),
    Tone.REFUSED,
)
"""The reply to a person on ``Stopping``, where the platform does not redeliver."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """What a person did: who, where, what.

    ``key`` is the same for a redelivery of the same event (platform and update id).
    ``replied_to`` is the message id that ``post`` returned, where the person answered one.
    """

    actor: Actor
    place: Target
    command: Command
    key: str
    replied_to: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a channel can be used now, and in words why not and what to do."""

    ok: bool
    detail: str


class Inbox(Protocol):
    """Where answers go; the composition root fills it (``bot.chat.inbox``)."""

    async def receive(self, inbound: Inbound) -> Reply:
        """Authorise, decide and commit; return the reply to that person.

        Raises:
            Stopping: nothing was decided and the gateway stops; the channel leaves the event with
                a platform that sends it again, and else replies ``STOPPING`` to the person.
            SaysoError: nothing was decided; the channel keeps the event and offers it again.
        """


class Channel(Protocol):
    """A place where people are asked.

    A channel never judges who may answer and never says that something was decided before
    ``Inbox.receive`` returned.
    """

    @property
    def name(self) -> str:
        """Return the name that ``Target.channel`` uses."""

    async def start(self, inbox: Inbox) -> None:
        """Begin to listen; an outage of the platform is no error here but shows in ``check``."""

    async def stop(self) -> None:
        """Stop listening; what people do meanwhile is taken up by the next ``start``."""

    async def check(self) -> Health:
        """Return whether prompts and answers get through now."""

    async def post(self, target: Target, card: PromptCard) -> str:
        """Show a prompt and return the platform's message id.

        Buttons that allow are offered only where the whole command was offered before.

        Raises:
            ChannelError: the platform refused it (``permanent``) or cannot be reached.
        """

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Bring a prompt to its final state, without buttons; a vanished message is no error.

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
        """Bring the message to what is true now: outcomes have no buttons, prompts keep theirs.

        Raises:
            ChannelError: as ``Channel.update``.
        """


@runtime_checkable
class Resumable(Protocol):
    """A channel that can look for a prompt whose sending was not confirmed."""

    async def resume(self, target: Target, card: PromptCard) -> str:
        """Return the id of the message that shows the prompt already, a group's too; else post it.

        Raises:
            ChannelError: as ``Channel.post``.
        """


@runtime_checkable
class Threads(Protocol):
    """A channel that can open a thread for an agent's session."""

    async def open_thread(self, target: Target, title: Redacted) -> Target:
        """Open a thread in a place and return the thread's place, where ``post`` then posts.

        Raises:
            ChannelError: as ``Channel.post``; permanent where the place has no threads.
        """


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing that was tried at a platform: what, whether it works, and what to do if not."""

    subject: str
    ok: bool
    detail: str


@runtime_checkable
class Provable(Protocol):
    """A channel that can prove its set-up (``sayso doctor channels``)."""

    async def prove(self, people: tuple[str, ...]) -> tuple[Proof, ...]:
        """Try token, scopes or intents, and each of these approver references; send nothing.

        An outage of the platform is a proof that failed, not an exception.
        """
