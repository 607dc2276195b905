"""Build the table of methods that every entry point serves."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING

from bot.gate_proof.prover import Prover
from bot.intake.callers.terminal import Askers
from bot.intake.methods.approvals import ApprovalMethods
from bot.intake.methods.approvals_file import ApprovalsFileMethods
from bot.intake.methods.executors.prompts import PromptMethods
from bot.intake.methods.executors.terminals import TerminalMethods
from bot.intake.methods.grants import GrantMethods
from bot.intake.methods.health import HealthMethods
from bot.intake.methods.history import HistoryMethods
from bot.intake.methods.insight import InsightMethods
from bot.intake.methods.lockdown import LockdownMethods
from bot.intake.methods.login import LoginMethods
from bot.intake.methods.nodes.commands import NodeCommandMethods
from bot.intake.methods.nodes.pairing import NodeMethods
from bot.intake.methods.people import PeopleMethods
from bot.intake.methods.policy import PolicyMethods
from bot.intake.methods.runs import RunMethods
from bot.intake.methods.tokens import TokenMethods
from bot.intake.methods.tools import ToolMethods
from bot.intake.registry.method import Group, Table, table_of
from core.gate.gate import Gate
from core.isolation.terminal.terminals import Terminals

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost


def method_table(
    gate: Gate,
    health: Callable[[], Awaitable[dict[str, object]]],
    more: Iterable[Group] = (),
    prover: Prover | None = None,
    page_url: Callable[[], str] = str,
    node_host: "NodeHost | None" = None,
    zone: tzinfo = UTC,
    terminals: Terminals | None = None,
    config: str = "config.json5",
) -> Table:
    """Return all methods; ``health`` answers ``health.get``, ``more`` are additional groups.

    ``prover`` proves the gate before a lockdown is lifted; without it none can be lifted.
    ``page_url`` returns where the control page is, empty if it is off. ``node_host`` is ``None`` if
    no node may connect, ``terminals`` if nothing runs as another user. ``zone`` is the time zone of
    people's days, ``config`` the path of the configuration file.
    """
    askers, store, journal = Askers(gate.store), gate.store, gate.journal
    lockdown = gate.execution.guard.lockdown
    runs, policy = RunMethods(gate, askers), PolicyMethods(gate)
    return table_of(
        (
            runs,
            ApprovalMethods(gate, page_url),
            ApprovalsFileMethods(gate.rulebook, journal, askers),
            HistoryMethods(store),
            HealthMethods(health),
            policy,
            PeopleMethods(store, journal, askers, gate.broker.seals),
            GrantMethods(store, gate.rulebook, journal),
            LockdownMethods(lockdown, askers, prover),
            TokenMethods(store, journal, askers),
            LoginMethods(store, journal, askers, page_url, config),
            NodeMethods(store, journal, askers, node_host),
            NodeCommandMethods(store, journal, askers, table_of((runs, policy)), node_host),
            ToolMethods(gate, askers),
            PromptMethods(gate, askers),
            InsightMethods(store, zone),
            TerminalMethods(gate, askers, terminals),
            *more,
        )
    )
