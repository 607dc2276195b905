"""Ask through a companion: a program of this user that shows a dialog (S0 "UI integration").

A companion is asked only while it listens; it shows and answers, and decides nothing. Its answers
count as those of the listener's user, ``uid:1000``, from the kernel session that listens.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from channels.base import Health, Inbound, Inbox, Reply, Tone
from channels.cards.card import NoticeCard, OutcomeCard, PromptCard
from channels.commands import Approve
from channels.companion.question import question_of
from core.companion.client import Asked, CompanionAddress, NoCompanion, ask, probe
from core.errors import BadRequest, ChannelError, SaysoError
from core.ipc.peer import Peer
from core.ipc.users import user_name
from core.model.approval import ApprovalReply
from core.model.identity import COMPANION_CHANNEL, Actor, ApprovalId, Target
from core.text.render import Redacted, redact

HERE = Target(COMPANION_CHANNEL, "here")
"""The one place of this channel: whoever sits at this machine."""
_UNKNOWN = "Started by a run of Sayso, or gone: its answers do not count."

Session = tuple[int, int]


async def _nothing_lost(_asked: ApprovalId, _why: str) -> None:
    """Ignore that a companion is gone."""


@dataclass(slots=True)
class CompanionChannel:
    """Dialogs at the companion that listens; each has its own connection.

    ``address`` returns where it would listen, ``None`` if nothing is set up. ``session_of`` returns
    the kernel session of a listener, ``None`` if its answers never count. ``lost`` is called for
    each question whose companion disconnected before it ended, with the reason.
    """

    address: Callable[[], CompanionAddress | None]
    session_of: Callable[[Peer], Session | None]
    name: str = COMPANION_CHANNEL
    lost: Callable[[ApprovalId, str], Awaitable[None]] = _nothing_lost
    _inbox: Inbox | None = None
    _open: dict[str, Asked] = field(default_factory=dict)
    _following: set[asyncio.Task[None]] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _run: str = field(default_factory=lambda: os.urandom(8).hex())

    async def start(self, inbox: Inbox) -> None:
        """Accept answers from now on; the listener is looked up for each question."""
        self._inbox = inbox

    async def stop(self) -> None:
        """Close the dialogs; the companion shows that the gateway is gone."""
        self._inbox = None
        while self._open:
            _, asked = self._open.popitem()
            await asked.end("The gateway is stopping; answer when it is back.")
        for task in tuple(self._following):
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)

    async def check(self) -> Health:
        """Return whether a companion could be asked now."""
        try:
            await self.present()
        except NoCompanion as absent:
            return Health(ok=False, detail=f"{absent} Start one: sayso companion")
        return Health(ok=True, detail="a companion is listening")

    async def present(self) -> Session:
        """Return the kernel session of the companion that listens now.

        Raises:
            NoCompanion: there is none whose answers would count; the message says why.
        """
        return self._session(await probe(self._address()))

    async def post(self, target: Target, card: PromptCard) -> str:
        """Open a dialog and return its id, the question's own."""
        try:
            asked = await ask(self._address(), question_of(card))
        except NoCompanion as absent:
            raise ChannelError(str(absent), permanent=True) from absent
        except BadRequest as error:
            raise ChannelError(f"Too long for the companion: {error}", permanent=True) from error
        earlier = self._open.pop(card.id, None)
        if earlier is not None:
            await earlier.end("Asked again.")
        self._open[card.id] = asked
        task = asyncio.create_task(self._follow(target, card.id, asked))
        self._following.add(task)
        task.add_done_callback(self._following.discard)
        return card.id

    async def update(self, target: Target, message: str, card: OutcomeCard) -> None:
        """Close the dialog and say how the question ended."""
        del target  # there is only one companion
        asked = self._open.pop(message, None)
        if asked is not None:
            detail = f". {card.detail}" if card.detail.text else ""
            await asked.end(f"{card.code} {card.headline}{detail}"[:4_000])

    async def notify(self, target: Target, card: NoticeCard) -> str:
        """Ignore a notice: a dialog is in front of its person until it ends."""
        del target, card
        return str(next(self._numbers))

    async def _follow(self, target: Target, asked_id: ApprovalId, asked: Asked) -> None:
        why = "it was closed"
        try:
            async for reply in asked.answers():
                said = await self._answer(target, asked, reply)
                await asked.reply(said.text.text[:4_000], accepted=said.tone is Tone.OK)
        except NoCompanion as failure:
            why = str(failure)
        if self._open.get(asked_id) is asked:
            del self._open[asked_id]
            await self.lost(asked_id, why)

    async def _answer(self, target: Target, asked: Asked, reply: ApprovalReply) -> Reply:
        if self._inbox is None:
            return Reply(Redacted("The gateway is stopping."), Tone.REFUSED)
        uid, question = asked.peer.uid, asked.question
        actor = Actor(self.name, f"uid:{uid}", user_name(uid))
        key = f"{self.name}:{self._run}:{next(self._numbers)}"
        try:
            process = self._session(asked.peer)
            command = Approve(question.id, reply)
            inbound = Inbound(actor, target, command, key, question.id, process)
            return await self._inbox.receive(inbound)
        except SaysoError as error:
            return Reply(redact(f"{error} Nothing was decided."), Tone.REFUSED)

    def _session(self, peer: Peer) -> Session:
        session = self.session_of(peer)
        if session is None:
            raise NoCompanion(_UNKNOWN)
        return session

    def _address(self) -> CompanionAddress:
        found = self.address()
        if found is None:
            raise NoCompanion("exec-approvals.json has no socket.token.")
        return found
