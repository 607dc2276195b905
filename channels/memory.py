"""Ask inside this process: for the demo and for tests, with the contract of a real platform."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from channels.base import Health, Inbound, Inbox, Reply
from channels.cards import NoticeCard, OutcomeCard, PromptCard
from channels.commands import Approve, Command, parse
from core.errors import ChannelError
from core.model.approval import ApprovalReply
from core.model.identity import Actor, Target


@dataclass(slots=True)
class Shown:
    """One message: the prompt as posted, its final state, or a notice."""

    id: str
    target: Target
    prompt: PromptCard | None = None
    outcome: OutcomeCard | None = None
    notice: NoticeCard | None = None

    @property
    def buttons(self) -> tuple[ApprovalReply, ...]:
        """Return the answers that can be pressed now."""
        if self.prompt is None or self.outcome is not None:
            return ()
        once = (ApprovalReply.ALLOW_ONCE,) if self.prompt.approvable else ()
        always = (ApprovalReply.ALLOW_ALWAYS,) if self.prompt.offers_always else ()
        return (*once, *always, ApprovalReply.DENY)


@dataclass(slots=True)
class MemoryChannel:
    """Keep what is shown, and pass on what ``press`` and ``say`` do.

    What people do while the channel is stopped waits, as at a real platform.
    """

    name: str = "memory"
    shown: dict[str, Shown] = field(default_factory=dict)
    replies: list[Reply] = field(default_factory=list)
    _inbox: Inbox | None = None
    _waiting: deque[Inbound] = field(default_factory=deque)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    async def start(self, inbox: Inbox) -> None:
        """Begin to listen, and deliver what was pressed meanwhile."""
        self._inbox = inbox
        while self._waiting:
            await self._deliver(self._waiting.popleft())

    async def stop(self) -> None:
        """Stop listening."""
        self._inbox = None

    async def check(self) -> Health:
        """Say whether the channel was started."""
        return Health(ok=True, detail="listening") if self._inbox else Health(False, "not started")

    async def post(self, target: Target, card: PromptCard) -> str:
        """Keep a prompt and return its message id."""
        return self._keep(Shown("", target, prompt=card))

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Keep the final state of a prompt; a message that is gone stays gone."""
        del target  # message ids are unique over all places here
        if message in self.shown:
            self.shown[message].outcome = card

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Keep a notice and return its message id."""
        return self._keep(Shown("", target, notice=card))

    async def press(self, message: str, reply: ApprovalReply, actor: Actor) -> Reply | None:
        """Press a button; ``None`` means that the channel is stopped and the press waits.

        Raises:
            ChannelError: the message has no such button.
        """
        shown = self.shown[message]
        if shown.prompt is None or reply not in shown.buttons:
            raise ChannelError(f"Message {message} has no button {reply}.", permanent=True)
        return await self._come_in(actor, shown.target, Approve(shown.prompt.id, reply), message)

    async def say(self, target: Target, text: str, actor: Actor, to: str = "") -> Reply | None:
        """Type a message, in reply to message ``to`` if given; ``None`` where nobody is told."""
        command = parse(text, bot_name="sayso", is_reply=to in self.shown)
        return await self._come_in(actor, target, command, to) if command else None

    def _keep(self, shown: Shown) -> str:
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
