"""Start what runs commands: guard, runner, executors and hosts (the machines' wing)."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from bot.factories.agents import agents_of
from bot.factories.executors import executor_users, executors_of, terminals_of
from bot.factories.sandbox import by_user, sandbox_of
from bot.jobs.executor_recovery import ExecutorRecovery
from bot.settings import Settings
from bot.wiring.gate_proof import guard_of
from core.gate.gate import Gate
from core.gate.guards.spawn_guard import Guard
from core.hosts.gateway import GatewayHost
from core.hosts.sandbox.by_user import SandboxByUser
from core.hosts.sandbox.host import SandboxHost
from core.isolation.agents.agents import Agents
from core.isolation.executors import Executors
from core.isolation.terminal.terminals import Terminals
from core.model.policy import ExecHost
from core.ports import ExecutionHost, Journal, PlanRunner
from core.runner.runner import Runner
from core.store.schema.records import OrphanedRun


@dataclass(frozen=True, slots=True)
class Machines:
    """The parts that run commands in one gateway; ``guard`` is asked before each spawn."""

    guard: Guard
    runner: Runner
    sandbox: SandboxHost
    sandboxes: SandboxByUser
    executors: Executors | None = None
    agents: Agents | None = None
    terminals: Terminals | None = None

    def hosts(
        self, node: ExecutionHost | None, runs: PlanRunner
    ) -> Mapping[ExecHost, ExecutionHost]:
        """Return the hosts by kind; ``node`` is ``None`` if no node may connect.

        ``runs`` is the runner that the host ``gateway`` uses.
        """
        gateway = GatewayHost(runs, self.executors, self.agents, self.terminals)
        hosts: dict[ExecHost, ExecutionHost] = {
            ExecHost.GATEWAY: gateway,
            ExecHost.SANDBOX: self.sandboxes,
        }
        return hosts if node is None else {**hosts, ExecHost.NODE: node}


async def start_machines(stack: AsyncExitStack, settings: Settings, journal: Journal) -> Machines:
    """Start the runner and the sandbox; the stack stops them.

    Raises:
        SpawnError: the launcher cannot be started.
        ConfigError: the sandbox cannot be set up as configured.
    """
    guard = guard_of(settings)
    runner = Runner(guard=guard)
    await runner.start()
    stack.push_async_callback(runner.stop)
    sandbox = sandbox_of(settings, runner)
    await sandbox.start()
    stack.push_async_callback(sandbox.stop)
    executors = executors_of(settings, journal, guard)
    if executors is not None:
        stack.push_async_callback(executors.stop)
    sandboxes = by_user(settings, sandbox, executors)
    stack.push_async_callback(sandboxes.stop)
    agents = agents_of(settings, executors, guard)
    terminals = terminals_of(settings, executors, journal, guard)
    return Machines(guard, runner, sandbox, sandboxes, executors, agents, terminals)


async def clear_up(
    settings: Settings, gate: Gate, machines: Machines, orphans: Sequence[OrphanedRun]
) -> ExecutorRecovery | None:
    """End what executors of dead gateways left; return what does this for those that die later.

    ``None``: everything runs as this user.
    """
    if machines.executors is None:
        return None
    after = ExecutorRecovery(gate, machines.executors, executor_users(settings))
    await after(orphans)
    return after
