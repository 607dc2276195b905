"""Run a gateway that cuts its delivery off when it stops; the control of ``test_endings``."""

import asyncio
import sys

from bot.cli import main
from core.gate.journal.deferred import Deferred

CUT_OFF = "the delivery was cut off"
"""What it says once nothing will be delivered."""


async def _close(self: Deferred) -> None:
    if self._delivery is not None:
        self._delivery.cancel()
        await asyncio.gather(self._delivery, return_exceptions=True)
    print(CUT_OFF, flush=True)


if __name__ == "__main__":
    Deferred.close = _close  # type: ignore[method-assign]  # the control takes the guard away
    sys.exit(main())
