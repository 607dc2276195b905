"""Start executors, one for each request, and clean up after each of them, however it ended."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from core.errors import HostUnavailable, SpawnError
from core.isolation import process, upkeep, wire
from core.isolation.call_audit import CallAudit
from core.isolation.calls import Calls
from core.isolation.client import Client
from core.isolation.containment import NOWHERE, Containment
from core.isolation.executor import Executor
from core.isolation.process import uid_of, unavailable
from core.isolation.tokens import SessionTokens

_log = logging.getLogger(__name__)
_PATIENCE_S = 5.0
_SPARE_AFTER_S = 0.25
"""Delay before a new spare is started, so that its 30 ms of CPU do not slow the run just begun."""


class ExecutorPool:
    """The executors of all users, and the ``calls`` made of them.

    ``command`` returns the command that starts a user's executor. ``on_regained`` is called when a
    place that was ``lost`` is free.
    """

    def __init__(
        self,
        options: upkeep.Options,
        tokens: SessionTokens,
        audit: CallAudit,
        command: Callable[[str], Sequence[str]] = process.by_sudo,
        containment: Containment = NOWHERE,
    ) -> None:
        self._containment = containment
        self._options = options
        self.on_regained: Callable[[], None] = lambda: None
        self.calls = Calls(options, tokens, audit)
        self._command = command
        self._live: set[Executor] = set()
        self._spares: dict[str, Executor] = {}
        self._idle: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stuck: dict[Executor, asyncio.Task[None]] = {}
        self._gone = asyncio.Event()
        self._stopped = False

    @property
    def live(self) -> int:
        """Return how many executors exist."""
        return len(self._live)

    def lost(self, user: str) -> int:
        """Return how many places a user's executors keep that cannot be ended."""
        return upkeep.lost(user, self._stuck)

    async def check(self, user: str) -> None:
        """Check that a user's executor could be started, before a person is asked.

        Raises:
            HostUnavailable: the program that starts it, or the user, is missing.
        """
        uid_of(user)
        program = self._command(user)
        for path in (program[0], program[-1]):
            if not Path(path).exists():  # noqa: ASYNC240 - two local files
                raise HostUnavailable(unavailable(user, f"{path} is missing"))

    async def take(self, user: str) -> Executor:
        """Return an executor of a Unix user that has not served any request yet.

        Raises:
            HostUnavailable: none can be started for this user.
        """
        spare = self._spares.pop(user, None)
        executor = await self._started(user) if spare is None else spare
        if self._options.warm_spare:
            self._keep_spare(user)
        return executor

    def let_go(self, executor: Executor) -> None:
        """End an executor whose run is over, once it has reported that nothing is left."""
        if not executor.ending:
            executor.ending = True
            self._do(self._finish(executor))

    def drop(self, executor: Executor) -> None:
        """End an executor, and all that it started, at once."""
        if not executor.ending:
            executor.ending = True
            self.calls.accept_no_more(executor)
            executor.client.close()

    async def stop(self) -> None:
        """End all executors; return once they have ended."""
        self._stopped = True
        for timer in self._idle.values():
            timer.cancel()
        for executor in tuple(self._live):
            self.drop(executor)
        while self._live - self._stuck.keys():
            self._gone.clear()
            await self._gone.wait()
        for outliving in self._stuck.values():
            outliving.cancel()
        while self._tasks:
            await asyncio.wait(tuple(self._tasks))
        await self.calls.stop()

    async def _started(self, user: str, *, cleaner: bool = False) -> Executor:
        uid = uid_of(user)
        if not cleaner:
            await self._room(user)
        executor = Executor(secrets.token_hex(8), user)
        self._live.add(executor)
        try:
            executor.process, sock = process.start(self._command(user), executor.hang_up)
        except SpawnError as failure:
            self._live.discard(executor)
            raise HostUnavailable(unavailable(user, str(failure))) from failure
        executor.client = Client(
            sock,
            lambda method, params, number: self.calls.hear(executor, method, params, number),
            lambda: self._do(self._see_out(executor)),
        )
        await self._greet(executor, uid)
        return executor

    async def _greet(self, executor: Executor, uid: int) -> None:
        """Wait until an executor answers and is contained, and check that it is the user's."""
        contained = asyncio.ensure_future(self._contain(executor))
        try:
            answer = self.calls.call(executor, wire.PING, {})
            why = await upkeep.failure(executor, uid, answer, self._options.connection_timeout_s)
        except BaseException:
            self.drop(executor)
            raise
        finally:
            await asyncio.wait((contained,))
            uncontained = contained.exception()
        if uncontained is not None:
            why = f"its cgroup cannot be made: {uncontained}"
        if why:
            self.drop(executor)
            raise HostUnavailable(unavailable(executor.user, why))
        upkeep.warn_of_loose(executor)

    async def _contain(self, executor: Executor) -> None:
        """Move the process that was started into a cgroup, while it starts."""
        executor.cgroup = self._containment.of(executor.id)
        if executor.cgroup is not None:
            await executor.cgroup.hold(executor.process.pid, executor.process.exited)

    async def _room(self, user: str) -> None:
        """Wait until a user may have one more; a spare of any user is ended to make room."""
        patience, most = upkeep.Patience(user, self._stuck), self._options.max_executors
        while patience.is_full(self._live, most):
            if self._spares:
                self._end_spare(next(iter(self._spares)))
            self._gone.clear()
            await patience.wait(self._gone, most)

    def _keep_spare(self, user: str) -> None:
        """Keep one more executor of a user ready, until none has been needed for a while."""
        timer = self._idle.pop(user, None)
        if timer is not None:
            timer.cancel()
        self._idle[user] = asyncio.get_running_loop().call_later(
            self._options.idle_timeout_s, self._end_spare, user
        )
        self._do(self._make_spare(user))

    async def _make_spare(self, user: str) -> None:
        await asyncio.sleep(_SPARE_AFTER_S)
        if len(self._live) >= self._options.max_executors or not self._wants_spare(user):
            return
        try:
            executor = await self._started(user)
        except HostUnavailable as failure:
            if not self._stopped:
                _log.warning("no spare executor: %s", failure)
            return
        if self._wants_spare(user):
            self._spares[user] = executor
        else:
            self.drop(executor)

    def _wants_spare(self, user: str) -> bool:
        return not self._stopped and user in self._idle and user not in self._spares

    def _end_spare(self, user: str) -> None:
        self._idle.pop(user, None)
        spare = self._spares.pop(user, None)
        if spare is not None:
            self.drop(spare)

    async def _finish(self, executor: Executor) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                await executor.completed.wait()
        self.calls.accept_no_more(executor)
        executor.client.close()

    async def _see_out(self, executor: Executor) -> None:
        """Wait until a process whose connection has ended exits; end what a crash left behind."""
        executor.ending = True
        executor.completed.set()
        self.calls.accept_no_more(executor)
        if self._spares.get(executor.user) is executor:
            del self._spares[executor.user]
        if executor.link is not None:
            executor.link.hang_up()
        await executor.process.ended(_PATIENCE_S)
        left = 0 if executor.cgroup is None else await executor.cgroup.end(_PATIENCE_S)
        if executor.leaders and executor.process.status != 0:
            await self.end_left(executor.user, {executor.run_id: executor.leaders})
            await executor.process.ended(_PATIENCE_S)
        if left or not executor.process.exited.is_set():
            upkeep.report(executor.id, executor.user, left)
            self._stuck[executor] = asyncio.ensure_future(self._outlive(executor))
            self._gone.set()
            return
        executor.process.forget()
        self._live.discard(executor)
        self._gone.set()

    async def _outlive(self, executor: Executor) -> None:
        """Free an executor's place once it, and everything it left behind, has ended after all."""
        await executor.process.exited.wait()
        while executor.cgroup is not None and await executor.cgroup.end(_PATIENCE_S):
            continue
        executor.process.forget()
        self._live.discard(executor)
        self._stuck.pop(executor, None)
        self._gone.set()
        self.on_regained()

    async def end_contained(self) -> None:
        """End what the executors of dead gateways left in their cgroups."""
        await self._containment.end_left(_PATIENCE_S)

    async def end_left(self, user: str, runs: Mapping[str, Sequence[object]]) -> None:
        """Start an executor of a user that ends what dead or stopped ones left of these runs.

        Each run comes with its leading processes: pid, and start time in ticks.
        """
        try:
            cleaner = await self._started(user, cleaner=True)
        except HostUnavailable as failure:
            _log.error("what %s left may still be running: %s", ", ".join(runs), failure)
            return
        try:
            for run_id, leaders in runs.items():
                params = upkeep.params(run_id, leaders)
                answers = await upkeep.ended(run_id, self.calls.call(cleaner, wire.END_RUN, params))
                if not answers:  # it would not answer about the others either
                    self.drop(cleaner)
        finally:
            self.drop(cleaner)

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
