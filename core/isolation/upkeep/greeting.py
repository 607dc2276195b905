"""Hear an executor for the first time: see that it answers, and whose it is."""

import logging
from collections.abc import Awaitable

from core.isolation import wire
from core.isolation.client import CallFailed, ExecutorGone
from core.isolation.executor import Executor

_log = logging.getLogger(__name__)


def warn_of_loose(executor: Executor) -> None:
    """Log that an executor is not in its cgroup, where it has one: sudo may have forked for it."""
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
