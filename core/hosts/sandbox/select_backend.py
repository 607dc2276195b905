"""Choose a backend that a probe proved to work; never run without one, or with an unproven one."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from core.errors import HostUnavailable
from core.hosts.sandbox.backend import Backend

_log = logging.getLogger(__name__)

_DOUBT_S = 2.0
"""How long a failure is believed before the backends are probed again."""

Prove = Callable[[Backend], Awaitable[str]]
"""Return why a backend does not work here, ``""`` if it does."""


class Choice:
    """The backends in the order of preference, and the one that was proven last.

    ``missing`` are reasons known beforehand, for backends that could not even be tried.
    """

    def __init__(self, backends: Sequence[Backend], missing: Sequence[str], prove: Prove) -> None:
        self._backends = tuple(backends)
        self._missing = tuple(missing)
        self._prove = prove
        self._proven: Backend | None = None
        self._refusal = ""
        self._refused_at = -_DOUBT_S
        self._lock = asyncio.Lock()

    async def proven(self) -> Backend:
        """Return the backend to use, probed if need be.

        Raises:
            HostUnavailable: none works; the message has the reason of each.
        """
        if self._proven is not None:
            return self._proven
        async with self._lock:
            if self._proven is None:
                self._proven = await self._found()
            return self._proven

    def doubt(self, backend: Backend) -> None:
        """Have a backend probed again before its next run: it seems to have failed."""
        if self._proven is backend:
            self._proven = None

    async def _found(self) -> Backend:
        if time.monotonic() - self._refused_at < _DOUBT_S:
            raise HostUnavailable(self._refusal)
        reasons = list(self._missing)
        for backend in self._backends:
            why = await self._prove(backend)
            if not why:
                return backend
            reasons.append(f"{backend.name}: {why}")
            _log.warning("the sandbox %s does not work here: %s", backend.name, why)
        self._refused_at = time.monotonic()
        self._refusal = (
            f"no sandbox works here, and nothing runs without one ({'; '.join(reasons)}). "
            "Fix that, or request the host gateway"
        )
        raise HostUnavailable(self._refusal)
