"""Prove a gate's entry points over real parts: its socket, its inbox, its store, its journal."""

import json
import sqlite3
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import MethodType
from typing import Any

import pytest

from bot.announcements import Announcer, Audience
from bot.chat.agent_threads import AgentThreads
from bot.chat.inbox import GateInbox, Surroundings, inbox_of
from bot.gate_proof.alarm import Alarm
from bot.gate_proof.chat import ChatEntryPoint, ProvingSender
from bot.gate_proof.entry_points import ProofAnswer
from bot.gate_proof.prover import Proof, Prover
from bot.intake.callers.terminal import Askers
from bot.intake.methods.runs import RunMethods
from bot.intake.registry.method import Method, Table
from bot.intake.socket import handlers
from bot.intake.table import method_table
from bot.wiring.gate_proof import add_sockets
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.principals import Listing
from core.gate.effective_policy import Rulebook
from core.gate.gate import Gate
from core.gate.guards.marks import Mark
from core.ipc.unix import listen
from core.model.command import ExecPlan
from core.model.decision import Decision, Evaluation
from core.model.identity import AgentId
from core.model.policy import ExecPolicy, PolicyLayer
from core.planning.paths.search_path import DEFAULT_SEARCH_PATH
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.rules.capabilities import TOOL, Capabilities
from core.policy.rules.compiled import Compiled, Provisions
from tests.support.gate import PLACE, gate_at

PEOPLE = Approvers({"memory": frozenset({"ana"})})
SENDERS = Listing({"memory": frozenset({"ana"})})
CODER = Capabilities(frozenset({TOOL}), ("/usr/bin",), ())
GRANTED = Compiled(agents={AgentId("coder"): Provisions(capabilities=CODER)})
"""An owner granted Exec to an agent, so that this entry point is open."""


@dataclass
class Proving:
    """A gate with its entry points, and the prover that proves them."""

    gate: Gate
    prover: Prover
    inbox: GateInbox
    home: Path
    askers: Askers

    async def states(self) -> dict[str, str]:
        """Prove once and return how each way ended."""
        return {proof.entry_point: proof.state.value for proof in await self.prover.prove()}

    def journal(self, kind: str) -> list[dict[str, Any]]:
        """Return the journal's records of a kind."""
        lines = (self.home / "audit.jsonl").read_text(encoding="utf-8").splitlines()
        return [record for record in map(json.loads, lines) if record["kind"] == kind]

    def rows(self) -> dict[str, int]:
        """Return how many rows each table has."""
        with closing(sqlite3.connect(self.home / "state.db")) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {
                name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 - a table's own name
                for (name,) in tables.fetchall()
            }


@asynccontextmanager
async def _patient_chat() -> AsyncIterator[None]:
    """Let the chat's proof take as long as the machine does; a second may be a pause of it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("bot.gate_proof.chat._PATIENCE_S", 30.0)
        yield


@asynccontextmanager
async def proving(
    home: Path,
    everyone: PolicyLayer | None = None,
    *,
    patience_s: float = 30.0,
    broken: bool = False,
    reachable: bool = True,
    granted: Compiled = GRANTED,
) -> AsyncIterator[Proving]:
    """Run a gate with its socket and its inbox; ``broken``: it lets everything through."""
    async with (
        gate_at(home, everyone, people=PEOPLE, reachable=reachable) as gate,
        _patient_chat(),
    ):
        if broken:
            gate.rulebook = lets_all_through(gate.rulebook)
        gate.rulebook.compiled = granted
        guard, sender = gate.execution.guard, ProvingSender()
        prover = Prover(
            guard=guard,
            journal=gate.journal,
            alarm=Alarm(guard.lockdown, gate.journal, Announcer(gate.store, Audience((PLACE,)))),
            home=home,
            search_path=DEFAULT_SEARCH_PATH,
            patience_s=patience_s,
        )
        inbox = inbox_of(
            gate,
            PEOPLE,
            sender.joined(SENDERS),
            elevated=True,
            surroundings=Surroundings(AgentThreads(gate, {})),
        )
        table = method_table(gate, no_health, prover=prover)
        server = await listen(home / "gateway.sock", handlers(table))
        add_sockets(prover, gate, home)
        prover.add(ChatEntryPoint(inbox, sender))
        try:
            yield Proving(gate, prover, inbox, home, _askers(table))
        finally:
            await server.close()


def _askers(table: Table) -> Askers:
    """Return the memory of who asked over the socket."""
    run = table["exec.run"]
    assert isinstance(run, Method)
    assert isinstance(run.handler, MethodType)
    owner = run.handler.__self__
    assert isinstance(owner, RunMethods)
    return owner.askers


async def no_health() -> dict[str, object]:
    """Report that no part is known."""
    return {"ok": True, "pid": 1, "parts": {}, "openSurfaces": 0}


class Careless(Rulebook):
    """A rulebook that lets everything through: the bug that a proof should find."""

    def judge(
        self,
        plan: ExecPlan,
        policy: ExecPolicy,
        allowlist: Allowlist | None = None,
        acl: tuple[ArgvTemplate, ...] | None = None,
    ) -> Evaluation:
        """Allow whatever would be asked or denied."""
        found = Rulebook.judge(self, plan, policy, allowlist, acl)
        return replace(found, decision=Decision.ALLOW)


def lets_all_through(sound: Rulebook) -> Rulebook:
    """Return a rulebook like this one, but careless."""
    return Careless(sound.configured, sound.file, sound.usage, sound.home)


class Forgetful(OrderedDict[str, Mark]):
    """Marks that are forgotten as soon as they are drawn: no guard knows them."""

    def __setitem__(self, _nonce: str, _mark: Mark) -> None:
        """Forget it."""


@dataclass
class Way:
    """A test's entry point: whatever it does with a marked command."""

    name: str
    does: Callable[[Mark], Awaitable[ProofAnswer]]

    async def submit(self, mark: Mark) -> ProofAnswer:
        """Do it."""
        return await self.does(mark)


def of(proofs: tuple[Proof, ...], way: str) -> Proof:
    """Return the proof of one way."""
    (found,) = (proof for proof in proofs if proof.entry_point == way)
    return found
