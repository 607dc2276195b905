"""Compose the gateway: what is made, in which order it starts, and how it stops.

::

    ground: journal, store, what an earlier gateway left ─▶ machines: guard, runner, hosts ─▶ gate
          ─▶ channels ─▶ outbox, dispatch, clock ─▶ ways in: remote exec, socket, network ─▶ proof

The ways in open last, so that nobody is answered by half a gateway; everything stops in reverse.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from bot.clock import Clock
from bot.delivery import Delivery
from bot.dispatch import Dispatch
from bot.gate import gate_of
from bot.gate_proof.chat import ChatWay, ProvingSender
from bot.gate_proof.prover import Prover
from bot.gate_proof.wiring import by_the_clock, prover_of
from bot.ground import Ground, open_ground
from bot.health import Health, Kept
from bot.health.gate import GateLook
from bot.health.sandbox import BAD_S, GOOD_S, SandboxLook, is_wanted
from bot.inbox import GateInbox, inbox_of
from bot.intake.methods import Table
from bot.intake.remote import RemoteMethods
from bot.intake.socket import URGENT, admitted, handlers
from bot.intake.table import method_table
from bot.machines import Machines, start_machines
from bot.network import Network
from bot.outbox import Outbox
from bot.recovery import Heart
from bot.remote import remote_exec
from bot.settings import Settings
from bot.surfaces import Console, approvers, make_channels, senders
from bot.timed import TimedWork
from bot.weekly import every_week
from channels.base import Channel
from core.gate import Gate
from core.ipc.unix import listen
from core.settings import ThreadMode
from core.store import Store

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway, as its own process and the demo see it."""

    settings: Settings
    gate: Gate
    store: Store
    channels: Mapping[str, Channel]
    api_url: str | None = None


@asynccontextmanager
async def gateway(
    settings: Settings,
    *,
    console: Console | None = None,
    extra: Mapping[str, Channel] | None = None,
) -> AsyncIterator[Gateway]:
    """Run a gateway for as long as the block lasts.

    ``console`` is the terminal that a person sits at, ``extra`` are channels that the caller made
    (the demo's, a test's).

    Raises:
        SaysoError: the gateway cannot start; the message names the cause and the way out.
    """
    async with AsyncExitStack() as stack:
        network = Network.of(settings)
        ground = await open_ground(stack, settings, network)
        channels = {**make_channels(settings, console), **(extra or {})}
        machines = await start_machines(stack, settings)
        gate = gate_of(settings, ground, machines, channels)
        stack.callback(gate.rulebook.usage.flush)
        await gate.rulebook.prepare()
        prover, sender = prover_of(settings, gate, channels), ProvingSender()
        health = _health(settings, ground, machines, channels, prover)
        inbox = inbox_of(
            gate,
            approvers(settings),
            sender.joined(senders(settings)),
            elevated=settings.tools.elevated.enabled,
        )
        prover.add(ChatWay(inbox, sender))
        await _start_channels(stack, channels, inbox)
        clock = await _start_work(stack, gate, channels, health, settings)
        remote = await stack.enter_async_context(
            remote_exec(settings, machines.runner, gate.planner, prover)
        )
        table = method_table(gate, health.report, (RemoteMethods(remote, gate),), prover=prover)
        await _start_sockets(stack, settings, table)
        url = await network.open(stack, table, gate, health.report, prover)
        by_the_clock(clock, prover, settings)
        every_week(clock, prover.alarm.tell, settings)
        stack.push_async_callback(_end, asyncio.create_task(prover.by_time()))
        yield Gateway(settings, gate, ground.store, channels, url)


def _health(
    settings: Settings,
    ground: Ground,
    machines: Machines,
    channels: Mapping[str, Channel],
    prover: Prover,
) -> Health:
    look = GateLook(prover, settings.proof.every)
    health = Health(ground.store, channels, settings, ground.owner, look)
    if is_wanted(settings):
        health.add(Kept(SandboxLook(machines.sandbox), GOOD_S, BAD_S))
    return health


async def _start_channels(
    stack: AsyncExitStack, channels: Mapping[str, Channel], inbox: GateInbox
) -> None:
    for channel in channels.values():
        await channel.start(inbox)
        stack.push_async_callback(channel.stop)


async def _start_work(
    stack: AsyncExitStack,
    gate: Gate,
    channels: Mapping[str, Channel],
    health: Health,
    settings: Settings,
) -> Clock:
    threaded = settings.approvals.exec.threads is ThreadMode.SESSION
    zone = ZoneInfo(settings.approvals.exec.zone)
    outbox = Outbox(gate.store, channels, Delivery(gate.store, channels, threaded, zone))
    for work in (Dispatch(gate, gate.store).run(), outbox.run()):
        task = asyncio.create_task(work)
        task.add_done_callback(_must_live)
        stack.push_async_callback(_end, task)
    heart = Heart(gate.store, gate.journal, gate.execution.owner)
    clock = Clock(TimedWork(gate, gate.store, heart, health, settings))
    clock.start()
    stack.callback(clock.stop)
    stack.callback(gate.store.subscribe(clock.hear))
    return clock


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _must_live(task: asyncio.Task[None]) -> None:
    """Stop the gateway when a part that must live has died: half a gateway answers wrongly."""
    if task.cancelled() or task.exception() is None:
        return
    _log.critical("a part of the gateway died; stopping", exc_info=task.exception())
    os.kill(os.getpid(), 15)


async def _start_sockets(stack: AsyncExitStack, settings: Settings, methods: Table) -> None:
    server = await listen(
        settings.home / "gateway.sock", handlers(methods), urgent=URGENT, own=True
    )
    stack.push_async_callback(server.close)
    users = admitted(settings.intake.unix)
    if not users:
        return
    serving = handlers(methods, lambda peer, notify: users[peer.uid].caller(peer, notify))
    shared = await listen(Path(settings.intake.socket), serving, uids=frozenset(users), shared=True)
    stack.push_async_callback(shared.close)
