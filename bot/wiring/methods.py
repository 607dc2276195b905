"""Build the table of methods of a running gateway."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.factories.remote_exec import RemoteExec
from bot.gate_proof.prover import Prover
from bot.health.report import Health
from bot.intake.methods.audit import AuditMethods
from bot.intake.methods.policy import BacktestMethods
from bot.intake.methods.remote import RemoteMethods
from bot.intake.registry.method import Table
from bot.intake.table import method_table
from bot.policy_tools.draft_backtest import DraftBacktests
from bot.settings import Settings
from bot.settings.home import CONFIG_NAME
from bot.wiring.api import Network
from bot.wiring.execution import Machines
from bot.wiring.storage import Storage
from core.gate.gate import Gate

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost


@dataclass(frozen=True, slots=True)
class Served:
    """The parts of a gateway that its methods are about."""

    settings: Settings
    storage: Storage
    gate: Gate
    health: Health
    prover: Prover
    network: Network
    machines: Machines


def table_of(
    stack: AsyncExitStack, parts: Served, remote: RemoteExec, node_host: "NodeHost | None"
) -> Table:
    """Return the methods of all entry points but remote exec's; the stack ends their work."""
    gate = parts.gate
    backtests = DraftBacktests(parts.settings)
    stack.callback(backtests.stop)
    more = (
        RemoteMethods(remote, gate.journal, gate.execution.guard.lockdown),
        AuditMethods(parts.storage.rotate, parts.settings.audit_path),
        BacktestMethods(backtests),
    )
    return method_table(
        gate,
        parts.health.report,
        more,
        parts.prover,
        node_host=node_host,
        page_url=parts.network.page_url,
        zone=parts.network.zone,
        terminals=parts.machines.terminals,
        config=str(parts.settings.home / CONFIG_NAME),
    )
