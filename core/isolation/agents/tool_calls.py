"""Have people decide on what agents want to do (S2): a tool call waits, and continues once.

Each tool call for which an agent needs approval is a run; to run it is to let the agent continue
with it.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from core.errors import HostUnavailable
from core.isolation import wire
from core.isolation.agents.runtime import OriginOf
from core.isolation.process import uid_of
from core.model.command import AgentPart, AgentPartKind, ExecOverrides, ExecPlan, ExecRequest
from core.model.identity import ApprovalId, Intake, Requester, Target
from core.model.policy import ExecHost
from core.model.result import Finished, Output, Pending, Running, Submission
from core.ports import RunStart
from core.runner.require_claim import require_claim

_GONE = "the agent that asked for this has ended"
_WENT_ON = "sayso: the agent continues with this, once\n"


class AskingGate(Protocol):
    """The gate that judges tool calls and asks people."""

    async def submit(
        self, request: ExecRequest, begun: Callable[[ApprovalId], None] | None = None
    ) -> Submission:
        """Judge a request: allow it, refuse it, or ask people."""

    async def wait(self, run_id: ApprovalId, timeout_ms: int | None = None) -> Submission | None:
        """Wait until a request is decided."""

    async def cancel(self, run_id: ApprovalId, note: str) -> bool:
        """Withdraw a question."""


@dataclass(slots=True)
class _ToolCall:
    """A tool call that waits; ``permitted`` once it may continue."""

    permitted: bool = False


@dataclass(slots=True, eq=False)
class Questions:
    """The tool calls of one prompt that people are asked about.

    ``ended`` says why the prompt asks nothing more, once it does not.
    """

    run_id: ApprovalId
    plan: ExecPlan
    account: str
    ended: str = ""
    open: set[ApprovalId] = field(default_factory=set)
    submitting: "set[asyncio.Future[Submission]]" = field(default_factory=set)


class ToolCalls:
    """The tool calls that wait. ``gate`` and ``origin_of`` are set once the gate exists.

    ``owner`` names the gateway: it and a number identify a tool call.
    """

    gate: AskingGate
    origin_of: OriginOf
    owner: str = ""

    def __init__(self) -> None:
        self._waiting: dict[str, _ToolCall] = {}

    async def decide(
        self, prompt: Questions, about: wire.Object, leader: tuple[int, int] | None
    ) -> bool:
        """Have the gate decide on a tool call; return whether it may continue.

        ``leader`` is the agent's process.

        Raises:
            SaysoError: it cannot be submitted.
        """
        call = f"{self.owner}.{secrets.token_hex(16)}"
        waiting = self._waiting[call] = _ToolCall()
        asked: ApprovalId | None = None
        try:
            origin = await self.origin_of(prompt.run_id)
            answer: Submission | None = await self._submitted(
                prompt, _request(prompt, about, call, origin, leader)
            )
            while isinstance(answer, Pending | Running):
                asked = answer.run_id
                prompt.open.add(asked)
                if prompt.ended:
                    await self.gate.cancel(asked, prompt.ended)
                answer = await self.gate.wait(asked)
        finally:
            del self._waiting[call]
            if asked is not None:
                prompt.open.discard(asked)
        return waiting.permitted

    async def permit(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Let the waiting tool call of this plan continue, once.

        Raises:
            HostUnavailable: it waits no more.
            SpawnError: not claimed.
        """
        call = "" if plan.part is None else plan.part.call
        waiting = self._waiting.get(call)
        if waiting is None or waiting.permitted:
            raise HostUnavailable(_GONE)
        await require_claim(run_id, start)
        waiting.permitted = True
        return Finished(run_id, 0, None, Output(_WENT_ON, _WENT_ON, len(_WENT_ON)), 0)

    async def withdraw(self, prompt: Questions) -> None:
        """Withdraw the open questions of a prompt that has ended.

        Raises:
            StoreError: the store is away.
        """
        for asked in tuple(prompt.open):
            await self.gate.cancel(asked, prompt.ended)

    async def settle(self, prompt: Questions) -> None:
        """Withdraw all questions of a prompt that has ended.

        A question may already be in the store although its submission has not returned yet.
        """
        for answer in await asyncio.gather(*prompt.submitting, return_exceptions=True):
            if isinstance(answer, Pending | Running):
                prompt.open.add(answer.run_id)
        await self.withdraw(prompt)

    async def _submitted(self, prompt: Questions, request: ExecRequest) -> Submission:
        """Submit a tool call; for ``settle``, this continues even if the executor ends first."""
        submitting = asyncio.ensure_future(self.gate.submit(request))
        prompt.submitting.add(submitting)
        submitting.add_done_callback(prompt.submitting.discard)
        return await asyncio.shield(submitting)


def _request(
    prompt: Questions,
    about: wire.Object,
    call: str,
    origin: Target | None,
    leader: tuple[int, int] | None,
) -> ExecRequest:
    """Return a tool call as a request of the agent's; a command line stays a command line.

    Raises:
        HostUnavailable: the agent's user was removed.
    """
    plan, account = prompt.plan, prompt.account
    line = str(about.get("command") or "")
    words = tuple(str(about.get(name) or "") for name in ("kind", "title", "input"))
    kind = AgentPartKind.COMMAND if line else AgentPartKind.TOOL
    return ExecRequest(
        requester=_asker(plan, leader),
        session=plan.session,
        cwd=plan.cwd.path,
        line=line or None,
        argv=None if line else words,
        agent=plan.agent,
        overrides=ExecOverrides(host=ExecHost.GATEWAY),
        task=plan.task,
        origin=origin,
        part=AgentPart(kind, account, call, plan.run_as),
    )


def _asker(plan: ExecPlan, leader: tuple[int, int] | None) -> Requester:
    """Return the requester: the agent's process, in its own kernel session.

    Raises:
        HostUnavailable: the agent's user was removed.
    """
    return Requester(Intake.SOCKET, f"uid:{uid_of(plan.run_as)}", leader)
