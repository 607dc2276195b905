"""Call executors, and accept what they call; each call with a token, each in the journal."""

import asyncio
import socket
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager

from core.errors import SaysoError, SpawnError
from core.isolation import incoming, wire
from core.isolation.call_audit import CallAudit
from core.isolation.executor import Executor, Talk
from core.isolation.tokens import RATE, Holder, SessionTokens, TokenRefused
from core.isolation.upkeep import Options
from core.runner.link import Link
from core.runner.supply import Order

_CLEAN_S = 10.0


class Calls:
    """The calls between this gateway and its executors, in both directions."""

    def __init__(self, options: Options, tokens: SessionTokens, audit: CallAudit) -> None:
        self._options = options
        self._tokens = tokens
        self._audit = audit
        self._answering: set[asyncio.Task[None]] = set()

    async def begin(self, executor: Executor, order: Order) -> Link:
        """Have an executor start a supervisor for a run; return the link to it.

        Raises:
            SpawnError: it did not.
        """
        holder = self._entitle(executor, order)
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise SpawnError(f"Nothing ran: {error.strerror}.") from error
        with theirs:
            params: wire.Object = {"session_token": executor.token, "build": self._options.build}
            if order.private is not None:
                params["private"] = {"run": order.run_id, "holds": order.private.get("holds", "")}
            try:
                self._tokens.begin(executor.token, holder)
                answer = await self.call(executor, wire.RUN, params, [theirs.fileno()])
            except BaseException as failure:
                ours.close()
                if isinstance(failure, SaysoError | TimeoutError):
                    why = str(failure) or "the executor did not answer in time"
                    raise SpawnError(f"Nothing ran: {why}.") from failure
                raise
        pid = answer.get("pid")
        executor.leaders = [list(one) for one in incoming.identities(answer.get("leaders"))]
        executor.link = Link(ours, pid if isinstance(pid, int) else 0)
        return executor.link

    async def prompt(
        self, executor: Executor, order: Order, talk: Talk, params: wire.Object, timeout_s: float
    ) -> wire.Object:
        """Have an executor run an agent for one prompt; return how it ended.

        Raises:
            CallFailed: the executor says why not.
            ExecutorGone: it ended first.
            TimeoutError: it took too long.
            TokenRefused: its token was refused.
        """
        holder = self._entitle(executor, order)
        executor.talk = talk
        self._tokens.begin(executor.token, holder)
        own: wire.Object = {"session_token": executor.token, "build": self._options.build}
        return await self.call(executor, wire.EXECUTE_PROMPT, {**own, **params}, (), timeout_s)

    async def cancel_prompt(self, executor: Executor) -> bool:
        """Ask an executor to stop its agent; return whether it answered."""
        return await self._ask_to_end(executor, wire.CANCEL_PROMPT)

    async def terminal(
        self, executor: Executor, order: Order, talk: Talk, params: wire.Object
    ) -> int:
        """Have an executor start a shell; return the descriptor of its terminal.

        Raises:
            CallFailed: the executor says why not.
            ExecutorGone: it ended first.
            TimeoutError: it did not answer in time.
            TokenRefused: its token was refused.
        """
        holder = self._entitle(executor, order)
        executor.talk = talk
        self._tokens.begin(executor.token, holder)
        asked = {"session_token": executor.token, "build": self._options.build, **params}
        with self._noted(executor, wire.SPAWN_TERMINAL, asked):
            call = executor.client.call_for_descriptor
            return await call(wire.SPAWN_TERMINAL, asked, self._options.connection_timeout_s)

    async def end_terminal(self, executor: Executor) -> bool:
        """Ask an executor to end its terminal; return whether it answered."""
        return await self._ask_to_end(executor, wire.END_TERMINAL)

    async def _ask_to_end(self, executor: Executor, method: str) -> bool:
        try:
            await self.call(executor, method, {"session_token": executor.token})
        except (SaysoError, TimeoutError):
            return False
        return True

    async def call(
        self,
        executor: Executor,
        method: str,
        params: wire.Object,
        fds: Sequence[int] = (),
        timeout_s: float | None = None,
    ) -> wire.Object:
        """Call a method of an executor; return its result.

        Raises:
            CallFailed: the executor says why not.
            ExecutorGone: it ended first.
            TimeoutError: it did not answer in time.
        """
        if timeout_s is None:
            timeout_s = _CLEAN_S if method == wire.END_RUN else self._options.connection_timeout_s
        with self._noted(executor, method, params):
            return await executor.client.call(method, params, timeout_s, fds)

    def hear(
        self, executor: Executor, method: str, params: wire.Object, number: object = None
    ) -> None:
        """Accept a call from an executor, if its token permits one."""
        size, result = len(wire.encode(params)), "ok"
        holder = executor.holder or Holder(executor.user, "", executor.id)
        try:
            self._tokens.check(str(params.get("session_token")), holder)
            if number is not None:
                self._do(self._answer(executor, method, params, number))
                return
            result = incoming.notified(executor, method, params)
            if method == wire.REPORT_COMPLETION:
                self._tokens.end(executor.token)  # its request is over: nothing more is accepted
        except TokenRefused as refusal:
            result = str(refusal)
            executor.client.pause(1 / RATE)  # a flood goes into the journal no faster than calls do
        self._audit.note(executor.caller, method, size, result)
        if number is not None:
            self._do(executor.client.reply(wire.error(number, wire.FAILED, result)))

    def accept_no_more(self, executor: Executor) -> None:
        """Refuse what an executor calls from now on."""
        self._tokens.end(executor.token)

    async def stop(self) -> None:
        """Wait until every call is answered and recorded."""
        while self._answering:
            await asyncio.wait(tuple(self._answering))
        await self._audit.stop()

    def _entitle(self, executor: Executor, order: Order) -> Holder:
        """Give an executor the token for the one request that it will serve."""
        holder = Holder(executor.user, order.session, executor.id)
        executor.token, executor.holder = self._tokens.mint(holder), holder
        executor.run_id = order.run_id
        return holder

    @contextmanager
    def _noted(self, executor: Executor, method: str, params: wire.Object) -> Iterator[None]:
        """Record the call made inside the block in the journal, however it ends."""
        size, result = len(wire.encode(params)), "failed"
        try:
            yield
            result = "ok"
        except SaysoError as failure:
            result = str(failure)
            raise
        finally:
            self._audit.note(executor.caller, method, size, result)

    async def _answer(
        self, executor: Executor, method: str, params: wire.Object, number: object
    ) -> None:
        line, result = await incoming.answer(executor, method, params, number)
        self._audit.note(executor.caller, method, len(wire.encode(params)), result)
        await executor.client.reply(line)

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)
