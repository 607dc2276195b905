"""Compose a node: journal, guard, runner, judge, ledger, and the connection to its gateway."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bot.factories.sandbox import sandbox_of
from bot.node.commands import NodeCommands
from bot.node.judge import Judge
from bot.node.work import NodeWork
from bot.settings import read
from bot.wiring.companion import runner_of
from core.audit.journal import AuditJournal
from core.errors import BadRequest
from core.gate.guards.home_check import HomeCheck
from core.gate.guards.lockdown import NAME, Lockdown
from core.gate.guards.spawn_guard import Guard
from core.hosts.gateway import GatewayHost
from core.nodes.approver_keys import ApproverKeys
from core.nodes.ledger import Ledger
from core.nodes.member import Member
from core.nodes.node_file import NODE_JOURNAL, node_key, required
from core.planning.planner import Planner
from core.runner.runner import Runner
from core.settings.gateway import NodeSection
from core.trust.passkeys import relying_party


@asynccontextmanager
async def node(home: Path, say: Callable[[str], None]) -> AsyncIterator[Member]:
    """Run a home's node for as long as the block lasts; ``say`` prints what its user should know.

    Raises:
        BadRequest: the home does not say which gateway it belongs to.
        SaysoError: a part of it cannot be used; the message names it.
    """
    file, settings = required(home), read(home, os.environ).settings
    keys = _approver_keys(settings.node)
    async with AsyncExitStack() as stack:
        journal = stack.enter_context(AuditJournal(home / NODE_JOURNAL))
        ledger = Ledger.of(home, gateway=file.gateway_key)
        guard = Guard(Lockdown(home / NAME, HomeCheck.of(home)))
        runner = Runner(guard=guard)
        await runner.start()
        judge = Judge.of(home, file.node_id, Planner(settings.tools.exec.search_path))
        stack.callback(judge.rulebook.usage.flush)
        commands = NodeCommands(
            file.gateway_key, judge, journal, remote_approvals=settings.node.opens_approvals
        )
        runs = runner_of(judge.rulebook.file, runner, guard, judge.rulebook)
        sandbox = sandbox_of(settings, runner) if settings.node.sandbox else None
        host = GatewayHost(runs) if sandbox is None else sandbox
        work = NodeWork(file.gateway_key, judge, host, ledger, journal, commands, keys)
        stack.push_async_callback(work.stop)
        stack.push_async_callback(runner.stop)
        if sandbox is not None:
            await sandbox.start()
            stack.push_async_callback(sandbox.stop)
        yield Member(file, node_key(home), work, say, caps=commands.names)


def _approver_keys(section: NodeSection) -> ApproverKeys | None:
    """Return the passkeys of which one must have signed what people allow; ``None``: not required.

    Raises:
        BadRequest: passkeys do not work at the page.
    """
    if not section.passkeys:
        return None
    party = relying_party(section.page or "")
    if party is None:
        raise BadRequest("node.page must be the https address of the gateway's control page.")
    return ApproverKeys(party, {one.id: one.public_key for one in section.passkeys})
