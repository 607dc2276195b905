"""Run in this context what a gateway or a node of this user orders: once, exactly as bound.

The planner's digest, the drift check, the runner, the guard and the journal are those of the
gateway. What exec-approvals.json denies is also denied here; about who allowed the rest, the
gateway is trusted, which the token and the kernel vouch for.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from core.approvals.file.file import ApprovalsFile
from core.approvals.file.usage import Usage
from core.audit.journal import AuditJournal
from core.companion.frames import NotRun, Ran, RunOrder
from core.errors import JournalError, SaysoError
from core.gate.effective_policy import Rulebook
from core.gate.guards.home_check import HomeCheck
from core.gate.guards.lockdown import NAME, Lockdown
from core.gate.guards.spawn_guard import Guard
from core.gate.journal import journal_records
from core.hosts.failures import reason_of
from core.ipc.peer import Peer
from core.model.decision import Basis, Decision, Evaluation
from core.model.identity import AgentId, ApprovalId, Intake, Requester
from core.model.policy import AskFallback, ExecAsk, ExecSecurity, PolicyLayer
from core.nodes.frames import Ended
from core.nodes.frames import NotRun as NotRunThere
from core.nodes.ledger import Ledger
from core.planning.digest import digest_of
from core.policy.judge.evaluate import denial_reason
from core.ports import Journal
from core.runner.runner import Runner

_log = logging.getLogger(__name__)
JOURNAL, FOLDER = "companion-audit.jsonl", "companion-runs"
_WHY = 2_000


@dataclass(frozen=True, slots=True)
class CompanionWork:
    """The commands that one companion runs (implements ``core.companion.server.Works``).

    ``is_run`` returns whether a process was started by a run of Sayso: such a process may order
    nothing.
    """

    rulebook: Rulebook
    runner: Runner
    ledger: Ledger
    journal: Journal
    is_run: Callable[[int], bool]

    def take(self, order: RunOrder, peer: Peer) -> str:
        """Record a run durably before it starts; return why it is refused, ``""`` if it is not.

        Raises:
            StateError: it cannot be recorded, so nothing may run.
        """
        if self.is_run(peer.pid):
            return "a run of Sayso gives no orders"
        if not order.digest == order.plan.digest == digest_of(order.plan):
            return "the plan is not the one of its digest"
        if order.plan.run_as:
            return "the plan is bound to another Unix user"
        if not self.ledger.claim(ApprovalId(order.id), order.digest):
            return "a run of this id was taken before"
        return ""

    async def run(self, order: RunOrder) -> Ran | NotRun:
        """Run what was accepted, to its end."""
        run_id = ApprovalId(order.id)
        try:
            verdict = await self._judged(order)
            if verdict.decision is Decision.DENY:
                why = f"exec-approvals.json denies it: {verdict.why}"
                outcome: Ran | NotRun = NotRun(reason=denial_reason(verdict), why=why[:_WHY])
            else:
                start = _CompanionStart(self, order, verdict)
                outcome = Ran(result=await self.runner.run(run_id, order.plan, start))
        except SaysoError as failure:
            outcome = NotRun(reason=reason_of(failure), why=str(failure)[:_WHY])
        await self._end(order, outcome)
        return outcome

    async def _judged(self, order: RunOrder) -> Evaluation:
        await self.rulebook.ready(order.plan.agent)
        policy = self.rulebook.agent_policy(order.plan.agent)
        return self.rulebook.judge(order.plan, policy)

    async def _end(self, order: RunOrder, outcome: Ran | NotRun) -> None:
        run_id = ApprovalId(order.id)
        if isinstance(outcome, Ran):
            ending: Ended | NotRunThere = Ended(run_id=run_id, result=outcome.result)
            kind, record = "finish", journal_records.finished(outcome.result)
        else:
            ending = NotRunThere(run_id=run_id, reason=outcome.reason, why=outcome.why)
            kind, record = "refuse", {"run": run_id, "reason": outcome.reason, "why": outcome.why}
        await asyncio.to_thread(self.ledger.end, run_id, order.digest, ending)
        try:
            await self.journal.append(kind, record)
        except JournalError as failure:
            _log.error("a %s record cannot be written: %s", kind, failure)

    async def cancel(self, order: RunOrder) -> None:
        """End a run."""
        await self.runner.cancel(ApprovalId(order.id))

    def delivered(self, order: RunOrder) -> None:
        """Keep a run that was reported for as long as its id may be sent again."""
        self.ledger.note(ApprovalId(order.id))


@dataclass(frozen=True, slots=True)
class _CompanionStart:
    """Journals the decision before anything starts (a ``RunStart``); the ledger has the run."""

    work: CompanionWork
    order: RunOrder
    verdict: Evaluation

    async def claim(self) -> bool:
        who = Requester(Intake.SOCKET, "companion")
        run_id, plan = ApprovalId(self.order.id), self.order.plan
        decided = journal_records.decided(run_id, who, plan, self.verdict)
        await self.work.journal.append("decision", {**decided, "by": self.order.by})
        return True

    async def identified(self, pid: int, pgid: int, start_ticks: int) -> None:
        """Record nothing: the supervisor ends what runs when this process ends."""

    async def basis(self) -> Basis:
        return Basis(self.order.by, ())


@asynccontextmanager
async def companion_work(
    home: Path, file: ApprovalsFile, is_run: Callable[[int], bool]
) -> AsyncIterator[CompanionWork]:
    """Provide what runs commands for as long as the block lasts.

    Raises:
        SaysoError: a part of it cannot be used; the message names it.
    """
    lax = PolicyLayer(
        source="the gateway",
        security=ExecSecurity.FULL,
        ask=ExecAsk.OFF,
        ask_fallback=AskFallback.FULL,
    )

    def configured(_agent: AgentId) -> tuple[PolicyLayer, ...]:
        return (lax,)

    with AuditJournal(home / JOURNAL) as journal:
        runner = Runner(guard=Guard(Lockdown(home / NAME, HomeCheck.of(home))))
        await runner.start()
        try:
            rulebook = Rulebook(configured, file, Usage(file), str(Path.home()))
            ledger = Ledger.of(home, FOLDER)
            yield CompanionWork(rulebook, runner, ledger, journal, is_run)
        finally:
            await runner.stop()
