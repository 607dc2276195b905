"""Make the prover of a gateway, and let it prove at the start and by the clock."""

from collections.abc import Mapping
from pathlib import Path

from bot.clock import Clock
from bot.gate_proof.alarm import Alarm, places_of
from bot.gate_proof.prover import Prover
from bot.gate_proof.socket import SocketWay
from bot.gate_proof.tool import ProvingAgent, ToolWay, is_offered
from bot.settings import Settings
from bot.surfaces import forwarding
from channels.base import Channel
from core.gate import Gate
from core.gate.guard import Guard
from core.gate.home_check import HomeCheck
from core.gate.lockdown import NAME, Lockdown

_LOOK_S = 10.0
"""Seconds after which a lockdown is announced that came about by the file alone."""


def guard_of(settings: Settings) -> Guard:
    """Return what stands before each spawn of this home."""
    return Guard(Lockdown(settings.home / NAME, HomeCheck.of(settings.home)))


def prover_of(settings: Settings, gate: Gate, channels: Mapping[str, Channel]) -> Prover:
    """Return the prover of a gate, with the ways in by its socket."""
    guard = gate.execution.guard
    places = places_of(forwarding(settings), channels.keys())
    prover = Prover(
        guard=guard,
        journal=gate.journal,
        alarm=Alarm(guard.lockdown, gate.store, gate.journal, places),
        home=settings.home,
        search_path=settings.tools.exec.search_path,
        patience_s=settings.proof.patience,
    )
    add_socket_ways(prover, gate, settings.home)
    return prover


def add_socket_ways(prover: Prover, gate: Gate, home: Path) -> None:
    """Prove gateway.sock, and the tool Exec over it where an owner granted that to any agent."""
    socket = home / "gateway.sock"
    prover.add(SocketWay(socket))
    rulebook = gate.rulebook
    if is_offered(rulebook.compiled):
        agent = ProvingAgent()
        rulebook.compiled = agent.joined(rulebook.compiled, home)
        prover.add(ToolWay(socket, agent))


def by_the_clock(clock: Clock, prover: Prover, settings: Settings) -> None:
    """Prove and announce in time."""
    clock.repeat("alarm", _LOOK_S, prover.alarm.sound)
    if settings.proof.every is not None:
        clock.repeat("proof", settings.proof.every, prover.by_time)
