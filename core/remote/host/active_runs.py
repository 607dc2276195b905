"""Count the runs under way for other machines, and enforce the caps on them (S4)."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.remote.denials import RemoteDenial
from core.remote.host.lease import Lease
from core.remote.trust.envelope import Payload
from core.trust.ids import new_id


@dataclass(slots=True)
class Session:
    """One run under way: whose it is, which request, since when (monotonic s).

    ``logged`` is set once the log has why it is being ended, or that it has ended.
    """

    agent_id: str
    machine_id: str
    request_id: str
    program: str
    lease: Lease
    run_id: str = field(default_factory=new_id)
    began: float = field(default_factory=time.monotonic)
    logged: asyncio.Event = field(default_factory=asyncio.Event)

    def owned_by(self, payload: Payload) -> bool:
        """Return whether a request is about this run and comes from the pair that started it."""
        return (self.agent_id, self.machine_id, self.request_id) == (
            payload.agent_id,
            payload.machine_id,
            payload.request_id,
        )

    @property
    def age_ms(self) -> int:
        """Return how long it has been under way."""
        return round((time.monotonic() - self.began) * 1000)


@dataclass(slots=True)
class Sessions:
    """All runs under way."""

    _active: dict[str, Session] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._active.values()))

    def __len__(self) -> int:
        return len(self._active)

    def full(self, payload: Payload, per_agent: int, total: int) -> RemoteDenial | None:
        """Refuse one run too many, or a request id that is under way already."""
        own = [one for one in self if one.agent_id == payload.agent_id]
        if any(one.request_id == payload.request_id for one in own):
            return RemoteDenial.REPLAYED
        if len(own) >= per_agent or len(self._active) >= total:
            return RemoteDenial.CONCURRENCY_LIMIT
        return None

    def find(self, payload: Payload) -> Session | None:
        """Return the run that a request may be about."""
        return next((one for one in self if one.owned_by(payload)), None)

    @contextmanager
    def holding(self, session: Session) -> Iterator[Session]:
        """Count a run for as long as the block lasts."""
        self._active[session.run_id] = session
        try:
            yield session
        finally:
            del self._active[session.run_id]
            session.lease.release()
            session.logged.set()
