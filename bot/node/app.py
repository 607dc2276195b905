"""Compose a node: journal, guard, runner, judge, ledger, and the connection to its gateway."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bot.node.judge import Judge
from bot.node.work import NodeWork
from bot.wiring.companion import runner_of
from core.audit.journal import AuditJournal
from core.gate.guards.home_check import HomeCheck
from core.gate.guards.lockdown import NAME, Lockdown
from core.gate.guards.spawn_guard import Guard
from core.nodes.ledger import Ledger
from core.nodes.member import Member
from core.nodes.node_file import node_key, required
from core.planning.planner import Planner
from core.runner.runner import Runner

JOURNAL = "node-audit.jsonl"


@asynccontextmanager
async def node(home: Path, say: Callable[[str], None]) -> AsyncIterator[Member]:
    """Make a node of a home for as long as the block lasts; ``say`` tells its person what to know.

    Raises:
        BadRequest: the home does not say which gateway it belongs to.
        SaysoError: a part of it cannot be used; the message names it.
    """
    file = required(home)
    async with AsyncExitStack() as stack:
        journal = stack.enter_context(AuditJournal(home / JOURNAL))
        ledger = Ledger.of(home)
        guard = Guard(Lockdown(home / NAME, HomeCheck.of(home)))
        runner = Runner(guard=guard)
        await runner.start()
        judge = Judge.of(home, file.node_id, Planner())
        runs = runner_of(judge.rulebook.file, runner, guard, judge.rulebook)
        work = NodeWork(file.gateway_key, judge, runs, ledger, journal)
        stack.push_async_callback(work.stop)
        stack.push_async_callback(runner.stop)
        yield Member(file, node_key(home), work, say)
