"""Open terminals of other Unix users, and let the requester of one see it and type."""

import asyncio
import base64
import logging
import time
from dataclasses import dataclass, field

from bot.intake.callers import unix_peer, visibility
from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.runs import ASKS, FOLLOWS, STOPS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import NoParams
from bot.intake.registry.terminal_params import (
    AttachParams,
    InputParams,
    OpenParams,
    ReadParams,
    ResizeParams,
    TerminalParams,
)
from bot.intake.results.terminals import (
    InputAnswer,
    OpenedAnswer,
    ShownAnswer,
    TerminalAnswer,
    TerminalsAnswer,
)
from core.errors import BadRequest, Forbidden, LockedDown, SaysoError
from core.gate.gate import Gate
from core.isolation.terminal.stream import NotTaken, Stream
from core.isolation.terminal.terminals import NO_LIMITS, Limits, Terminal, Terminals
from core.model.access import Scope
from core.model.command import ExecRequest
from core.model.identity import ApprovalId
from core.model.result import Pending, Running, Submission
from core.store import approvals

_log = logging.getLogger(__name__)
_LOOK_S = 0.05
_MOST_READ = 256 * 1024


@dataclass(frozen=True, slots=True)
class TerminalMethods(Group):
    """The methods about terminals; ``terminals`` is ``None`` if nothing runs as another user."""

    gate: Gate
    askers: Askers
    terminals: Terminals | None
    _under_way: set[asyncio.Future[Submission]] = field(default_factory=set)

    @handles(
        "terminal.open",
        ASKS,
        "Ask for a terminal as the Unix user of an agent or person.",
        note="at once: `pending` until a person allows it, then it opens",
    )
    async def open(self, params: OpenParams, caller: Caller) -> OpenedAnswer:
        """Submit a terminal as a run; return once it is put to people, begun or refused."""
        self.askers.note(caller.requester)
        unasked = self._limits.lets(caller.requester.account) and _is_person(caller)
        request = params.request(caller.requester, self._limits.longest_ms, unasked=unasked)
        begun: asyncio.Future[ApprovalId] = asyncio.get_running_loop().create_future()
        work = asyncio.ensure_future(self._submitted(request, begun))
        self._under_way.add(work)
        work.add_done_callback(self._ended)
        await asyncio.wait((work, begun), return_when=asyncio.FIRST_COMPLETED)
        answer = work.result() if work.done() else Running(begun.result())
        if caller.begun is not None:
            caller.begun(answer.run_id)
        return OpenedAnswer.of(answer)

    @handles("terminal.list", FOLLOWS, "List the terminals that are open, and the last that were.")
    async def list(self, _params: NoParams, caller: Caller) -> TerminalsAnswer:
        """List the terminals of the caller's own agents, without what they show."""
        found = () if self.terminals is None else self.terminals.all()
        seen = [one for one in found if caller.sees(one.plan.agent)]
        return TerminalsAnswer(terminals=[TerminalAnswer.of(one) for one in seen])

    @handles(
        "terminal.end",
        STOPS,
        "End a terminal, or withdraw the question about one.",
        note="once it has ended, or after 15 s",
    )
    async def end(self, params: TerminalParams, caller: Caller) -> TerminalAnswer:
        """End a terminal; its requester may, and people who may approve."""
        found = self._known(params.id) or await self._asked_about(params.id)
        if found is None or not caller.sees(found.plan.agent):
            visibility.unknown(params.id)
        if not caller.may(Scope.APPROVE) and not found.is_of(caller.requester):
            visibility.unknown(params.id)
        if await self.gate.cancel(found.run_id, f"ended by {caller.ref}"):
            await self.gate.wait(found.run_id, 15_000)
        elif found is not self._known(params.id):
            raise BadRequest("it is being opened, or was not allowed; try again")
        return TerminalAnswer.of(found)

    @handles("terminal.input", ASKS, "Type into a terminal of one's own.")
    async def input(self, params: InputParams, caller: Caller) -> InputAnswer:
        """Type into a terminal."""
        found, data = self._own(params.id, caller), params.typed
        try:
            if self.terminals is not None:
                self.terminals.type(found, data)
        except LockedDown as locked:
            raise Forbidden(str(locked)) from None
        except NotTaken as failure:
            raise BadRequest(str(failure)) from None
        return InputAnswer(accepted=len(data))

    @handles("terminal.resize", ASKS, "Change the size of a terminal of one's own.")
    async def resize(self, params: ResizeParams, caller: Caller) -> TerminalAnswer:
        """Change the size of a terminal."""
        found = self._own(params.id, caller)
        try:
            self._stream(found).resize(params.size)
        except NotTaken as failure:
            raise BadRequest(str(failure)) from None
        return TerminalAnswer.of(found)

    @handles(
        "terminal.read",
        ASKS,
        "Read what one of your terminals showed, from a position on.",
        note="as soon as there is something, or after `waitMs`",
    )
    async def read(self, params: ReadParams, caller: Caller) -> ShownAnswer:
        """Read a piece of what it shows, without slowing the terminal."""
        found = self._own(params.id, caller)
        stream = self._stream(found)
        ends = asyncio.get_running_loop().time() + params.wait_ms / 1000
        data, place = stream.read(params.after, _MOST_READ)
        while not data and not stream.over and asyncio.get_running_loop().time() < ends:
            await asyncio.sleep(_LOOK_S)
            data, place = stream.read(params.after, _MOST_READ)
        text = base64.b64encode(data).decode("ascii")
        return ShownAnswer(data=text, next=place, ended=stream.over and not data)

    @handles(
        "terminal.attach",
        ASKS,
        "Follow one of your terminals to its end (`terminal.output`).",
        note="once the terminal has ended; whoever reads too slowly is cut off",
    )
    async def attach(self, params: AttachParams, caller: Caller) -> TerminalAnswer:
        """Send what is shown until the end; if people have to decide, wait for that first."""
        if caller.notify is None:
            raise BadRequest("terminal.attach: this connection carries a single response")
        found = await self._opened(params.id, caller)
        stream = self._stream(found)
        await caller.notify("terminal.opened", {"id": found.run_id})
        with stream.viewer(params.after) as viewer:
            while True:
                data, place = await stream.next(viewer)
                if not data:
                    break
                text = base64.b64encode(data).decode("ascii")
                await caller.notify(
                    "terminal.output", {"id": found.run_id, "data": text, "next": place}
                )
        await self.gate.wait(found.run_id)
        return TerminalAnswer.of(found)

    async def _opened(self, named: str, caller: Caller) -> Terminal:
        """Wait until a terminal is open, or it is certain that it will not open."""
        run_id = await visibility.of_run(self.gate, named, caller)
        while True:
            found = self._known(run_id)
            if found is not None and (found.stream is not None or found.ended):
                return self._own(named, caller)
            status = await self.gate.wait(run_id, 200) or visibility.unknown(named)
            if not isinstance(status, Pending | Running):
                raise BadRequest(OpenedAnswer.of(status).why or "the terminal has ended")

    @property
    def _limits(self) -> Limits:
        return NO_LIMITS if self.terminals is None else self.terminals.limits

    def _known(self, named: str) -> Terminal | None:
        return None if self.terminals is None else self.terminals.find(named)

    async def _asked_about(self, named: str) -> Terminal | None:
        """Return a terminal whose question is still pending, as it is reported once withdrawn."""
        asked = await self.gate.store.read(approvals.get, ApprovalId(named))
        part = None if asked is None or asked.resolution is not None else asked.plan.part
        if asked is None or part is None or not part.opens_terminal:
            return None
        now = round(time.time() * 1000)
        return Terminal(asked.id, asked.plan, now, now, "the question was withdrawn")

    def _found(self, named: str, caller: Caller) -> Terminal:
        found = self._known(named)
        if found is None or not caller.sees(found.plan.agent):
            visibility.unknown(named)
        return found

    def _own(self, named: str, caller: Caller) -> Terminal:
        """Return a terminal that this caller asked for; another caller's does not exist for it."""
        found = self._found(named, caller)
        if not found.is_of(caller.requester):
            visibility.unknown(named)
        return found

    def _stream(self, found: Terminal) -> Stream:
        if found.stream is None:
            raise BadRequest("the terminal is not open yet, or was not opened")
        return found.stream

    async def _submitted(
        self, request: ExecRequest, begun: asyncio.Future[ApprovalId]
    ) -> Submission:
        return await self.gate.submit(request, begun.set_result)

    def _ended(self, work: asyncio.Future[Submission]) -> None:
        self._under_way.discard(work)
        failure = None if work.cancelled() else work.exception()
        if isinstance(failure, SaysoError):
            _log.warning("a terminal could not be opened: %s", failure)


def _is_person(caller: Caller) -> bool:
    """Return whether somebody typed this at a terminal, as far as the kernel can say.

    On gateway.sock agents of the same uid have the same account (docs/decisions/0009); what one of
    our runs started belongs to a requester.
    """
    peer = caller.peer
    if caller.agents is not None or peer is None:
        return False
    return unix_peer.at_terminal(peer) and not unix_peer.is_run(peer.pid)
