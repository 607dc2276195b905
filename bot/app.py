"""Compose the gateway: what is made, in which order it starts, and how it stops.

::

    journal, store ─▶ orphans ended, interrupted runs told ─▶ runner ─▶ gate
                                                    ─▶ channels ─▶ outbox, dispatch, clock ─▶ socket

The socket opens last, so that nobody is answered by half a gateway; everything stops in reverse.
"""

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from bot.clock import Clock
from bot.delivery import Delivery
from bot.dispatch import Dispatch
from bot.gate_proof.chat import ChatWay, ProvingSender
from bot.gate_proof.wiring import by_the_clock, guard_of, prover_of
from bot.health import Health, Kept
from bot.health.gate import GateLook
from bot.health.sandbox import BAD_S, GOOD_S, SandboxLook, is_wanted
from bot.inbox import GateInbox, inbox_of
from bot.intake.methods import Table
from bot.intake.peers import LOCAL_CHANNEL
from bot.intake.remote import RemoteMethods
from bot.intake.socket import handlers
from bot.intake.table import method_table
from bot.network import Network
from bot.outbox import Outbox
from bot.provisions import provisions_of
from bot.recovery import recover
from bot.remote import remote_exec
from bot.sandbox import sandbox_of
from bot.settings import Settings
from bot.surfaces import Console, approvers, forwarding, make_channels, senders, timing
from bot.timed import TimedWork
from channels.base import Channel
from core.approvals.allowlist_file import ApprovalsFile
from core.approvals.answering import Answering
from core.approvals.asking import Asking
from core.approvals.broker import Broker
from core.approvals.idle import Idle
from core.approvals.tiers import tiers_of
from core.approvals.usage import UsageFile
from core.audit.journal import AuditJournal
from core.gate import Gate
from core.gate.execution import Execution
from core.gate.guard import Guard
from core.gate.rulebook import Rulebook
from core.hosts.gateway import GatewayHost
from core.hosts.router import HostRouter
from core.ipc.unix import listen
from core.model.policy import ExecHost
from core.ports import Journal
from core.runner.plan import Planner
from core.runner.process import Runner
from core.settings import ThreadMode
from core.store import Store, open_store, replicas, session_overrides

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
        journal = network.counted_journal(stack.enter_context(AuditJournal(settings.audit_path)))
        store = network.counted_store(await open_store(settings.store_url))
        stack.push_async_callback(store.close)
        owner = secrets.token_hex(8)
        await store.write(replicas.heartbeat, owner, replicas.LEASE_MS)
        await store.write(session_overrides.begin, owner)
        stack.push_async_callback(store.write, replicas.leave, owner)
        await recover(store, journal, owner)
        guard = guard_of(settings)
        runner = Runner(guard=guard)
        await runner.start()
        stack.push_async_callback(runner.stop)
        channels = {**make_channels(settings, console), **(extra or {})}
        sandbox = sandbox_of(settings, runner)
        await sandbox.start()
        stack.push_async_callback(sandbox.stop)
        hosts = HostRouter({ExecHost.GATEWAY: GatewayHost(runner), ExecHost.SANDBOX: sandbox})
        gate = _gate(settings, store, journal, hosts, channels, owner, guard)
        stack.callback(gate.rulebook.usage.flush)
        prover, sender = prover_of(settings, gate, channels), ProvingSender()
        gate_look = GateLook(prover, settings.proof.every)
        health = Health(store, channels, settings, owner, gate_look)
        if is_wanted(settings):
            health.add(Kept(SandboxLook(sandbox), GOOD_S, BAD_S))
        elevated = settings.tools.elevated.enabled
        listing = sender.joined(senders(settings))
        inbox = inbox_of(gate, approvers(settings), listing, elevated=elevated)
        prover.add(ChatWay(inbox, sender))
        await _start_channels(stack, channels, inbox)
        clock = await _start_work(stack, gate, channels, health, settings)
        more = (await _remote(stack, settings, runner, gate),)
        table = method_table(gate, health.report, more, prover=prover)
        await _start_socket(stack, settings, table)
        url = await network.open(stack, table, gate, health.report, prover)
        by_the_clock(clock, prover, settings)
        stack.push_async_callback(_end, asyncio.create_task(prover.by_time()))
        yield Gateway(settings, gate, store, channels, url)


def _gate(
    settings: Settings,
    store: Store,
    journal: Journal,
    hosts: HostRouter,
    channels: Mapping[str, Channel],
    owner: str,
    guard: Guard,
) -> Gate:
    usage = UsageFile(settings.home / "exec-approvals.usage.json")
    rulebook = Rulebook(
        configured=settings.exec_layers,
        file=ApprovalsFile(settings.home / "exec-approvals.json"),
        usage=usage,
        home=os.path.expanduser("~"),  # noqa: PTH111 - patterns are text
        elevated=settings.tools.elevated.enabled,
        compiled=provisions_of(settings),
        idle=Idle.of(settings.home, usage, settings.approvals.exec.allow_always_idle),
    )
    people = approvers(settings)
    asking = Asking(
        store,
        people,
        forwarding(settings),
        timing(settings),
        reachable=lambda target: target.channel in channels,
        local=LOCAL_CHANNEL,
        tiers=tiers_of(settings.approvals.exec.tiers),
    )
    broker = Broker(store, asking, Answering(store, people))
    notice_ms = settings.tools.exec.notice_after_ms
    execution = Execution(store, journal, hosts, owner, notice_ms, guard)
    planner = Planner(settings.tools.exec.search_path)
    return Gate(rulebook, planner, broker, execution, store, journal)


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
    clock = Clock(TimedWork(gate, gate.store, gate.journal, health, settings))
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


async def _remote(
    stack: AsyncExitStack, settings: Settings, runner: Runner, gate: Gate
) -> RemoteMethods:
    remote = await stack.enter_async_context(remote_exec(settings, runner, gate.planner))
    return RemoteMethods(remote, gate)


async def _start_socket(stack: AsyncExitStack, settings: Settings, methods: Table) -> None:
    server = await listen(settings.home / "gateway.sock", handlers(methods))
    stack.push_async_callback(server.close)
