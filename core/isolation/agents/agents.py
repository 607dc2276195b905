"""Run agents in executors (S2): a prompt is claimed once, followed, cancelled, recorded."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from core.errors import HostUnavailable, SaysoError
from core.isolation import wire
from core.isolation.agents.runtime import KeyOf, Runtime, Tell, params_of, tool_line
from core.isolation.agents.said import Said
from core.isolation.agents.tool_calls import Questions, ToolCalls
from core.isolation.client import TERMINATED, CallFailed, ExecutorGone
from core.isolation.executor import Executor
from core.isolation.executors import Executors
from core.isolation.tokens import TokenRefused
from core.model.command import AgentPartKind, ExecPlan
from core.model.identity import AgentId, ApprovalId
from core.model.result import Finished, LiveOutput, OutputChunk
from core.ports import RunStart, SpawnGuard
from core.runner.require_claim import cancelled, require_claim
from core.runner.supply import Order

_log = logging.getLogger(__name__)
_END_PATIENCE_S = 15.0
"""How long an agent that was cancelled may take; its executor ends it after 5 s."""
_SIGTERM = 15


@dataclass(slots=True, eq=False)
class _Run:
    """A prompt under way, and what serves its executor (``core.isolation.executor.Talk``)."""

    agents: "Agents"
    run_id: ApprovalId
    plan: ExecPlan
    questions: Questions
    service: str
    start: RunStart
    executor: Executor | None = None
    said: Said = field(default_factory=Said)
    began: float = field(default_factory=time.monotonic)
    unwanted: asyncio.Event = field(default_factory=asyncio.Event)
    _telling: "asyncio.Task[None] | None" = None
    _news: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue)
    _noting: "asyncio.Task[None] | None" = None

    async def api_key(self, params: wire.Object) -> wire.Object:
        """Return the key of the run's own service, and of no other."""
        service = str(params.get("service"))
        if service != self.service:
            raise SaysoError(f"this run may not have the key of `{service[:64]}`")
        return {"api_key": await self.agents.key_of(service, self.questions.account)}

    async def permission(self, params: wire.Object) -> wire.Object:
        """Have the gate decide on a tool call as it does on a command."""
        about = params.get("tool_call")
        if not isinstance(about, dict):
            raise SaysoError("no tool call was named")
        if self.questions.ended or self.unwanted.is_set():
            return {"outcome": "cancelled"}
        part = self.plan.part
        kinds = () if part is None else part.tools
        if kinds and about.get("kind") not in kinds:
            return {"outcome": "deny"}
        leader = None if self.executor is None else self.executor.leader
        permitted = await self.agents.tool_calls.decide(self.questions, about, leader)
        if self.unwanted.is_set():
            return {"outcome": "cancelled"}
        return {"outcome": "allow" if permitted else "deny"}

    def message(self, kind: str, data: wire.Object) -> None:
        """Keep what the agent says, and pass it to its session."""
        if kind == "agent_started" and self._noting is None:
            self._noting = asyncio.ensure_future(self._note_leader())
        if kind == "agent_message":
            text = str(data.get("text"))
            self.said.add(text)
        elif kind in {"tool_call", "tool_call_update"}:
            text = tool_line(data)
            self.said.add_line(text)
        else:
            return
        if self.said.full:  # a session gets no more than a run's record keeps
            return
        self._news.put_nowait(text)
        if self._telling is None:
            self._telling = asyncio.ensure_future(self._tell())

    async def settle(self) -> None:
        """Withdraw the run's open questions; return once its session has received everything."""
        await self.agents.tool_calls.settle(self.questions)
        if self._noting is not None:
            await asyncio.gather(self._noting, return_exceptions=True)
        if self._telling is not None:
            heard = asyncio.ensure_future(self._news.join())
            await asyncio.wait((heard, self._telling), return_when=asyncio.FIRST_COMPLETED)
            heard.cancel()
            self._telling.cancel()
            await asyncio.gather(self._telling, return_exceptions=True)

    async def _note_leader(self) -> None:
        """Store a process from which recovery finds the agent and all that it started."""
        process = None if self.executor is None else self.executor.adopter
        if process is not None:
            pid, ticks = process
            await self.start.identified(pid, pid, ticks)

    async def _tell(self) -> None:
        while True:
            text = await self._news.get()
            try:
                await self.agents.tell(self.plan, self.run_id, text)
            except SaysoError:
                continue  # the run's own record has it as well
            finally:
                self._news.task_done()


class Agents:
    """The running agents, and their tool calls. ``tell`` is set once the gate exists."""

    tell: Tell

    def __init__(
        self,
        executors: Executors,
        runtime_of: Callable[[AgentId], Runtime | None],
        key_of: KeyOf,
        guard: SpawnGuard | None = None,
    ) -> None:
        self.key_of = key_of
        self._executors = executors
        self._runtime_of = runtime_of
        self._guard = guard
        self._runs: dict[ApprovalId, _Run] = {}
        self.tool_calls = ToolCalls()

    def has(self, run_id: ApprovalId) -> bool:
        """Return whether a prompt is under way here."""
        return run_id in self._runs

    async def check(self, plan: ExecPlan) -> None:
        """Check that the plan's agent could be started, before a person is asked.

        Raises:
            HostUnavailable: it has no runtime, or no executor can be started.
        """
        self._runtime(plan)
        await self._executors.pool.check(plan.run_as)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Give an agent a prompt and wait until it ends, or let a waiting agent continue.

        Raises:
            HostUnavailable: no agent can be started, or the one that asked has ended.
            SpawnError: not claimed, or cancelled before it started.
            LockedDown: the guard lets nothing run.
        """
        part = plan.part
        if part is None or part.kind is not AgentPartKind.PROMPT:
            return await self.tool_calls.permit(run_id, plan, start)
        runtime = self._runtime(plan)
        asking = Questions(run_id, plan, part.account)
        run = self._runs[run_id] = _Run(self, run_id, plan, asking, runtime.service, start)
        try:
            turns = self._executors.turns.of(plan.run_as)
            async with turns.turn(run.unwanted, plan.session) as begun:
                if not begun:
                    raise cancelled(run_id)
                return await self._run(run, runtime, start)
        finally:
            del self._runs[run_id]
            run.said.end()

    async def cancel(self, run_id: ApprovalId) -> bool:
        """Stop an agent; ``False`` if it does not run here."""
        run = self._runs.get(run_id)
        if run is None:
            return False
        run.questions.ended = run.questions.ended or "the prompt was cancelled"
        run.unwanted.set()
        return True

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what an agent said last; ``None`` if it does not run here."""
        run = self._runs.get(run_id)
        return None if run is None else run.said.live

    async def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what an agent says, from start to end."""
        run = self._runs.get(run_id)
        if run is not None:
            async for chunk in run.said.chunks():
                yield chunk

    async def _run(self, run: _Run, runtime: Runtime, start: RunStart) -> Finished:
        pool = self._executors.pool
        executor = await pool.take(run.plan.run_as)
        try:
            if self._guard is not None:
                self._guard.check(run.plan)
            if run.unwanted.is_set():
                raise cancelled(run.run_id)
            await require_claim(run.run_id, start)
            run.executor = executor
            stopping = asyncio.ensure_future(self._stop_when_unwanted(run, executor))
            try:
                return await self._followed(run, runtime, executor)
            finally:
                stopping.cancel()
                await asyncio.gather(stopping, return_exceptions=True)
        finally:
            pool.drop(executor)

    async def _stop_when_unwanted(self, run: _Run, executor: Executor) -> None:
        await run.unwanted.wait()
        try:
            await self.tool_calls.withdraw(run.questions)
        except SaysoError as failure:  # without a store the agent is still stopped
            _log.error("cannot withdraw what run %s asked: %s", run.run_id, failure)
        pool = self._executors.pool
        if await pool.calls.cancel_prompt(executor):
            await asyncio.sleep(_END_PATIENCE_S)
        pool.drop(executor)

    async def _followed(self, run: _Run, runtime: Runtime, executor: Executor) -> Finished:
        """Wait for the agent's answer; an end of any other kind is a failure with its reason."""
        plan, status = run.plan, "failed"
        answer: wire.Object = {}
        timed_out = False
        try:
            order = Order(run.run_id, plan.session, fresh=True)
            timeout_s = plan.timeout_ms / 1000
            params = params_of(plan, run.run_id, runtime)
            answer = await self._executors.pool.calls.prompt(
                executor, order, run, params, timeout_s
            )
            status = str(answer.get("status"))
            why = str(answer.get("error", "")) or ("" if status == "completed" else status)
        except ExecutorGone:
            why = TERMINATED
        except TimeoutError:
            why, timed_out = "the time is over", True
        except (CallFailed, TokenRefused) as failure:
            why = str(failure)
        run.questions.ended = run.questions.ended or why or "the prompt is over"
        await run.settle()
        if why and not run.unwanted.is_set():
            run.said.add_line(f"sayso: {why}")
        return _finished(run, status, answer, timed_out=timed_out)

    def _runtime(self, plan: ExecPlan) -> Runtime:
        if not plan.run_as:
            raise HostUnavailable(
                "agents run as other users only: set execution.runAsUnixUser to true"
            )
        found = self._runtime_of(plan.agent)
        if found is None:
            raise HostUnavailable(
                f"agent `{plan.agent}` has no runtime; set agents.list[].runtime for it"
            )
        return found


def _finished(run: _Run, status: str, answer: wire.Object, *, timed_out: bool) -> Finished:
    cancelled = run.unwanted.is_set() or status == "cancelled"
    ended = status == "completed" and not cancelled
    return Finished(
        run.run_id,
        0 if ended else None if cancelled else 1,
        _SIGTERM if cancelled else None,
        run.said.output,
        round((time.monotonic() - run.began) * 1000),
        timed_out=timed_out,
        cancelled=cancelled,
        token_usage=tuple(sorted(wire.counts(answer.get("token_usage")).items())),
    )
