"""Give an agent a prompt; it runs in an executor, and people decide on its actions."""

import asyncio
import logging
from dataclasses import dataclass, field

from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.runs import ASKS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import PromptParams
from bot.intake.results.outcomes import AnyStatus, RequestAnswer, RunningAnswer, status_of
from bot.intake.results.streaming import streaming
from core.errors import SaysoError
from core.gate.gate import Gate
from core.model.command import ExecRequest
from core.model.identity import ApprovalId
from core.model.result import Pending, Running, Submission

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PromptMethods(Group):
    """The methods about prompts; ``askers`` remembers which local sessions asked."""

    gate: Gate
    askers: Askers
    _under_way: set[asyncio.Future[Submission]] = field(default_factory=set)

    @handles(
        "agent.prompt",
        ASKS,
        "Give an agent a prompt; it runs as its Unix user, and asks before it acts.",
        result=RequestAnswer,
        note="at once with `task_id`; with `wait: true` once the agent has answered",
    )
    async def prompt(self, params: PromptParams, caller: Caller) -> AnyStatus:
        """Start the agent; if the caller waits, follow it to its end.

        The run belongs to the gate: a caller that disconnects does not end it.
        """
        request = params.request(caller.requester)
        self.askers.note(caller.requester)
        if not params.wait:
            return await self._begun(request, caller)
        line = streaming(self.gate, caller) if params.stream else None
        answer = await (line.submit(request) if line else self.gate.submit(request, caller.begun))
        if caller.begun is not None:
            caller.begun(answer.run_id)
        if isinstance(answer, Pending | Running):
            answer = await (line or self.gate).wait(answer.run_id) or answer
        return await status_of(self.gate, answer, caller)

    async def _begun(self, request: ExecRequest, caller: Caller) -> AnyStatus:
        """Return as soon as the prompt is a run, or its outcome is known."""
        begun: asyncio.Future[ApprovalId] = asyncio.get_running_loop().create_future()
        work = asyncio.ensure_future(self.gate.submit(request, begun.set_result))
        self._under_way.add(work)
        work.add_done_callback(self._ended)
        await asyncio.wait((work, begun), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return await status_of(self.gate, work.result(), caller)
        run_id = begun.result()
        return RunningAnswer(status="running", id=run_id, task_id=run_id)

    def _ended(self, work: asyncio.Future[Submission]) -> None:
        self._under_way.discard(work)
        failure = None if work.cancelled() else work.exception()
        if isinstance(failure, SaysoError):  # the caller has its answer, or sees the history
            _log.warning("a prompt could not be run: %s", failure)
