"""Build a gate over real parts: SQLite, the journal, the runner, the approvals file."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from core.approvals.answer import Answer, Answering, AnswerOutcome
from core.approvals.ask import Asking
from core.approvals.broker import Broker
from core.approvals.file.file import ApprovalsFile
from core.approvals.file.usage import Usage
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.forwarding import Forwarding, Timing
from core.audit.journal import AuditJournal
from core.gate.effective_policy import Rulebook
from core.gate.execution import Execution
from core.gate.gate import Gate
from core.gate.guards.lockdown import NAME, Lockdown
from core.gate.guards.spawn_guard import Guard
from core.gate.journal.deferred import Deferred
from core.hosts.gateway import GatewayHost
from core.model.approval import ApprovalReply, GrantTerms
from core.model.command import ExecOverrides, ExecRequest
from core.model.identity import Actor, ApprovalId, Intake, Requester, SessionKey, Target
from core.model.pending_limits import DEFAULT_LIMITS, PendingLimits
from core.model.policy import AskFallback, ExecAsk, ExecHost, ExecSecurity, PolicyLayer
from core.model.result import Finished, Pending
from core.planning.planner import Planner
from core.ports import Journal
from core.runner.runner import MOST_RUNS, Runner
from core.settings.approvals import ForwardMode
from core.store import Store, open_store
from core.trust.sealing import SEALING_KEY, Seals

ANA = Actor("memory", "ana", "Ana")
PLACE = Target("memory", "room")
AGENT = Requester(Intake.SOCKET, "uid:0", (40, 7))


def layer(
    *,
    security: ExecSecurity = ExecSecurity.ALLOWLIST,
    ask: ExecAsk = ExecAsk.ON_MISS,
    fallback: AskFallback = AskFallback.DENY,
    host: ExecHost = ExecHost.GATEWAY,
) -> PolicyLayer:
    """Return a global layer of policy."""
    return PolicyLayer("tools.exec", host, security, ask, fallback)


def request(
    line: str | None = None,
    *,
    cwd: Path = Path("/"),
    argv: tuple[str, ...] | None = None,
    key: str | None = None,
    overrides: ExecOverrides | None = None,
    session: str = "main",
) -> ExecRequest:
    """Return a request of the agent."""
    return ExecRequest(
        requester=AGENT,
        session=SessionKey(session),
        cwd=str(cwd),
        line=line,
        argv=argv,
        request_key=key,
        overrides=overrides or ExecOverrides(),
    )


def says(ref: str, reply: ApprovalReply) -> Answer:
    """Return Ana's answer."""
    return Answer(ref=ref, reply=reply, actor=ANA)


async def granted(gate: Gate, wish: ExecRequest, terms: GrantTerms) -> Pending:
    """Ask, have Ana always allow it within limits, and run it."""
    asked = await gate.submit(wish)
    assert isinstance(asked, Pending)
    answered = await gate.answer(Answer(asked.run_id, ApprovalReply.ALLOW_ALWAYS, ANA, terms=terms))
    assert AnswerOutcome.ACCEPTED is answered.outcome
    for run_id, plan in await gate.queued():
        assert isinstance(await gate.run_approved(run_id, plan), Finished)
    return asked


def list_patterns(home: Path, *patterns: str) -> None:
    """Write an approvals file that lists these patterns for the agent main."""
    file = home / "exec-approvals.json"
    entries = [{"pattern": pattern} for pattern in patterns]
    file.write_text(json.dumps({"version": 1, "agents": {"main": {"allowlist": entries}}}))
    file.chmod(0o600)


@asynccontextmanager
async def gate_at(
    home: Path,
    everyone: PolicyLayer | None = None,
    *,
    owner: str = "boot-1",
    reachable: bool = True,
    timeout_ms: int = 60_000,
    remind_ms: int | None = None,
    people: Approvers | None = None,
    forwarding: Forwarding | None = None,
    guard: Guard | None = None,
    limits: PendingLimits = DEFAULT_LIMITS,
    most_runs: int = MOST_RUNS,
    clock: Callable[[], int] | None = None,
    url: str | None = None,
    over: Callable[[Store], Store] = lambda store: store,
    into: Callable[[Journal], Journal] = lambda journal: journal,
) -> AsyncIterator[Gate]:
    """Run a gate over one home; Ana may answer in the memory channel unless told otherwise.

    ``url`` is that of a store elsewhere. ``over`` and ``into`` return what stands before the store
    and the journal.
    """
    home.chmod(0o700)
    guard = guard or Guard(Lockdown(home / NAME))
    url = url or f"sqlite:///{home / 'state.db'}"
    store = over(await open_store(url, clock, journal=str(home)))
    runner = Runner(guard=guard, most_runs=most_runs)
    await runner.start()
    layers = (everyone or layer(),)
    with AuditJournal(home / "audit.jsonl") as file_journal:
        journal = into(file_journal)
        people = people or Approvers({"memory": frozenset({"ana"})})
        asking = Asking(
            store,
            people,
            forwarding or Forwarding(enabled=True, mode=ForwardMode.TARGETS, targets=(PLACE,)),
            Timing(timeout_ms, remind_ms),
            reachable=lambda _: reachable,
            local="terminal",
            limits=limits,
        )
        seals = Seals(home / SEALING_KEY)
        broker = Broker(store, asking, Answering(store, people, seals), seals)
        file = ApprovalsFile(home / "exec-approvals.json")
        gate = Gate(
            Rulebook(
                lambda _: layers,
                file,
                Usage(file),
                str(home),
            ),
            Planner(),
            broker,
            Execution(
                store,
                journal,
                {ExecHost.GATEWAY: GatewayHost(runner)},
                owner,
                10_000,
                Deferred(store, journal, home / "results"),
                guard,
            ),
            store,
            journal,
        )
        try:
            yield gate
        finally:
            gate.rulebook.usage.flush()
            await runner.stop()
            await store.close()


async def allowed(gate: Gate, line: str) -> ApprovalId:
    """Ask, and let Ana allow it."""
    asked = await gate.submit(request(line))
    assert isinstance(asked, Pending)
    answer = await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
    assert AnswerOutcome.ACCEPTED is answer.outcome
    return asked.run_id


def records(home: Path) -> list[dict[str, object]]:
    """Return the journal's records."""
    return [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]


@contextmanager
def without_journal(home: Path) -> Iterator[None]:
    """Move the journal away until the block's end, so that nothing can be written to it."""
    path, away = home / "audit.jsonl", home / "audit.away"
    path.rename(away)
    try:
        yield
    finally:
        away.rename(path)
