"""Pass what a person types or presses to the part that answers it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bot.chat.agent_threads import AgentThreads
from bot.chat.agents import AgentPrompts, Folders
from bot.chat.answers import Answers
from bot.chat.listings import Lists
from bot.chat.login import LoginLinks
from bot.chat.nodes import NodePairing
from bot.chat.pairing import Pairing
from bot.chat.permissions import KnownPeople
from bot.chat.runs import ChatRuns
from bot.chat.session_settings import SessionSettings
from channels.base import Inbound, Reply, Tone
from channels.commands import HELP, Malformed
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.principals import Listing
from core.approvals.routing.senders import Senders
from core.errors import Stopping
from core.gate.gate import Gate
from core.gate.sessions import SessionRules
from core.text.render import Redacted


class Part(Protocol):
    """One part of what people may do in a chat."""

    async def take(self, inbound: Inbound) -> Reply | None:
        """Act on a command of this part; ``None`` if it belongs to another part.

        Raises:
            SaysoError: nothing was decided; the channel keeps the event and offers it again.
        """


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The parts that chats use and that no reload replaces.

    ``threads`` shows what agents say, ``folders`` are the agents that take prompts. ``page_url``
    returns where the control page is, empty if it is off.
    """

    threads: AgentThreads
    folders: Folders | None = None
    page_url: Callable[[], str] = str


@dataclass(slots=True)
class GateInbox:
    """The inbox to which every channel passes what people write; a reload replaces its parts."""

    gate: Gate
    parts: tuple[Part, ...]
    surroundings: Surroundings

    async def receive(self, inbound: Inbound) -> Reply:
        """Act on one typed command and return the reply.

        Raises:
            Stopping: the gateway stops; nothing was decided, and the channel reports it or keeps
            the event.
            SaysoError: nothing was decided.
        """
        if self.gate.closed:
            raise Stopping
        for part in self.parts:
            reply = await part.take(inbound)
            if reply is not None:
                return reply
        if isinstance(inbound.command, Malformed):
            return Reply(Redacted(inbound.command.usage), Tone.REFUSED)
        return Reply(Redacted(HELP))


def inbox_of(
    gate: Gate,
    approvers: Approvers,
    senders: Listing,
    *,
    elevated: bool,
    surroundings: Surroundings,
) -> GateInbox:
    """Return the inbox of a gate, with everything that people may do in a chat.

    ``elevated`` is ``tools.elevated.enabled``.
    """
    store = gate.store
    acting = Senders(store, senders)
    known = KnownPeople(store, approvers, acting)
    return GateInbox(
        gate,
        (
            Answers(gate, store),
            Lists(store, known),
            ChatRuns(gate, store, known, Path.home()),
            SessionSettings(SessionRules(store, gate.journal, acting, elevated), known),
            Pairing(store),
            NodePairing(store, gate.journal, approvers),
            LoginLinks(store, gate.journal, approvers, surroundings.page_url),
            AgentPrompts(gate, known, surroundings.threads, surroundings.folders),
        ),
        surroundings,
    )
