"""Run a whole gate between two platforms: the one under test, and one inside this process.

Inbox, outbox, dispatch and clock are the gateway's own, the store is SQLite, and what people allow
is really run.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.chat.agent_threads import AgentThreads
from bot.chat.inbox import Surroundings, inbox_of
from bot.health.report import Health
from bot.jobs.message_sender import Delivery
from bot.jobs.outbox import Outbox
from bot.jobs.periodic import TimedWork
from bot.jobs.recovery import Heart
from bot.jobs.run_dispatcher import Dispatch
from bot.jobs.scheduler import Clock
from bot.settings import load
from channels.base import Channel
from channels.memory import MemoryChannel
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.forwarding import EscalationStep, Forwarding
from core.approvals.routing.principals import Listing
from core.gate.gate import Gate
from core.model.identity import Target
from core.settings.approvals import ForwardMode
from tests.contracts.channel_setup import PeopleSetup
from tests.contracts.people_prompts import PeopleGateway, end, until
from tests.contracts.simultaneous_answers import Meeting
from tests.support.gate import gate_at


@dataclass(frozen=True, slots=True)
class GatewayRules:
    """The rules of a test; the person under test may answer unless ``here`` lists others.

    ``first`` and ``then`` name channels: with them, ``then`` is asked where ``first`` let
    ``step_ms`` pass.
    """

    here: frozenset[str] | None = None
    quorum: int = 1
    timeout_ms: int = 60_000
    remind_ms: int | None = None
    first: str = ""
    step_ms: int = 100


@asynccontextmanager
async def people_gateway(
    home: Path, setup: PeopleSetup, other: MemoryChannel, rules: GatewayRules
) -> AsyncIterator[PeopleGateway]:
    """Run a gateway's parts over both platforms; Ana may send commands on both."""
    here, there = setup.channel.name, other.name
    lists = {there: frozenset({"ana", "bob"}), here: rules.here or frozenset({setup.account})}
    approvers = Approvers(lists, quorum=rules.quorum)
    senders = Listing({here: frozenset({setup.account}), there: frozenset({"ana"})})
    async with AsyncExitStack() as stack:
        gate = await stack.enter_async_context(
            gate_at(
                home,
                timeout_ms=rules.timeout_ms,
                remind_ms=rules.remind_ms,
                people=approvers,
                forwarding=_forwarding(rules, (setup.target, Target(there, "room"))),
            )
        )
        around = Surroundings(AgentThreads(gate, {}))
        meeting = Meeting(inbox_of(gate, approvers, senders, elevated=False, surroundings=around))
        channels: dict[str, Channel] = {here: setup.channel, there: other}
        for channel in channels.values():
            await channel.start(meeting)
            stack.push_async_callback(channel.stop)
            await until(lambda channel=channel: _ready(channel))  # type: ignore[misc] # a default
        sending = Delivery(gate.store, channels)
        gateway = PeopleGateway(
            setup, other, gate, home, meeting, lambda: Outbox(gate.store, channels, sending).run()
        )
        await gateway.send()
        stack.push_async_callback(gateway.hold_outbox)
        stack.push_async_callback(end, asyncio.create_task(Dispatch(gate, gate.store).run()))
        _tick(stack, gate, channels, home)
        yield gateway


def _forwarding(rules: GatewayRules, places: tuple[Target, ...]) -> Forwarding:
    if not rules.first:
        return Forwarding(enabled=True, mode=ForwardMode.TARGETS, targets=places)
    first, then = sorted(places, key=lambda place: place.channel != rules.first)
    steps = (
        EscalationStep((first,), False, rules.step_ms),
        EscalationStep((then,), False, rules.timeout_ms),
    )
    return Forwarding(enabled=True, mode=ForwardMode.TARGETS, targets=(), steps=steps)


def _tick(stack: AsyncExitStack, gate: Gate, channels: dict[str, Channel], home: Path) -> None:
    settings = load(home, environ={})
    health = Health(gate.store, channels, settings)
    heart = Heart(gate.store, gate.journal, gate.execution.owner)
    clock = Clock(TimedWork(gate, gate.store, heart, health, settings))
    clock.start()
    stack.callback(clock.stop)
    stack.callback(gate.store.subscribe(clock.hear))


async def _ready(channel: Channel) -> bool:
    return (await channel.check()).ok
