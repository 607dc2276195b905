"""Open, limit and end terminals; each is a run like any other: claimed once, cancelled, recorded.

Only its requester may see a terminal and type into it, from the same kernel session on this machine
or with the same token over the network; no one else may, whatever they may see of other runs.
"""

import asyncio
import os
import stat
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import (
    HostUnavailable,
    JournalError,
    SaysoError,
    SpawnError,
    StoreError,
)
from core.isolation import wire
from core.isolation.client import TERMINATED, CallFailed, ExecutorGone
from core.isolation.executor import Executor
from core.isolation.executors import Executors
from core.isolation.terminal.recording import FOLDER, Recording
from core.isolation.terminal.size import Size
from core.isolation.terminal.stream import NotTaken, Stream
from core.isolation.tokens import TokenRefused
from core.model.command import ExecPlan
from core.model.identity import ApprovalId, Requester
from core.model.result import Finished, LiveOutput, Output, OutputChunk
from core.planning.environment import RUN_MARK
from core.ports import Journal, RunStart, SpawnGuard
from core.runner.require_claim import cancelled, require_claim
from core.runner.supply import Order

_END_PATIENCE_S = 15.0
"""How long a terminal that was asked to end may take; its executor kills after 5 s."""
_LOOK_S = 2.0
"""How long a terminal may stay open after its owner lost access."""
_REMEMBERED = 16
_SIGTERM = 15
_MULTIPLEXER = (5, 2)
"""The device number of every pseudo-terminal's master end (devices.txt: /dev/ptmx)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many terminals there may be, and for how long; ``home`` has the recordings.

    ``unasked`` are the accounts that may open one without approval.
    """

    home: Path = Path()
    most: int = 4
    idle_s: float = 1800.0
    longest_ms: int = 8 * 60 * 60 * 1000
    record: bool = False
    record_bytes: int = 64 << 20
    unasked: frozenset[str] = frozenset()

    def lets(self, account: str) -> bool:
        """Return whether an account may open one without approval."""
        return account in self.unasked


NO_LIMITS = Limits()
ShutOut = Callable[[str], Awaitable[bool]]
"""Return whether an account may no longer use terminals."""


@dataclass(slots=True, eq=False)
class Terminal:
    """One terminal, and what handles its executor's calls (``core.isolation.executor.Talk``).

    ``ended`` says why it ended, and is empty while it lasts. Times are epoch ms.
    """

    run_id: ApprovalId
    plan: ExecPlan
    began_ms: int = field(default_factory=lambda: round(time.time() * 1000))
    ended_ms: int | None = None
    ended: str = ""
    code: int | None = None
    stream: Stream | None = None
    recording: str = ""
    unwanted: asyncio.Event = field(default_factory=asyncio.Event)
    exited: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def owner(self) -> tuple[str, str]:
        """Return who asked for it: the account, and the kernel session."""
        part = self.plan.part
        return ("", "") if part is None else (part.account, part.kernel_session)

    def is_of(self, requester: Requester) -> bool:
        """Return whether this requester asked for it, and from the same session."""
        return self.owner == (requester.account, session_of(requester))

    async def api_key(self, params: wire.Object) -> wire.Object:
        """Give no key: people have their own."""
        del params
        raise SaysoError("a terminal gets no keys")

    async def permission(self, params: wire.Object) -> wire.Object:
        """Refuse: what is done in a terminal needs no approval."""
        del params
        raise SaysoError("a terminal asks nobody")

    def message(self, kind: str, data: wire.Object) -> None:
        """Record how the shell ended."""
        code = data.get("code")
        if kind == "terminal_ended" and isinstance(code, int):
            self.code = code
            self.exited.set()


def session_of(requester: Requester) -> str:
    """Return the kernel session of a requester, as plans name it."""
    return "" if requester.process is None else f"{requester.process[0]}:{requester.process[1]}"


class Terminals:
    """The terminals that are open now, and the last that were.

    ``shut_out`` says whether an account may no longer use any; set once there is a store.
    """

    def __init__(
        self,
        executors: Executors,
        limits: Limits,
        journal: Journal,
        guard: SpawnGuard | None = None,
    ) -> None:
        self._executors = executors
        self.limits = limits
        self._journal = journal
        self._guard = guard
        self._known: OrderedDict[ApprovalId, Terminal] = OrderedDict()
        self.shut_out: ShutOut | None = None

    def find(self, run_id: str) -> Terminal | None:
        """Return a terminal that is open, or was until recently."""
        return self._known.get(ApprovalId(run_id))

    def all(self) -> tuple[Terminal, ...]:
        """Return all that are known, the oldest first."""
        return tuple(self._known.values())

    def has(self, run_id: ApprovalId) -> bool:
        """Return whether a terminal is open here."""
        found = self._known.get(run_id)
        return found is not None and not found.ended

    async def check(self, plan: ExecPlan) -> None:
        """Check that one more could be opened, before a person is asked.

        Raises:
            HostUnavailable: too many are open, or no executor can be started.
        """
        if not plan.run_as:
            raise HostUnavailable(
                "terminals are opened as other users only: set execution.runAsUnixUser to true"
            )
        if sum(not one.ended for one in self._known.values()) >= self.limits.most:
            raise HostUnavailable(
                f"{self.limits.most} terminals are open, the most that there may be "
                "(execution.terminals.most)"
            )
        await self._executors.pool.check(plan.run_as)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Open a terminal, and wait for its end.

        Raises:
            HostUnavailable: none can be opened.
            SpawnError: not claimed, or the shell could not be started.
            LockedDown: the guard lets nothing run.
        """
        await self.check(plan)
        terminal = self._known[run_id] = Terminal(run_id, plan)
        began = time.monotonic()
        try:
            turns = self._executors.turns.of(plan.run_as)
            async with turns.turn(terminal.unwanted, plan.session) as begun:
                if not begun:
                    raise cancelled(run_id)
                await self._run(terminal, start)
        finally:
            terminal.ended = terminal.ended or "it was not opened"
            terminal.ended_ms = round(time.time() * 1000)
            self._forget()
        await self._record_end(terminal)
        return _finished(terminal, round((time.monotonic() - began) * 1000))

    def type(self, terminal: Terminal, data: bytes) -> None:
        """Type into a terminal; refused in a lockdown, since input may start more programs.

        Raises:
            LockedDown: the guard lets nothing run.
            NotTaken: it is not open, or its program does not read.
        """
        if self._guard is not None:
            self._guard.check(terminal.plan)
        if terminal.stream is None:
            raise NotTaken("the terminal is not open")
        terminal.stream.type(data)

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a terminal; ``False`` if it is not open here."""
        if not self.has(run_id):
            return False
        self._known[run_id].unwanted.set()
        return True

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return nothing: what a terminal shows is for its owner alone."""
        found = self._known.get(run_id)
        if found is None or found.stream is None:
            return None
        return LiveOutput("", found.stream.total)

    async def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield nothing: permission to see runs does not include terminals."""
        del run_id
        return
        yield  # makes this an asynchronous generator, as in every host

    async def _run(self, terminal: Terminal, start: RunStart) -> None:
        pool, plan = self._executors.pool, terminal.plan
        executor = await pool.take(plan.run_as)
        try:
            if self._guard is not None:
                self._guard.check(plan)
            await require_claim(terminal.run_id, start)
            terminal.stream = stream = await self._opened(terminal, executor)
            stream.start()
            try:
                await _note_leader(executor, start)
                await self._until_over(terminal, stream, executor)
            finally:
                await asyncio.to_thread(stream.close)
        finally:
            pool.drop(executor)

    async def _opened(self, terminal: Terminal, executor: Executor) -> Stream:
        plan, size = terminal.plan, Size()
        params: wire.Object = {
            "terminal_id": terminal.run_id,
            "shell": plan.commands[0].argv[1],
            "cwd": plan.cwd.path,
            "env": {**dict(plan.env), RUN_MARK: terminal.run_id},
            "rows": size.rows,
            "columns": size.columns,
        }
        order = Order(terminal.run_id, plan.session, fresh=True)
        try:
            master = await self._executors.pool.calls.terminal(executor, order, terminal, params)
        except (CallFailed, ExecutorGone, TokenRefused, TimeoutError) as failure:
            why = str(failure) or "the executor did not answer in time"
            raise SpawnError(f"no terminal was opened: {why}") from None
        try:
            _check_terminal(master)
            return Stream(master, size, await asyncio.to_thread(self._recording, terminal, size))
        except BaseException:
            os.close(master)
            raise

    def _recording(self, terminal: Terminal, size: Size) -> Recording | None:
        if not self.limits.record:
            return None
        path = self.limits.home / FOLDER / f"{terminal.run_id}.cast"
        try:
            made = Recording(path, size, self.limits.record_bytes)
        except OSError as failure:  # configured to be recorded, so it is or is not opened
            raise SpawnError(f"the terminal cannot be recorded: {failure}") from failure
        terminal.recording = str(path)
        return made

    async def _until_over(self, terminal: Terminal, stream: Stream, executor: Executor) -> None:
        """Wait until the shell ends, or end it."""
        ends = asyncio.get_running_loop().time() + terminal.plan.timeout_ms / 1000
        why = ""
        while not why:
            idle = stream.active + self.limits.idle_s - time.monotonic()
            left = min(idle, ends - asyncio.get_running_loop().time())
            why = await _first(terminal, executor, max(0.0, min(left, _LOOK_S)))
            why = why or await self._shut_out(terminal)
            if not why and asyncio.get_running_loop().time() >= ends:
                why = "the time is over"
            elif not why and time.monotonic() >= stream.active + self.limits.idle_s:
                why = "nothing was typed or shown for the idle limit"
        if not terminal.exited.is_set() and why != TERMINATED:
            pool = self._executors.pool
            if not await pool.calls.end_terminal(executor):
                pool.drop(executor)
            await _first(terminal, executor, _END_PATIENCE_S, over_only=True)
        await stream.drained(_END_PATIENCE_S)  # the last program may have left bytes behind
        terminal.ended = why

    async def _shut_out(self, terminal: Terminal) -> str:
        """Return why a terminal must end although no one ended it: its owner lost access."""
        with suppress(StoreError):  # an unreachable store says nothing about any account
            if self.shut_out is not None and await self.shut_out(terminal.owner[0]):
                return "its owner may no longer use it"
        return ""

    async def _record_end(self, terminal: Terminal) -> None:
        stream = terminal.stream
        record: dict[str, object] = {
            "run": terminal.run_id,
            "user": terminal.plan.run_as,
            "owner": terminal.owner[0],
            "end": terminal.ended,
            "shown_bytes": 0 if stream is None else stream.total,
            "typed_bytes": 0 if stream is None else stream.typed,
            **({"recording": terminal.recording} if terminal.recording else {}),
        }
        with suppress(JournalError):  # the run's own end is written until it is on disk
            await self._journal.append("terminal", record)

    def _forget(self) -> None:
        ended = [one.run_id for one in self._known.values() if one.ended]
        for run_id in ended[:-_REMEMBERED]:
            del self._known[run_id]


async def _note_leader(executor: Executor, start: RunStart) -> None:
    """Store a process from which recovery finds everything in the terminal."""
    if executor.adopter is not None:
        pid, ticks = executor.adopter
        await start.identified(pid, pid, ticks)


async def _first(
    terminal: Terminal, executor: Executor, wait_s: float, *, over_only: bool = False
) -> str:
    """Wait for a reason to end a terminal; return it in words, ``""`` if none came in time."""
    words = {
        asyncio.ensure_future(terminal.exited.wait()): "the shell has ended",
        asyncio.ensure_future(executor.completed.wait()): TERMINATED,
    }
    if not over_only:
        words[asyncio.ensure_future(terminal.unwanted.wait())] = "it was cancelled"
    try:
        done, _ = await asyncio.wait(words, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in words:
            one.cancel()
    return next((word for one, word in words.items() if one in done), "")


def _check_terminal(fd: int) -> None:
    """Check that an executor sent a terminal, and nothing else.

    Raises:
        SpawnError: it did not.
    """
    found = os.fstat(fd)
    device = (os.major(found.st_rdev), os.minor(found.st_rdev))
    if not stat.S_ISCHR(found.st_mode) or device != _MULTIPLEXER:
        raise SpawnError("the executor sent something other than a terminal")


def _finished(terminal: Terminal, duration_ms: int) -> Finished:
    code, stream = terminal.code, terminal.stream
    cancelled = terminal.unwanted.is_set()
    shown, typed = (0, 0) if stream is None else (stream.total, stream.typed)
    words = f"sayso: {terminal.ended}; {shown} bytes were shown, {typed} typed\n"
    signalled = _SIGTERM if code is None else -code if code < 0 else None
    return Finished(
        terminal.run_id,
        code if code is not None and code >= 0 and not cancelled else None,
        _SIGTERM if cancelled else signalled,
        Output(words, words, len(words)),
        duration_ms,
        timed_out=terminal.ended == "the time is over",
        cancelled=cancelled,
    )
