"""Ask inside this process: for the demo and for tests, with the contract of a real platform."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from channels.base import Health, Inbound, Inbox, Reply
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.commands import Approve, Choose, Command
from channels.grammar import parse
from channels.utf16 import chunks
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import Actor, ApprovalId, Target
from core.text.render import Redacted

_LONGEST_GROUP = 4_000
_LONGEST_MESSAGE = 1_000


@dataclass(slots=True)
class ShownMessage:
    """One message: prompts as posted, their final states, or a notice.

    ``about`` is the message that a reminder replies to.
    """

    id: str
    target: Target
    prompts: dict[ApprovalId, PromptCard] = field(default_factory=dict)
    outcomes: dict[ApprovalId, OutcomeCard] = field(default_factory=dict)
    notice: NoticeCard | None = None
    about: str = ""

    @property
    def prompt(self) -> PromptCard | None:
        """Return the only prompt of the message; ``None`` if it has none or several."""
        return next(iter(self.prompts.values())) if len(self.prompts) == 1 else None

    @property
    def outcome(self) -> OutcomeCard | None:
        """Return how the message's only prompt ended."""
        return self.outcomes.get(self.prompt.id) if self.prompt else None

    @property
    def open(self) -> tuple[PromptCard, ...]:
        """Return the prompts that can still be answered."""
        return tuple(card for id_, card in self.prompts.items() if id_ not in self.outcomes)

    @property
    def buttons(self) -> tuple[ApprovalReply, ...]:
        """Return the answers that can be pressed now."""
        return tuple(dict.fromkeys(reply for card in self.open for reply in offered(card)))


def offered(card: PromptCard) -> tuple[ApprovalReply, ...]:
    """Return the answers that a prompt has buttons for."""
    once = (ApprovalReply.ALLOW_ONCE,) if card.approvable else ()
    always = (ApprovalReply.ALLOW_ALWAYS,) if card.offers_always else ()
    return (*once, *always, ApprovalReply.DENY)


@dataclass(slots=True)
class MemoryChannel:
    """Stores what is shown, and passes on what ``press`` and ``say`` do.

    What people do while the channel is stopped waits, as on a real platform.
    """

    name: str = "memory"
    shown: dict[str, ShownMessage] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    _inbox: Inbox | None = None
    _waiting: deque[Inbound] = field(default_factory=deque)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def start(self, inbox: Inbox) -> None:
        """Start to listen, and deliver what was pressed in the meantime."""
        self._inbox = inbox
        while self._waiting:
            await self._deliver(self._waiting.popleft())

    async def stop(self) -> None:
        """Stop listening."""
        self._inbox = None

    async def check(self) -> Health:
        """Return whether the channel was started."""
        return Health(ok=True, detail="listening") if self._inbox else Health(False, "not started")

    async def post(self, target: Target, card: PromptCard) -> str:
        """Keep a prompt and return its message id."""
        return self._keep(ShownMessage("", target, {card.id: card}))

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Keep the final state of a prompt; a message that is gone stays gone."""
        await self.update_group(target, message, (card,))

    def fits(self, cards: tuple[PromptCard, ...]) -> bool:
        """Return whether the cards are few and short enough for one message of a chat."""
        return sum(card.size for card in cards) <= _LONGEST_GROUP

    async def post_group(self, target: Target, cards: tuple[PromptCard, ...]) -> str:
        """Keep several prompts as one message and return its id."""
        return self._keep(ShownMessage("", target, {card.id: card for card in cards}))

    async def update_group(
        self, target: Target, message: str, cards: tuple[PromptCard | OutcomeCard, ...]
    ) -> None:
        """Keep the final states among the cards; a message that is gone stays gone."""
        del target  # message ids are unique across all places here
        if message in self.shown:
            ended = [card for card in cards if isinstance(card, OutcomeCard)]
            self.shown[message].outcomes.update({card.id: card for card in ended})

    async def open_thread(self, target: Target, title: Redacted, message: str = "") -> Target:
        """Open a thread and return its place."""
        if message:
            return replace(target, thread=message)
        root = self._keep(ShownMessage("", target, notice=NoticeCard(title)))
        return replace(target, thread=root)

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Keep a notice and return its message id."""
        return self._keep(ShownMessage("", target, notice=card))

    async def remind(self, target: Target, message: str, card: NoticeCard) -> str:
        """Keep a reminder and return its message id."""
        return self._keep(ShownMessage("", target, notice=card, about=message))

    async def end_reminder(self, target: Target, message: str, card: NoticeCard) -> None:
        """Replace a reminder with how its question ended."""
        del target  # message ids are unique across all places here
        if message in self.shown:
            self.shown[message].notice = card

    def pieces(self, text: Redacted, room: int) -> tuple[Redacted, ...]:
        """Cut a text into pieces that a chat would show in one message each."""
        return tuple(map(Redacted, chunks(text.text, _LONGEST_MESSAGE - room)))

    async def press(
        self, message: str, reply: ApprovalReply, actor: Actor, code: str = ""
    ) -> Reply | None:
        """Press a button; ``None`` means that the channel is stopped and the press waits.

        ``code`` names the prompt if the message shows several. Allow-always is the button
        "Always allow…", which asks how long.

        Raises:
            ChannelError: the message has no such button.
        """
        shown = self.shown[message]
        for card in shown.open:
            if code in ("", card.code) and reply in offered(card):
                always = reply is ApprovalReply.ALLOW_ALWAYS
                command = Choose(card.id) if always else Approve(card.id, reply)
                return await self._come_in(actor, shown.target, command, message)
        raise ChannelError(f"Message {message} has no button {reply}.", permanent=True)

    async def press_choice(self, target: Target, label: str, actor: Actor) -> Reply | None:
        """Press the button with this label under the newest reply that has it.

        Raises:
            ChannelError: no reply has such a button.
        """
        choices = [choice for reply in self.replies for choice in reply.choices]
        for choice in reversed(choices):
            if choice.label == label:
                return await self._come_in(actor, target, choice.command, "")
        raise ChannelError(f"No reply has a button {label}.", permanent=True)

    async def say(self, target: Target, text: str, actor: Actor, to: str = "") -> Reply | None:
        """Type a message, in reply to message ``to`` if given; ``None`` if there is no reply."""
        command = parse(text, bot_name="sayso", is_reply=to in self.shown)
        return await self._come_in(actor, target, command, to) if command else None

    def _keep(self, shown: ShownMessage) -> str:
        shown.id = str(next(self._numbers))
        self.shown[shown.id] = shown
        return shown.id

    async def _come_in(
        self, actor: Actor, place: Target, command: Command, to: str
    ) -> Reply | None:
        inbound = Inbound(actor, place, command, f"{self.name}:{next(self._numbers)}", to)
        return await self._deliver(inbound)

    async def _deliver(self, inbound: Inbound) -> Reply | None:
        if self._inbox is None:
            self._waiting.append(inbound)
            return None
        reply = await self._inbox.receive(inbound)
        self.replies.append(reply)
        return reply
