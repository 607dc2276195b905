"""Run requests that may take longer than their caller waits; they continue without it."""

import asyncio
import logging
import secrets
import time
from dataclasses import dataclass, field, replace

from bot.api.http.errors import Fault, FaultCode
from bot.api.http.rate_limits import Places
from bot.api.rest.call import Call
from bot.api.rest.wakeups import ApiWakeups, Woken
from bot.intake.registry.method import Table, bound, invoke
from bot.intake.registry.params import RunParams, read
from bot.intake.results.outcomes import without_effect
from core.gate.gate import Gate
from core.model.identity import ApprovalId
from core.store.views import owners

_log = logging.getLogger(__name__)
PATIENCE_S = 5.0
"""Seconds for a request to appear in the store, in addition to the caller's own wait."""


@dataclass(slots=True, eq=False)
class _Asked:
    """A request under way: its task, and the latest id that it reported."""

    task: asyncio.Future[object] = field(init=False)
    run_id: ApprovalId | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, call: Call, params: dict[str, object]) -> None:
        """Call the method; it continues if its caller disconnects."""
        caller = replace(call.caller, begun=self.hear)
        self.task = asyncio.ensure_future(invoke(call.method, params, caller))
        self.task.add_done_callback(lambda _: self.news.set())

    def hear(self, run_id: ApprovalId) -> None:
        """Store the id; a later one replaces it if two requests used one key at once."""
        self.run_id = run_id
        self.news.set()

    async def change(self, woken: Woken, seconds: float) -> None:
        """Wait until there is an id, the end, or a change in the store."""
        waits = [asyncio.ensure_future(woken(seconds)), asyncio.ensure_future(self.news.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


@dataclass(slots=True)
class Asking:
    """Serves requests that may wait for people. ``under_way`` are tool calls and remote runs."""

    table: Table
    gate: Gate
    wakes: ApiWakeups
    under_way: Places
    _started: set[asyncio.Future[object]] = field(default_factory=set)

    async def create(self, call: Call) -> object:
        """Submit a request, and return its status after ``wait``."""
        if call.params.get("requestKey") is None:
            call.params["requestKey"] = secrets.token_hex(16)
        request = bound(read(RunParams, call.params), call.caller).request(call.caller.requester)
        ignored = await without_effect(self.gate, request)
        asked = self._begun(call, {**call.params, "wait": call.wait_s > 0})
        await asyncio.wait({asked.task}, timeout=call.wait_s)
        words = f"It was accepted and is queued; its requestKey is {call.params['requestKey']}."
        run_id = await self._known(asked, words)
        answer = asked.task.result() if run_id is None else await self._state(call, run_id)
        if not isinstance(answer, dict):
            return answer
        call.headers["Location"] = f"/v1/requests/{answer['id']}"
        return {**answer, **({"ignored": ignored} if ignored else {})}

    async def tool(self, call: Call) -> object:
        """Call a tool; if people are asked or it has not ended, return its status with 202."""
        asked = self._held(call)
        await asyncio.wait({asked.task}, timeout=call.wait_s)
        run_id = await self._known(asked, "The tool has not ended.")
        answer = None if run_id is not None else asked.task.result()
        if isinstance(answer, dict) and answer.get("status") == "pending":
            run_id = answer["id"]
        if run_id is None:
            return answer
        call.status = 202
        call.headers["Location"] = f"/v1/requests/{run_id}"
        return await self._state(call, run_id)

    async def remote(self, call: Call) -> object:
        """Run on another machine."""
        asked = self._held(call)
        done, _ = await asyncio.wait({asked.task}, timeout=call.wait_s)
        if not done:
            raise _goes_on("The remote run has not ended; GET /exec/sessions lists it.")
        return asked.task.result()

    def _held(self, call: Call) -> _Asked:
        """Start work that no id limits: only so many at a time, even if nobody waits for it."""
        client = call.caller.token
        if not self.under_way.enter(client):
            words = "Too many unfinished calls with this token."
            raise Fault(FaultCode.UNAVAILABLE, words, {"Retry-After": "5"})
        asked = self._begun(call, dict(call.params))
        asked.task.add_done_callback(lambda _: self.under_way.leave(client))
        return asked

    def _begun(self, call: Call, params: dict[str, object]) -> _Asked:
        asked = _Asked()
        asked.begin(call, params)
        self._started.add(asked.task)
        asked.task.add_done_callback(self._ended)
        return asked

    async def _known(self, asked: _Asked, words: str) -> ApprovalId | None:
        """Return the id under which the store has it by now; ``None`` once it is answered.

        Raises:
            Fault: neither happens in time.
        """
        until = time.monotonic() + PATIENCE_S
        while not asked.task.done():
            asked.news.clear()
            run_id = asked.run_id
            async with self.wakes.of(f"run:{run_id}", f"approval:{run_id}") as woken:
                if run_id is not None and await self._is_stored(run_id):
                    return run_id
                left = until - time.monotonic()
                if left <= 0 or self.wakes.stopping.is_set():
                    raise _goes_on(words)
                if not asked.task.done():
                    await asked.change(woken, left)
        return None

    async def _is_stored(self, run_id: ApprovalId) -> bool:
        return await self.wakes.store.read(owners.agent_of, run_id) is not None

    async def _state(self, call: Call, run_id: ApprovalId) -> object:
        return await invoke(self.table["exec.wait"], {"id": run_id, "timeoutMs": 0}, call.caller)

    def _ended(self, task: asyncio.Future[object]) -> None:
        self._started.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.info("an abandoned request failed: %s", task.exception())


def _goes_on(words: str) -> Fault:
    return Fault(FaultCode.GOES_ON, words, {"Retry-After": "5"})
