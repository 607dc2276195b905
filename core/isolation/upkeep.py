"""Support the pool of executors: wait for places, check who answers, end what one left behind."""

import asyncio
import logging
from collections.abc import Awaitable, Collection, Sequence
from dataclasses import dataclass

from core.errors import HostUnavailable, SaysoError
from core.isolation import wire
from core.isolation.client import CallFailed, ExecutorGone
from core.isolation.executor import Executor
from core.isolation.process import unavailable
from core.planning.environment import RUN_MARK

_log = logging.getLogger(__name__)
_STUCK = (
    "executor %s of %s cannot be ended, and keeps its place until it has: it, or %s processes that "
    "it left, wait for a device"
)


@dataclass(frozen=True, slots=True)
class Options:
    """How executors are kept; ``build`` is the name of an executor of this version.

    ``warm_spare`` keeps one for each user who ran something within ``idle_timeout_s``: it is
    started before its request is known, and used once, like every other.
    """

    build: str
    max_executors: int = 10
    idle_timeout_s: float = 60.0
    warm_spare: bool = False
    connection_timeout_s: float = 5.0


def warn_of_loose(executor: Executor) -> None:
    """Log that an executor is not in the cgroup made for it: sudo may have forked to start it."""
    if executor.cgroup is not None and not executor.cgroup.holds(executor.client.pid):
        _log.warning("executor %s of %s is in no cgroup of its own", executor.id, executor.user)


async def failure(
    executor: Executor, uid: int, answer: Awaitable[wire.Object], patience_s: float
) -> str:
    """Wait for the answer to a ping; return why it cannot be trusted, ``""`` if it can."""
    try:
        executor.closed = (await answer).get("closed") is True
    except TimeoutError:
        return f"it did not answer within {patience_s * 1000:.0f} ms"
    except (CallFailed, ExecutorGone) as failed:
        await executor.process.ended(1)
        return executor.process.words() or str(failed)
    if executor.client.uid != uid:
        return f"the process that answered is of user {executor.client.uid}"
    return ""


@dataclass(frozen=True, slots=True)
class Patience:
    """How a user waits for a place; ``stuck`` are all users' executors that cannot be ended.

    Those count against their own user only: a command may stop its user's executors (SIGSTOP)
    while they start, and must not lock the other users out. Once they have all places of that user,
    none of its runs waits for one, because it would keep the runs that are queued after it waiting.
    """

    user: str
    stuck: Collection[Executor]

    def is_full(self, live: Collection[Executor], most: int) -> bool:
        """Return whether no place is left, of ``most`` for all users."""
        own = sum(one.user == self.user for one in live)
        return max(own, len(live) - len(self.stuck)) >= most

    async def wait(self, gone: asyncio.Event, most: int) -> None:
        """Wait until some executor has ended.

        Raises:
            HostUnavailable: those that cannot be ended have all ``most`` places of this user.
        """
        held = lost(self.user, self.stuck)
        if held >= most:
            why = f"{held} of its executors cannot be ended and keep their places"
            raise HostUnavailable(unavailable(self.user, why))
        await gone.wait()


def lost(user: str, stuck: Collection[Executor]) -> int:
    """Return how many places a user's executors keep that cannot be ended."""
    return sum(one.user == user for one in stuck)


def report(executor: str, user: str, left: int) -> None:
    """Log that an executor still runs although it was killed."""
    _log.error(_STUCK, executor, user, left)


def params(run_id: str, leaders: Sequence[object]) -> wire.Object:
    """Return the parameters that identify a run to an executor."""
    return {"mark": f"{RUN_MARK}={run_id}", "leaders": leaders}


async def ended(run_id: str, answer: Awaitable[wire.Object]) -> bool:
    """Wait until what was left of a run has ended; return whether the executor still answers."""
    try:
        if (await answer).get("left"):
            _log.error("run %s left processes that cannot be ended", run_id)
    except (SaysoError, TimeoutError) as failure:
        _log.error("what run %s left may still be running: %s", run_id, failure)
        return not isinstance(failure, TimeoutError)
    return True
