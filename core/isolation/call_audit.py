"""Write each call between gateway and executor to the journal: who, what, how large, how it ended.

The content of a call is never written: tokens, commands and output stay out of the journal.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from core.errors import JournalError
from core.ports import Journal

_log = logging.getLogger(__name__)
KIND = "executor"
_LONGEST_RESULT = 200


@dataclass(frozen=True, slots=True)
class Caller:
    """Which executor a call is to or from, and what that serves; empty before its first request."""

    executor: str
    user: str
    run: str = ""
    session: str = ""


@dataclass(slots=True)
class CallAudit:
    """The calls, in order; callers do not wait for the disk. ``debug`` also logs each of them."""

    journal: Journal
    debug: bool = False
    _queue: "asyncio.Queue[dict[str, object]]" = field(default_factory=asyncio.Queue)
    _writing: "asyncio.Task[None] | None" = None

    def note(self, who: Caller, method: str, size: int, result: str) -> None:
        """Record one call; ``size`` is that of its parameters in bytes."""
        record: dict[str, object] = {
            "executor": who.executor,
            "user": who.user,
            **({"run": who.run, "session": who.session} if who.run else {}),
            "method": method[:64],
            "bytes": size,
            "result": result[:_LONGEST_RESULT],
        }
        if self.debug:
            _log.info("executor %(executor)s of %(user)s: %(method)s %(result)s", record)
        self._queue.put_nowait(record)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def stop(self) -> None:
        """Return once everything is written."""
        await self._queue.join()
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    async def _write(self) -> None:
        while True:
            record = await self._queue.get()
            try:
                await self.journal.append(KIND, record)
            except JournalError as failure:  # decisions fail the same way, and then nothing runs
                _log.warning("a call of an executor is not in the journal: %s", failure)
            finally:
                self._queue.task_done()
