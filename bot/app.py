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
from bot.health import Health
from bot.inbox import GateInbox, inbox_of
from bot.intake.peers import LOCAL_CHANNEL
from bot.intake.socket import Methods
from bot.outbox import Outbox
from bot.provisions import provisions_of
from bot.recovery import recover
from bot.settings import Settings
from bot.surfaces import Console, approvers, forwarding, make_channels, senders, timing
from bot.timed import LEASE_MS, TimedWork
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
from core.gate.rulebook import Rulebook
from core.hosts.gateway import GatewayHost
from core.hosts.router import HostRouter
from core.ipc.unix import listen
from core.model.policy import ExecHost
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
        journal = stack.enter_context(AuditJournal(settings.audit_path))
        store = await open_store(settings.store_url)
        stack.push_async_callback(store.close)
        owner = secrets.token_hex(8)
        await store.write(replicas.heartbeat, owner, LEASE_MS)
        await store.write(session_overrides.begin, owner)
        stack.push_async_callback(store.write, replicas.leave, owner)
        await recover(store, journal, owner)
        runner = Runner()
        await runner.start()
        stack.push_async_callback(runner.stop)
        channels = {**make_channels(settings, console), **(extra or {})}
        gate = _gate(settings, store, journal, runner, channels, owner)
        stack.callback(gate.rulebook.usage.flush)
        health = Health(store, channels, settings)
        elevated = settings.tools.elevated.enabled
        inbox = inbox_of(gate, approvers(settings), senders(settings), elevated=elevated)
        await _start_channels(stack, channels, inbox)
        await _start_work(stack, gate, channels, health, settings)
        await _start_socket(stack, settings, Methods(gate, store, health.report))
        yield Gateway(settings, gate, store, channels)


def _gate(
    settings: Settings,
    store: Store,
    journal: AuditJournal,
    runner: Runner,
    channels: Mapping[str, Channel],
    owner: str,
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
    hosts = HostRouter({ExecHost.GATEWAY: GatewayHost(runner)})
    execution = Execution(store, journal, hosts, owner, settings.tools.exec.notice_after_ms)
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
) -> None:
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


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _must_live(task: asyncio.Task[None]) -> None:
    """Stop the gateway when a part that must live has died: half a gateway answers wrongly."""
    if task.cancelled() or task.exception() is None:
        return
    _log.critical("a part of the gateway died; stopping", exc_info=task.exception())
    os.kill(os.getpid(), 15)


async def _start_socket(stack: AsyncExitStack, settings: Settings, methods: Methods) -> None:
    server = await listen(settings.home / "gateway.sock", methods.table())
    stack.push_async_callback(server.close)
