"""Serve the routes below /v1 and S4's paths: each is one call of the method table."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bot.api.access.access_log import ROUTE
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.rate_limits import Places
from bot.api.rest.background import Asking
from bot.api.rest.call import Call, parse_call
from bot.api.rest.route import Route, Style
from bot.api.rest.sse import Streams
from bot.api.rest.wakeups import ApiWakeups
from bot.intake.registry.method import Table, bound
from bot.intake.registry.params import EventsParams, read
from core.approvals.answer import AnswerOutcome
from core.errors import ApprovalsFileError
from core.gate.gate import Gate
from core.settings.http import HttpSection

T = TypeVar("T")
_UNDECIDED: Mapping[AnswerOutcome, FaultCode] = {
    AnswerOutcome.ALREADY_ENDED: FaultCode.CONFLICT,
    AnswerOutcome.NOT_OFFERED: FaultCode.CONFLICT,
    AnswerOutcome.NOT_TYPED: FaultCode.CONFLICT,
    AnswerOutcome.NOT_PROVEN: FaultCode.CONFLICT,
    AnswerOutcome.AMBIGUOUS: FaultCode.CONFLICT,
    AnswerOutcome.UNKNOWN: FaultCode.NOT_FOUND,
    AnswerOutcome.NOT_LISTED: FaultCode.FORBIDDEN,
    AnswerOutcome.REQUESTER: FaultCode.FORBIDDEN,
    AnswerOutcome.REVOKED: FaultCode.FORBIDDEN,
}


@dataclass(frozen=True, slots=True)
class Rest:
    """What the routes need: the table, the gate for streams, places for callers that wait."""

    table: Table
    gate: Gate
    section: HttpSection
    wakes: ApiWakeups
    asking: Asking
    working: Places
    waiting: Places

    async def serve(self, route: Route, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of a route.

        Raises:
            Fault: it is not served.
            SaysoError: the method refuses or fails.
        """
        method = self.table[route.method]
        call = await parse_call(route, method, scope, receive, self.section)
        held = self.waiting if route.streams or call.wait_s else self.working
        with held.place(call.caller.token):
            if route.streams:
                stream = Streams(self.gate, self.section, self.wakes).serve(call, send)
                await unless_gone(receive, stream)
                return
            work = self._answer(call)
            response = await (unless_gone(receive, work) if call.wait_s else work)
        if response is not None:
            await response(scope, receive, send)

    async def _answer(self, call: Call) -> Response:
        answer = await self._serving(call.route.style)(call)
        if call.wait_s:
            # A token that ended in the meantime receives nothing more.
            await call.login.caller()
        return call.response(answer)

    def _serving(self, style: Style) -> Callable[[Call], Awaitable[object]]:
        return {
            Style.WAIT: self._wait,
            Style.CREATE: self.asking.create,
            Style.TOOL: self.asking.tool,
            Style.REMOTE: self.asking.remote,
            Style.CANCEL: self._cancel,
            Style.RESOLVE: self._resolve,
            Style.CHANGE: self._change,
            Style.EVENTS: self._events,
        }.get(style, self._plain)

    async def _plain(self, call: Call) -> object:
        return await call.invoke()

    async def _wait(self, call: Call) -> object:
        return await call.invoke(timeoutMs=round(call.wait_s * 1000))

    async def _cancel(self, call: Call) -> object:
        answer = await call.invoke()
        if isinstance(answer, dict) and not answer["cancelled"]:
            raise Fault(FaultCode.CONFLICT, str(answer["sentence"]))
        return answer

    async def _resolve(self, call: Call) -> object:
        answer = await call.invoke()
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        code = None if outcome is None else _UNDECIDED.get(AnswerOutcome(outcome))
        if code is not None and isinstance(answer, dict):
            raise Fault(code, str(answer["sentence"]))
        return answer

    async def _change(self, call: Call) -> object:
        try:
            answer = await call.invoke()
        except ApprovalsFileError as wrong:
            raise Fault(FaultCode.BAD_REQUEST, str(wrong)) from wrong
        if isinstance(answer, dict) and not answer["done"]:
            code = FaultCode.NOT_FOUND if call.route.finds else FaultCode.CONFLICT
            raise Fault(code, str(answer["sentence"]))
        return answer

    async def _events(self, call: Call) -> object:
        """Return a session's unacknowledged events; if there are none, wait for the next."""
        params = bound(read(EventsParams, call.params), call.caller)
        async with self.wakes.of(f"session:{params.session}") as woken:
            answer = await call.invoke()
            if answer == {"events": []} and await woken(call.wait_s):
                answer = await call.invoke()
        return answer


async def unless_gone(receive: Receive, work: Coroutine[object, object, T]) -> T | None:
    """Return the result of the work; if the client leaves, cancel it and return ``None``."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True)
class Resource:
    """One address with its verbs."""

    routes: Mapping[str, Route]
    rest: Rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of this address.

        Raises:
            Fault: the address has no such verb, or the request is not served.
        """
        verb = "GET" if scope["method"] == "HEAD" else scope["method"]
        route = self.routes.get(verb)
        scope["state"][ROUTE] = next(iter(self.routes.values())).path
        if route is None:
            allowed = ", ".join(sorted(self.routes))
            raise Fault(FaultCode.WRONG_VERB, "Method not allowed here.", {"Allow": allowed})
        await self.rest.serve(route, scope, receive, send)
