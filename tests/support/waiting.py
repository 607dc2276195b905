"""Wait for another task, thread or process to bring something about.

No limit here is a measurement: it only bounds the time until a failure is reported.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 30.0


def wait_until(
    what: str, probe: Callable[[], Any], seconds: float = PATIENCE_S, pause: float = 0.02
) -> Any:
    """Return the probe's first true answer; fail naming what was waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = probe()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError(f"waited {seconds} s for {what}")


async def until(met: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Wait until a condition holds.

    Raises:
        TimeoutError: it still does not hold after ``seconds``.
    """
    async with asyncio.timeout(seconds):
        while not met():
            await asyncio.sleep(0.01)
