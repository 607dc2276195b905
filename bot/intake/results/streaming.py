"""Report a run's progress to a caller that waits for the end: its status and its output.

``exec.state`` carries each status as the answer would, ``exec.output`` each piece of output. Both
only precede the answer, which is the same as without them and comes last. A caller that reads too
slowly is disconnected by its connection; nothing here holds the run.
"""

import asyncio
import base64
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass

from bot.intake.callers.caller import Caller
from bot.intake.results import outcomes
from bot.intake.results.outcomes import status_of
from core.errors import BadRequest, StoreError
from core.gate.gate import Gate
from core.ipc.jsonrpc import Notify
from core.model.command import ExecRequest
from core.model.identity import ApprovalId
from core.model.result import Pending, Running, Submission
from core.store.engine.wakeups import Wakeups, wakeups

_log = logging.getLogger(__name__)
_SHORT_S = 0.03
"""A run that ends sooner is reported by its answer alone, without a watcher."""
_LOOK_S = 0.25
_LOOK_AGAIN_S = 2.0

_End = asyncio.Future[Submission] | asyncio.Future[Submission | None]


@dataclass(frozen=True, slots=True)
class Streaming:
    """Follow runs for one caller, whose connection carries notifications."""

    gate: Gate
    caller: Caller
    notify: Notify

    async def submit(self, request: ExecRequest) -> Submission:
        """Submit a request; if policy allows it, follow the run to its end.

        Raises:
            SaysoError: Sayso failed; nothing ran.
        """
        begun: asyncio.Future[tuple[ApprovalId, Wakeups]]
        begun = asyncio.get_running_loop().create_future()
        with ExitStack() as listening:

            def begin(run_id: ApprovalId) -> None:
                # Before the run is stored, since a later subscriber would miss that event.
                if not begun.cancelled():
                    begun.set_result((run_id, listening.enter_context(self._changes_of(run_id))))

            listening.callback(begun.cancel)
            end: asyncio.Future[Submission] = asyncio.ensure_future(
                self.gate.submit(request, begin)
            )
            listening.callback(end.cancel)  # nobody waits for it any more; the run continues
            await asyncio.wait((end, begun), return_when=asyncio.FIRST_COMPLETED)
            if begun.done():
                run_id, changed = begun.result()
                async with self._followed(run_id, end, changed):
                    await asyncio.wait((end,))
            return end.result()

    async def wait(self, run_id: ApprovalId, timeout_ms: int | None = None) -> Submission | None:
        """Follow a run or question to its end; return its status if that takes longer."""
        end = asyncio.ensure_future(self.gate.wait(run_id, timeout_ms))
        try:
            with self._changes_of(run_id) as changed:
                changed.wake()
                async with self._followed(run_id, end, changed):
                    await asyncio.wait((end,))
            return end.result()
        finally:
            end.cancel()

    def _changes_of(self, run_id: ApprovalId) -> AbstractContextManager[Wakeups]:
        return wakeups(self.gate.store, f"run:{run_id}", f"approval:{run_id}")

    @asynccontextmanager
    async def _followed(
        self, run_id: ApprovalId, end: _End, changed: Wakeups
    ) -> AsyncIterator[None]:
        """Report status and output inside the block, which ends when all output has been sent."""
        running: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        report = asyncio.ensure_future(self._report(run_id, running, changed))
        show = asyncio.ensure_future(self._show(run_id, running, end))
        try:
            yield
            await asyncio.wait((show,))
        finally:
            for task in (report, show):
                task.cancel()
            for failure in await asyncio.gather(report, show, return_exceptions=True):
                if isinstance(failure, Exception):
                    _log.error("cannot follow run %s", run_id, exc_info=failure)

    async def _report(
        self, run_id: ApprovalId, running: asyncio.Future[None], changed: Wakeups
    ) -> None:
        """Report each change of status. ``running`` is set once that was reported."""
        reported: Submission | None = None
        while True:
            await changed.wait(_LOOK_AGAIN_S)
            try:
                now = await self.gate.status(run_id)
            except StoreError:
                continue  # it is read again; the answer itself waits, too
            if isinstance(now, Pending | Running) and now != reported:
                reported = now
                status = await status_of(self.gate, now, self.caller)
                await self.notify("exec.state", status.as_json())
                if isinstance(now, Running) and not running.done():
                    running.set_result(None)

    async def _show(self, run_id: ApprovalId, running: asyncio.Future[None], end: _End) -> None:
        """Send all output from the start, as soon as the run has been reported."""
        if not outcomes.reads_output(self.caller):
            return
        await asyncio.wait((end, running), return_when=asyncio.FIRST_COMPLETED)
        pause = _SHORT_S
        while not await _is_over(end, pause):
            if await self._watch(run_id):
                return
            pause = _LOOK_S

    async def _watch(self, run_id: ApprovalId) -> bool:
        """Send the output until the run's end; return whether there was any."""
        sent = False
        async for chunk in self.gate.watch(run_id):
            sent = True
            data = base64.b64encode(chunk.data).decode("ascii")
            await self.notify("exec.output", {"id": run_id, "stream": chunk.stream, "data": data})
        return sent


def streaming(gate: Gate, caller: Caller) -> Streaming:
    """Return an object that follows runs for a caller.

    Raises:
        BadRequest: its connection can carry only answers.
    """
    if caller.notify is None:
        raise BadRequest("stream: this connection carries a single response; omit it")
    return Streaming(gate, caller, caller.notify)


async def _is_over(end: _End, seconds: float) -> bool:
    done, _ = await asyncio.wait((end,), timeout=seconds)
    return bool(done)
