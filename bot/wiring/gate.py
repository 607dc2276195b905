"""Build the gate: the rules it follows, the broker it asks through, the hosts it runs on."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.factories.channels import approvers, forwarding, timing
from bot.factories.executors import bound_hosts, run_as_of
from bot.factories.policy import rulebook_of
from bot.settings import Settings
from bot.wiring.companion import connect, nearby_of, runner_of
from bot.wiring.execution import Machines
from bot.wiring.storage import Storage
from channels.base import Channel
from core.approvals.answer import Answering, Editor
from core.approvals.ask import Asking
from core.approvals.broker import Broker
from core.approvals.file.file import ApprovalsFile
from core.approvals.routing.tiers import tiers_of
from core.errors import StateError
from core.gate.effective_policy import Rulebook
from core.gate.execution import Execution
from core.gate.gate import Gate
from core.isolation.agents.agents import Agents
from core.model.command import ExecPlan
from core.model.events import EventKind
from core.model.identity import LOCAL_CHANNEL, ApprovalId, Target
from core.planning.planner import Planner
from core.policy.rules.lint_rules import lint
from core.policy.rules.self_test import broken_examples
from core.store import Store
from core.store.people import tokens
from core.store.sessions import agent_threads, events

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost

_log = logging.getLogger(__name__)


def gate_of(
    settings: Settings,
    storage: Storage,
    machines: Machines,
    channels: Mapping[str, Channel],
    node: "NodeHost | None",
    editor: Editor | None,
) -> Gate:
    """Return the gate between people's wing and machines' wing."""
    store, journal = storage.store, storage.journal
    rulebook = _rulebook(settings)
    broker = broker_of(settings, store, channels, editor)
    notice_ms = settings.tools.exec.notice_after_ms
    guard = machines.guard
    file = ApprovalsFile(settings.home / "exec-approvals.json")
    hosts = machines.hosts(node, runner_of(file, machines.runner, guard, rulebook))
    execution = Execution(store, journal, hosts, storage.owner, notice_ms, storage.deferred, guard)
    planner = Planner(
        settings.tools.exec.search_path, run_as=run_as_of(settings), bound=bound_hosts(settings)
    )
    gate = Gate(rulebook, planner, broker, execution, store, journal, node)
    if node is not None:
        node.skills = lambda: gate.rulebook.compiled.skills.names
        node.notice_after_ms = lambda: gate.execution.notice_after_ms
    connect(channels, gate)
    if machines.agents is not None:
        connect_agents(machines.agents, gate)
    if machines.terminals is not None:
        machines.terminals.shut_out = lambda account: store.read(tokens.is_shut_out, account)
    return gate


def connect_agents(agents: Agents, gate: Gate) -> None:
    """Have the gate decide on agents' tool calls, and sessions receive what agents say.

    People are asked in the thread of a prompt that came from a chat.
    """

    async def tell(plan: ExecPlan, run_id: ApprovalId, text: str) -> None:
        event = events.NewEvent(plan.session, EventKind.MESSAGE, text, run_id)
        await gate.store.write(events.append_one, event)

    async def origin_of(run_id: ApprovalId) -> Target | None:
        return await gate.store.read(agent_threads.thread_of, run_id)

    agents.tell = tell
    agents.tool_calls.gate = gate
    agents.tool_calls.owner = gate.execution.owner
    agents.tool_calls.origin_of = origin_of


def broker_of(
    settings: Settings,
    store: Store,
    channels: Mapping[str, Channel],
    editor: Editor | None,
) -> Broker:
    """Return the broker, which asks people and takes their answers, for these settings."""
    people = approvers(settings)
    asking = Asking(
        store,
        people,
        forwarding(settings),
        timing(settings),
        reachable=lambda target: target.channel in channels,
        local=LOCAL_CHANNEL,
        tiers=tiers_of(settings.approvals.exec.tiers),
        limits=settings.approvals.exec.pending.limits,
        nearby=nearby_of(channels),
    )
    seals = settings.seals
    return Broker(store, asking, Answering(store, people, seals, editor), seals)


def check_tables() -> None:
    """Check the examples in the shipped tables, which takes about 50 ms.

    Raises:
        StateError: one fails, so no command may be judged by them.
    """
    broken = broken_examples()
    if broken:
        raise StateError(f"The shipped tables are broken; reinstall Sayso. {'; '.join(broken)}")


def _rulebook(settings: Settings) -> Rulebook:
    check_tables()
    book = rulebook_of(settings)
    for line in lint(book.compiled):
        _log.warning("%s", line)
    return book
