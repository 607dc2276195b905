"""Wait for what another process or thread brings about."""

import time
from collections.abc import Callable
from typing import Any


def until(what: str, probe: Callable[[], Any], seconds: float = 15.0, pause: float = 0.02) -> Any:
    """Return the probe's first true answer; fail naming what was waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = probe()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError(f"waited {seconds} s for {what}")
