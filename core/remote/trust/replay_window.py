"""Refuse what was received before, is too old, or was issued before this service began.

A nonce is kept until its request would be too old anyway. What was issued before the service
started is refused, so a restart, which forgets the nonces, forgets nothing that could be replayed.
"""

import time
from collections import Counter, deque
from dataclasses import dataclass, field

from core.remote.denials import RemoteDenial
from core.remote.trust.envelope import LIFE_MS, Payload

SKEW_MS = 30_000
"""How far a sender's clock may run ahead of ours."""
MOST = 65_536
MOST_OF_ONE = 16_384


def wall_clock_ms() -> int:
    """Return epoch ms."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class Freshness:
    """The window in time, and the nonces received within it; bounded for each agent and in all."""

    started_ms: int = field(default_factory=wall_clock_ms)
    most: int = MOST
    most_of_one: int = MOST_OF_ONE
    _latest_ms: int = 0
    _heard: set[tuple[str, str]] = field(default_factory=set)
    _order: deque[tuple[int, str, str]] = field(default_factory=deque)
    _of_one: Counter[str] = field(default_factory=Counter)

    def stale(self, payload: Payload, now_ms: int | None = None) -> RemoteDenial | None:
        """Refuse a request that is too old, valid too long, in the future, or before the start."""
        now = self._forward(now_ms)
        life = payload.expires_ms - payload.issued_ms
        in_time = payload.issued_ms - SKEW_MS <= now < payload.expires_ms
        if in_time and 0 < life <= LIFE_MS and payload.issued_ms >= self.started_ms:
            return None
        return RemoteDenial.EXPIRED

    def repeated(self, payload: Payload, now_ms: int | None = None) -> RemoteDenial | None:
        """Record a request's nonce; refuse one that came before, or for which no room is left."""
        self._forget(self._forward(now_ms))
        agent, key = payload.agent_id, (payload.agent_id, payload.nonce)
        if key in self._heard:
            return RemoteDenial.REPLAYED
        if len(self._heard) >= self.most or self._of_one[agent] >= self.most_of_one:
            return RemoteDenial.TOO_MANY_REQUESTS
        self._heard.add(key)
        self._of_one[agent] += 1
        # Not its own expiry: the deque stays in order, and none is forgotten too early.
        self._order.append((self._latest_ms + SKEW_MS + LIFE_MS, *key))
        return None

    def _forward(self, now_ms: int | None) -> int:
        """Return the time, which never goes back: a clock that is set back revives nothing."""
        self._latest_ms = max(self._latest_ms, wall_clock_ms() if now_ms is None else now_ms)
        return self._latest_ms

    def _forget(self, now: int) -> None:
        while self._order and self._order[0][0] <= now:
            _, agent, nonce = self._order.popleft()
            self._heard.discard((agent, nonce))
            self._of_one[agent] -= 1
            if not self._of_one[agent]:
                del self._of_one[agent]
