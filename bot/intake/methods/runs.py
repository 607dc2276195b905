"""Accept requests to run something, and follow them to their end."""

from dataclasses import dataclass

from bot.intake.callers import visibility
from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import AskParams, IdParams, RunParams, WaitParams
from bot.intake.results.outcomes import (
    AnyStatus,
    CancelledAnswer,
    RequestAnswer,
    TailAnswer,
    status_of,
    without_effect,
)
from bot.intake.results.streaming import streaming
from core.gate.gate import Gate
from core.model.access import Scope
from core.model.result import Pending, Running

ASKS = frozenset({Scope.REQUEST})
FOLLOWS = frozenset({Scope.REQUEST, Scope.READ})
STOPS = frozenset({Scope.REQUEST, Scope.APPROVE})


@dataclass(frozen=True, slots=True)
class RunMethods(Group):
    """The methods about runs; ``askers`` remembers which local sessions asked."""

    gate: Gate
    askers: Askers

    @handles(
        "exec.run",
        ASKS,
        "Request to run a command, and wait for its end.",
        result=RequestAnswer,
        note="with `wait: false` at once",
    )
    @handles(
        "exec.approval.request",
        ASKS,
        "Request to run a command, and return its status at once.",
        params=AskParams,
        result=RequestAnswer,
        note="at once",
    )
    async def run(self, params: RunParams, caller: Caller) -> AnyStatus:
        """Submit a request; with ``wait`` (default) return how it ended, else its status."""
        request = params.request(caller.requester)
        # The gateway's own proofs do not turn the terminal it runs in into a requester's.
        if self.gate.execution.guard.mark_of(request) is None:
            self.askers.note(caller.requester)
        ignored = await without_effect(self.gate, request)
        line = streaming(self.gate, caller) if params.stream else None
        answer = await (line.submit(request) if line else self.gate.submit(request, caller.begun))
        if caller.begun is not None:
            caller.begun(answer.run_id)
        if params.wait and isinstance(answer, Pending | Running):
            answer = await (line or self.gate).wait(answer.run_id) or answer
        return await status_of(self.gate, answer, caller, ignored)

    @handles(
        "exec.wait",
        FOLLOWS,
        "Wait for the end of a run.",
        result=RequestAnswer,
        note="when it ended or at the timeout",
    )
    async def wait(self, params: WaitParams, caller: Caller) -> AnyStatus:
        """Wait for the end of a run."""
        run_id = await visibility.of_run(self.gate, params.id, caller)
        line = streaming(self.gate, caller) if params.stream else self.gate
        answer = await line.wait(run_id, params.timeout_ms)
        if answer is None:
            visibility.unknown(params.id)
        return await status_of(self.gate, answer, caller)

    @handles(
        "exec.cancel",
        STOPS,
        "Cancel a pending approval or a running command, by id, code or prefix.",
        urgent=True,
    )
    async def cancel(self, params: IdParams, caller: Caller) -> CancelledAnswer:
        """Withdraw a question or end a running command."""
        run_id = await visibility.named(self.gate, params.id, caller)
        status = await self.gate.status(run_id)
        done = await self.gate.cancel(run_id, f"withdrawn by {caller.ref}")
        if not done:
            status = await self.gate.status(run_id)
        if status is None:
            visibility.unknown(params.id)
        return CancelledAnswer.of(status, done=done)

    @handles("exec.tail", FOLLOWS, "Show a command's latest output, and how it ended if it did.")
    async def tail(self, params: IdParams, caller: Caller) -> TailAnswer:
        """Show what a command printed last: while it runs here, and as stored after its end."""
        run_id = await visibility.of_run(self.gate, params.id, caller)
        found = await self.gate.tail(run_id)
        if found is not None:
            return TailAnswer.live(found, caller)
        status = await self.gate.status(run_id)
        if status is None:
            visibility.unknown(params.id)
        return TailAnswer.stored(status, caller)
