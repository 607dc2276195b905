"""Run a gateway that writes a run's ending once, and forgets it if the store is away.

The negative control of ``test_endings``: this is what Sayso did before
``core.gate.journal.deferred``.
"""

import sys

from bot.cli import main
from core.gate.journal.deferred import Deferred
from core.model.identity import AgentId, ApprovalId
from core.model.result import Finished
from core.store.runs import runs


async def _finish(
    self: Deferred,
    run_id: ApprovalId,
    result: Finished,
    owner: str,
    agent: AgentId | None = None,
) -> None:
    await self.store.write(runs.finish, run_id, result, owner)


if __name__ == "__main__":
    Deferred.finish = _finish  # type: ignore[method-assign]  # the control takes the guard away
    sys.exit(main())
