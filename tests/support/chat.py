"""Run a gate's inbox and outbox over a memory channel, as the gateway does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from bot.chat.agent_threads import AgentThreads
from bot.chat.agents import Folders
from bot.chat.inbox import GateInbox, Surroundings, inbox_of
from bot.jobs.message_sender import Delivery
from bot.jobs.outbox import Outbox
from bot.jobs.run_dispatcher import Dispatch
from channels.base import Inbound, Reply
from channels.commands import Command
from channels.grammar import parse
from channels.memory import MemoryChannel, ShownMessage
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.principals import Listing
from core.gate.gate import Gate
from core.model.identity import Actor, Target
from core.model.result import Pending
from core.store import outbox
from tests.support.gate import ANA, PLACE, request

BOB = Actor("memory", "bob", "Bob")
CARL = Actor("memory", "carl", "Carl")
_numbers = count(1)


@asynccontextmanager
async def sending(
    gate: Gate,
    channel: MemoryChannel,
    *,
    threaded: bool = False,
    approvers: tuple[str, ...] = ("ana",),
    agents: Folders | None = None,
) -> AsyncIterator[GateInbox]:
    """Run outbox and dispatch over one channel; Ana may send commands."""
    people = Approvers({"memory": frozenset(approvers)})
    channels = {"memory": channel}
    threads = AgentThreads(gate, channels, pace_s=0.05)
    around = Surroundings(threads, agents)
    may_send = Listing({"memory": frozenset({"ana"})})
    inbox = inbox_of(gate, people, may_send, elevated=True, surroundings=around)
    await channel.start(inbox)
    await threads.resume()
    sender = Outbox(gate.store, channels, Delivery(gate.store, channels, threaded))
    gate.broker.answering.editor = sender
    works = [asyncio.create_task(work.run()) for work in (sender, Dispatch(gate, gate.store))]
    try:
        yield inbox
    finally:
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        await threads.stop()


async def settled(gate: Gate) -> None:
    """Wait until every shown copy is recorded in its final state."""
    async with asyncio.timeout(10):
        # A place shows an edit a moment before the gateway has recorded it.
        while await gate.store.read(outbox.open_surfaces):
            await asyncio.sleep(0.01)


async def ask(gate: Gate, cwd: Path, line: str = "touch made") -> Pending:
    """Ask for something that a person must allow."""
    asked = await gate.submit(request(line, cwd=cwd))
    assert isinstance(asked, Pending)
    return asked


async def say(
    inbox: GateInbox, said: str | Command, actor: Actor = ANA, place: Target = PLACE, to: str = ""
) -> str:
    """Type or press something and return the text of the replies."""
    command = parse(said, bot_name="sayso", is_reply=bool(to)) if isinstance(said, str) else said
    assert command is not None
    reply = await inbox.receive(Inbound(actor, place, command, f"k{next(_numbers)}", to))
    return reply.text.text


def said(reply: Reply | None) -> str:
    """Return the text of a reply."""
    assert reply is not None
    return reply.text.text


def prompts(channel: MemoryChannel) -> list[ShownMessage]:
    """Return the messages with prompts, in order of arrival."""
    return [shown for shown in channel.shown.values() if shown.prompts]


def notices(channel: MemoryChannel) -> list[str]:
    """Return the text of the notices, in order of arrival."""
    return [shown.notice.text.text for shown in channel.shown.values() if shown.notice]
