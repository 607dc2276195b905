"""Build the prover of a gateway, and schedule its proofs at the start and by the clock."""

from collections.abc import Mapping
from pathlib import Path

from bot.announcements import Announcer, Audience, audience_of
from bot.factories.channels import approver_references, forwarding
from bot.gate_proof.alarm import Alarm
from bot.gate_proof.prover import Prover
from bot.gate_proof.socket import SocketEntryPoint
from bot.gate_proof.tool import ProvingAgent, ToolEntryPoint, is_offered
from bot.jobs.scheduler import Clock
from bot.settings import Settings
from channels.base import Channel
from core.gate.gate import Gate
from core.gate.guards.home_check import HomeCheck
from core.gate.guards.lockdown import NAME, Lockdown
from core.gate.guards.spawn_guard import Guard
from core.policy.rules.compiled import Compiled

_LOOK_S = 10.0
"""Seconds after which a lockdown is announced that was set by the file alone."""


def guard_of(settings: Settings) -> Guard:
    """Return the guard of each spawn of this home."""
    return Guard(Lockdown(settings.home / NAME, HomeCheck.of(settings.home, settings.database)))


def configured_audience(settings: Settings, channels: Mapping[str, Channel]) -> Audience:
    """Return who receives what is about no question: alarms, reports, requests of nodes."""
    return audience_of(forwarding(settings), approver_references(settings), channels.keys())


def prover_of(
    settings: Settings, gate: Gate, channels: Mapping[str, Channel], agent: ProvingAgent
) -> Prover:
    """Return the prover of a gate, with its socket's entry points; ``agent`` calls the tools."""
    guard = gate.execution.guard
    announcer = Announcer(gate.store, configured_audience(settings, channels))
    prover = Prover(
        guard=guard,
        journal=gate.journal,
        alarm=Alarm(guard.lockdown, gate.journal, announcer),
        home=settings.home,
        search_path=settings.tools.exec.search_path,
        patience_s=settings.proof.patience,
    )
    add_sockets(prover, gate, settings.home, agent)
    return prover


def add_sockets(prover: Prover, gate: Gate, home: Path, agent: ProvingAgent | None = None) -> None:
    """Prove gateway.sock, and the tool Exec over it if an owner granted it to any agent."""
    agent = agent or ProvingAgent()
    prover.add(SocketEntryPoint(home / "gateway.sock"))
    add_tool(prover, gate.rulebook.compiled, home, agent)
    gate.rulebook.compiled = with_proving_agent(gate.rulebook.compiled, home, agent)


def add_tool(prover: Prover, compiled: Compiled, home: Path, agent: ProvingAgent) -> None:
    """Prove the tool Exec from the next round on, if it is offered; added once."""
    if is_offered(compiled) and not any(
        isinstance(one, ToolEntryPoint) for one in prover.entry_points
    ):
        prover.add(ToolEntryPoint(home / "gateway.sock", agent))


def with_proving_agent(compiled: Compiled, home: Path, agent: ProvingAgent) -> Compiled:
    """Return the provisions with those of the proving agent, if the tool is offered."""
    return agent.joined(compiled, home) if is_offered(compiled) else compiled


def by_the_clock(clock: Clock, prover: Prover, settings: Settings) -> None:
    """Schedule proofs and announcements."""
    clock.repeat("alarm", _LOOK_S, prover.alarm.sound)
    if settings.proof.every is not None:
        clock.repeat("proof", settings.proof.every, prover.by_time)
