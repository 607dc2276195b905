"""Compose the gateway: what is built, the order in which it starts, and how it stops.

::

    storage: journal, store, what an earlier gateway left ─▶ machines: guard, runner, hosts ─▶ gate
          ─▶ channels ─▶ outbox, dispatch, clock
          ─▶ entry points: nodes, remote exec, socket, network ─▶ proof

The entry points open last, so that no half-started gateway answers; everything stops in reverse.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from bot.chat.agent_threads import AgentThreads
from bot.chat.inbox import GateInbox, Surroundings, inbox_of
from bot.factories.agents import prompt_folders
from bot.factories.channels import Console, approvers, make_channels, senders
from bot.factories.push import push_of
from bot.factories.remote_exec import remote_exec
from bot.gate_proof.chat import ChatEntryPoint, ProvingSender
from bot.gate_proof.prover import Prover
from bot.gate_proof.tool import ProvingAgent
from bot.health.check import Kept
from bot.health.gate import GateProbe
from bot.health.nodes import NodesProbe
from bot.health.probes import SANDBOX_BAD_S, SANDBOX_GOOD_S, SandboxProbe, sandbox_is_wanted
from bot.health.report import Health
from bot.intake.registry.method import Table
from bot.intake.socket import admitted, handlers, urgent
from bot.jobs.message_sender import Delivery
from bot.jobs.node_notices import NodeNotices
from bot.jobs.outbox import Outbox
from bot.jobs.periodic import TimedWork
from bot.jobs.recovery import AfterDeath, Heart, withdraw_test_prompts
from bot.jobs.run_dispatcher import Dispatch
from bot.jobs.scheduler import Clock
from bot.jobs.weekly_report import every_week
from bot.settings import Settings
from bot.wiring.api import Network
from bot.wiring.companion import companion_of
from bot.wiring.execution import Machines, clear_up, start_machines
from bot.wiring.gate import gate_of
from bot.wiring.gate_proof import by_the_clock, prover_of
from bot.wiring.methods import Served, table_of
from bot.wiring.nodes import node_host_of, open_to_nodes
from bot.wiring.reload import Reloading
from bot.wiring.storage import Storage, open_storage
from channels.base import Channel
from core.gate.gate import Gate
from core.ipc.unix import Server, listen
from core.planning.planner import Planner
from core.settings.approvals import ThreadMode
from core.store import Store

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost

_log = logging.getLogger(__name__)
_GRACE_S = 5.0
"""Seconds that running commands may continue once the gateway is asked to stop."""
_ANSWERS_S = 0.5
"""Seconds for answers under way once nothing runs any more."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running gateway, as seen by its own process and the demo."""

    settings: Settings
    gate: Gate
    store: Store
    channels: Mapping[str, Channel]
    reloading: Reloading
    api_url: str | None = None


@asynccontextmanager
async def gateway(
    settings: Settings,
    *,
    console: Console | None = None,
    extra: Mapping[str, Channel] | None = None,
    environ: Mapping[str, str] | None = None,
    framed_by: str = "",
) -> AsyncIterator[Gateway]:
    """Run a gateway for as long as the block lasts.

    ``console`` is the terminal that a person sits at, ``extra`` are channels that the caller
    created (the demo's, a test's), ``environ`` overrides the file at a reload as it did at the
    start, ``framed_by`` is the origin of the demo's screen, which may show the control page in a
    frame.

    Raises:
        SaysoError: the gateway cannot start; the message names the cause and what to do.
    """
    async with AsyncExitStack() as stack:
        network = Network.of(settings, framed_by)
        storage = await open_storage(stack, settings, network)
        channels = {**_channels(settings, storage, console), **(extra or {})}
        machines = await start_machines(stack, settings, storage.journal)
        node_host = node_host_of(settings, storage)
        outbox = _outbox(settings, storage.store, channels)
        gate = await _gate(stack, settings, storage, machines, channels, node_host, outbox)
        sender, agent = ProvingSender(), ProvingAgent()
        prover = prover_of(settings, gate, channels, agent)
        health = _health(settings, storage, machines, channels, prover)
        _attend_nodes(stack, node_host, storage, health, prover)
        inbox = _inbox(settings, gate, prover, sender, channels, network)
        await _start_channels(stack, channels, inbox)
        after = await clear_up(settings, gate, machines, storage.orphans)
        clock = await _start_work(stack, gate, outbox, health, settings, after)
        parts = Served(settings, storage, gate, health, prover, network, machines)
        table = await _methods(stack, parts, node_host)
        sockets = await _start_sockets(stack, settings, table)
        url = await network.open(stack, table, gate, health.report, prover)
        stack.push_async_callback(_close, gate, sockets)
        _prove(stack, clock, prover, settings)
        reload = Reloading(gate, inbox, prover, sender, agent, channels, environ or {}, settings)
        yield Gateway(settings, gate, storage.store, channels, reload, url)


def _channels(
    settings: Settings, storage: Storage, console: Console | None
) -> Mapping[str, Channel]:
    """Return the configured channels by name."""
    return {
        **make_channels(settings, console),
        **companion_of(settings),
        **push_of(settings, storage.store),
    }


async def _gate(
    stack: AsyncExitStack,
    settings: Settings,
    storage: Storage,
    machines: Machines,
    channels: Mapping[str, Channel],
    node_host: "NodeHost | None",
    outbox: Outbox,
) -> Gate:
    """Return the gate with its rules read and no test prompt left; save their use at its end."""
    gate = gate_of(settings, storage, machines, channels, node_host, outbox)
    stack.callback(gate.rulebook.usage.flush)
    await gate.rulebook.prepare()
    await withdraw_test_prompts(gate)  # before a channel or a terminal shows them again
    return gate


def _attend_nodes(
    stack: AsyncExitStack,
    node_host: "NodeHost | None",
    storage: Storage,
    health: Health,
    prover: Prover,
) -> None:
    """If nodes may connect, show them in the health and notify people of pairing requests."""
    if node_host is None:
        return
    health.nodes = NodesProbe(storage.store, node_host)
    notices = NodeNotices(storage.store, prover.alarm.announcer.tell)
    stack.push_async_callback(_end, asyncio.create_task(notices.run()))


async def _methods(stack: AsyncExitStack, parts: Served, node_host: "NodeHost | None") -> Table:
    """Let nodes and other gateways connect, if they may; return the methods of all others."""
    settings, runner = parts.settings, parts.machines.runner
    await stack.enter_async_context(open_to_nodes(settings, node_host))
    planner = Planner(settings.tools.exec.search_path)
    remote = await stack.enter_async_context(remote_exec(settings, runner, planner, parts.prover))
    return table_of(stack, parts, remote, node_host)


def _prove(stack: AsyncExitStack, clock: Clock, prover: Prover, settings: Settings) -> None:
    """Prove now and by the clock, and send people a report of what prompts cost, once a week."""
    by_the_clock(clock, prover, settings)
    every_week(clock, prover.alarm.announcer.tell, settings)
    stack.push_async_callback(_end, asyncio.create_task(prover.by_time()))


def _health(
    settings: Settings,
    storage: Storage,
    machines: Machines,
    channels: Mapping[str, Channel],
    prover: Prover,
) -> Health:
    probe = GateProbe(prover, settings.proof.every)
    health = Health(storage.store, channels, settings, storage.owner, probe)
    if sandbox_is_wanted(settings):
        health.add(Kept(SandboxProbe(machines.sandbox), SANDBOX_GOOD_S, SANDBOX_BAD_S))
    return health


def _inbox(
    settings: Settings,
    gate: Gate,
    prover: Prover,
    sender: ProvingSender,
    channels: Mapping[str, Channel],
    network: Network,
) -> GateInbox:
    """Let the chats answer and send; the prover's own sender uses the same inbox."""
    may_send = sender.joined(senders(settings))
    gate.rulebook.senders = may_send
    elevated = settings.tools.elevated.enabled
    threads = AgentThreads(gate, channels)
    around = Surroundings(threads, prompt_folders(settings), network.page_url)
    inbox = inbox_of(gate, approvers(settings), may_send, elevated=elevated, surroundings=around)
    prover.add(ChatEntryPoint(inbox, sender))
    return inbox


async def _close(gate: Gate, sockets: Sequence[Server]) -> None:
    """Accept nothing new, release callers that wait, and let running commands end."""
    for socket in sockets:
        socket.stop_taking()
    gate.close()
    await gate.settle(_GRACE_S)


async def _start_channels(
    stack: AsyncExitStack, channels: Mapping[str, Channel], inbox: GateInbox
) -> None:
    stack.push_async_callback(_stop_all, tuple(channels.values()))
    for channel in channels.values():
        await channel.start(inbox)
    stack.push_async_callback(inbox.surroundings.threads.stop)
    await inbox.surroundings.threads.resume()


async def _stop_all(channels: Sequence[Channel]) -> None:
    """Stop the channels in parallel; one that fails does not prevent the others from stopping."""
    ended = await asyncio.gather(*(one.stop() for one in channels), return_exceptions=True)
    for channel, failure in zip(channels, ended, strict=True):
        if failure is not None:
            _log.error("the channel %s did not stop cleanly", channel.name, exc_info=failure)


def _outbox(settings: Settings, store: Store, channels: Mapping[str, Channel]) -> Outbox:
    threaded = settings.approvals.exec.threads is ThreadMode.SESSION
    zone = ZoneInfo(settings.approvals.exec.zone)
    page_url = (settings.http.url or "") if settings.http.enabled else ""
    return Outbox(store, channels, Delivery(store, channels, threaded, zone, page_url))


async def _start_work(
    stack: AsyncExitStack,
    gate: Gate,
    outbox: Outbox,
    health: Health,
    settings: Settings,
    after: AfterDeath | None,
) -> Clock:
    for work in (Dispatch(gate, gate.store).run(), outbox.run(), gate.seen.run()):
        task = asyncio.create_task(work)
        task.add_done_callback(_must_live)
        stack.push_async_callback(_end, task)
    heart = Heart(gate.store, gate.execution.deferred, gate.execution.owner, after)
    stack.push_async_callback(heart.stop)
    clock = Clock(TimedWork(gate, gate.store, heart, health, settings))
    clock.start()
    stack.callback(clock.stop)
    stack.callback(gate.store.subscribe(clock.hear))
    return clock


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _must_live(task: asyncio.Task[None]) -> None:
    """Stop the gateway when an essential part has died: half a gateway answers wrongly."""
    if task.cancelled() or task.exception() is None:
        return
    _log.critical("a component of the gateway died; stopping", exc_info=task.exception())
    os.kill(os.getpid(), 15)


async def _start_sockets(
    stack: AsyncExitStack, settings: Settings, methods: Table
) -> Sequence[Server]:
    server = await listen(
        settings.home / "gateway.sock", handlers(methods), urgent=urgent(methods), own=True
    )
    stack.push_async_callback(server.close, _ANSWERS_S)
    users = admitted(settings.intake.unix)
    if not users:
        return (server,)
    serving = handlers(methods, lambda peer, notify: users[peer.uid].caller(peer, notify))
    shared = await listen(Path(settings.intake.socket), serving, uids=frozenset(users), shared=True)
    stack.push_async_callback(shared.close, _ANSWERS_S)
    return server, shared
