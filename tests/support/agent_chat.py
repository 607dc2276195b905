"""Prompt agents in real executors from a chat; read in words what a thread shows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.chat.inbox import GateInbox
from bot.executor_setup.archive import interpreter
from channels.base import Inbound
from channels.grammar import parse
from channels.memory import MemoryChannel, ShownMessage
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.forwarding import Forwarding
from core.gate.gate import Gate
from core.isolation.agents.agents import Agents
from core.isolation.agents.runtime import Runtime
from core.model.identity import DEFAULT_AGENT, Actor, Target
from core.model.policy import PolicyLayer
from core.settings.approvals import ForwardMode
from tests.support.agents import KEY, equip
from tests.support.chat import sending
from tests.support.executors import World, executors
from tests.support.gate import ANA, PLACE, gate_at
from tests.support.waiting import until

_APPROVERS = ("ana", "bob")
PEOPLE = Approvers({"memory": frozenset(_APPROVERS)})
TO_SESSIONS = Forwarding(enabled=True, mode=ForwardMode.SESSION, targets=())


@dataclass
class AgentChat:
    """A gate with an agent, and the chat that Ana prompts it from."""

    gate: Gate
    agents: Agents
    world: World
    channel: MemoryChannel
    inbox: GateInbox
    work: Path

    async def say(
        self, text: str, actor: Actor = ANA, place: Target = PLACE, message: str = ""
    ) -> str:
        """Type a text as this message; return the text of the replies."""
        command = parse(text, bot_name="sayso")
        assert command is not None
        key = f"{message or text}-{len(self.channel.replies)}"
        inbound = Inbound(actor, place, command, key, message=message)
        reply = await self.inbox.receive(inbound)
        return reply.text.text

    def thread(self, message: str) -> list[str]:
        """Return what the messages of a thread say now."""
        return [one.notice.text.text for one in self.in_thread(message) if one.notice]

    def in_thread(self, message: str) -> list[ShownMessage]:
        """Return the messages of a thread, prompts included."""
        shown = self.channel.shown.values()
        return [one for one in shown if one.target.thread == message]

    async def ended(self, message: str) -> list[str]:
        """Return what a thread says once it reports the end."""
        await until(lambda: any(is_end(text) for text in self.thread(message)[-1:]))
        return self.thread(message)

    async def question(self, message: str) -> ShownMessage:
        """Return the newest open question in a thread, once there is one."""
        await until(lambda: [one for one in self.in_thread(message) if one.open])
        return next(one for one in self.in_thread(message)[::-1] if one.open)


def is_end(text: str) -> bool:
    """Return whether the first line of a message says that a prompt has ended."""
    head = text.partition("\n")[0]
    return any(f": {word}" in head for word in ("completed", "failed", "cancelled", "ended", "did"))


@asynccontextmanager
async def agent_chat(
    home: Path,
    path: str,
    workshop: Path,
    everyone: PolicyLayer | None = None,
    *,
    timeout_ms: int = 60_000,
) -> AsyncIterator[AgentChat]:
    """Yield a chat with an agent of this executor; Ana and Bob may answer, Ana may prompt."""

    async def key_of(_service: str, _account: str) -> str:
        return KEY

    words = (interpreter(), "-I", str(workshop / "agent.py"))
    env = {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "{token}"}
    runtime = Runtime(words, "anthropic", "http://127.0.0.1:9", "x-api-key", "", env)
    channel, work = MemoryChannel(), workshop / "work"
    folders = {DEFAULT_AGENT: lambda _account: str(work)}
    async with (
        gate_at(
            home, everyone, timeout_ms=timeout_ms, forwarding=TO_SESSIONS, people=PEOPLE
        ) as gate,
        executors(path) as world,
    ):
        agents = equip(gate, world, runtime, key_of)
        ticking = asyncio.create_task(_expire(gate))
        try:
            async with sending(gate, channel, agents=folders, approvers=_APPROVERS) as inbox:
                yield AgentChat(gate, agents, world, channel, inbox, work)
        finally:
            ticking.cancel()


async def _expire(gate: Gate) -> None:
    while True:
        await gate.expire()
        await asyncio.sleep(0.05)
