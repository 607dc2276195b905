"""Limit the connections of one socket so that no client keeps the others out.

::

    connects ─▶ waits (the oldest of too many gives way) ─ its first request ─▶ a place: served
                  └ says nothing for long: closed           └ none left: urgent methods alone

A connection that has sent nothing has no place. When none is left, the place of a connection with
nothing in flight is given to another; those with a request in flight keep theirs. One process, one
session of processes or, on a shared socket, one user cannot take all of them. In addition, some are
kept for terminals, a few for each: a program of the same user can easily hold many connections, but
a terminal's foreground does not do so by accident.
"""

import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Protocol

from core.ipc.peer import Peer

MOST_WAITING = 128
"""Connections without a place. Far fewer must be accepted in one turn of the loop."""
MOST_URGENT = 32
"""Urgent requests at a time from connections without a place."""
_KEPT_FROM_ONE = 8
"""One process, or one session of processes, leaves one place in this many to others."""
FOR_TERMINALS, FOR_ONE_TERMINAL = 16, 4
_MOST_OF_A_USER, _LEAST_OF_A_USER = 64, 4
_IDLE_S = 1.0


class SlotHolder(Protocol):
    """A connection, as seen by what gives out places."""

    peer: Peer

    @property
    def in_flight(self) -> int:
        """Return how many requests it has not answered yet."""

    @property
    def used_s(self) -> float:
        """Return when its last request ended, or when it connected (monotonic seconds)."""

    def dismiss(self, why: str) -> None:
        """Send the reason for closing it, and close it."""


def holders(peer: Peer, *, shared: bool) -> tuple[Hashable, ...]:
    """Return whom a connection counts against: its process and session, or its user."""
    if shared:
        return (peer.uid,)
    return (peer.pid, peer.start_ticks), peer.session


@dataclass(slots=True)
class Places:
    """The places of one socket and who has them: ``most``, and some more for terminals.

    ``urgent`` are the methods that need none. ``users`` is the number of users that a shared socket
    serves, 0 for the owner's own.
    """

    most: int
    urgent: frozenset[str] = frozenset()
    users: int = 0
    _waiting: dict[SlotHolder, None] = field(default_factory=dict)
    _placed: dict[SlotHolder, tuple[Hashable, ...]] = field(default_factory=dict)
    _terminals: dict[SlotHolder, int] = field(default_factory=dict)

    def arrive(self, holder: SlotHolder) -> None:
        """Let a connection wait for its first request; the oldest that waits may be dismissed."""
        self._waiting[holder] = None
        if len(self._waiting) > MOST_WAITING:
            oldest = next((one for one in self._waiting if not one.in_flight), holder)
            del self._waiting[oldest]
            oldest.dismiss("too many connections are waiting; this one sent no request")

    def leave(self, holder: SlotHolder) -> None:
        """Forget a connection that has ended."""
        self._waiting.pop(holder, None)
        self._placed.pop(holder, None)
        self._terminals.pop(holder, None)

    def waits(self, holder: SlotHolder) -> bool:
        """Return whether a connection has no place."""
        return holder in self._waiting

    def refusal(self, holder: SlotHolder, method: str) -> str | None:
        """Return why a request is not served now, ``None`` if it is."""
        if holder in self._placed or holder in self._terminals:
            return None
        if holder not in self._waiting:
            return "this connection is being closed"
        if self._seat(holder):
            return None
        if method not in self.urgent:
            return self._full(holder)
        if sum(one.in_flight for one in self._waiting) >= MOST_URGENT:
            return f"{MOST_URGENT} urgent requests are in flight; try again"
        return None

    def _seat(self, holder: SlotHolder) -> bool:
        """Give a connection a place if there is one for it."""
        accounts = holders(holder.peer, shared=bool(self.users))
        full = {one for one in accounts if self._count(one) >= self._share}
        if (full and not self._clear(full)) or (
            len(self._placed) >= self.most and not self._clear(set())
        ):
            return self._seat_at_terminal(holder)
        self._placed[holder] = accounts
        del self._waiting[holder]
        return True

    def _seat_at_terminal(self, holder: SlotHolder) -> bool:
        terminal = holder.peer.terminal
        taken = list(self._terminals.values())
        if self.users or not terminal or len(taken) >= FOR_TERMINALS:
            return False
        if taken.count(terminal) >= FOR_ONE_TERMINAL:
            return False
        self._terminals[holder] = terminal
        del self._waiting[holder]
        return True

    @property
    def _share(self) -> int:
        """Return how many places one holder may have."""
        if self.users:
            return max(_LEAST_OF_A_USER, min(_MOST_OF_A_USER, self.most // self.users))
        return self.most - self.most // _KEPT_FROM_ONE

    def _count(self, holder: Hashable) -> int:
        return sum(holder in holders for holders in self._placed.values())

    def _clear(self, holders: set[Hashable]) -> bool:
        """Take the place of an idle connection of these holders, first from the one with most."""
        idle_since = time.monotonic() - _IDLE_S
        idle = [
            one
            for one, held in self._placed.items()
            if not one.in_flight and one.used_s < idle_since and holders.issubset(held)
        ]
        if not idle:
            return False
        sizes = {held: self._count(held[-1]) for held in {self._placed[one] for one in idle}}
        victim = min(idle, key=lambda one: (-sizes[self._placed[one]], one.used_s))
        del self._placed[victim]
        victim.dismiss("too many connections, and this one was idle; reconnect")
        return True

    def _full(self, holder: SlotHolder) -> str:
        """Return the message for a connection that finds no place, naming who holds most."""
        if self.users and self._count(holder.peer.uid) >= self._share:
            return f"{self._share} connections of uid {holder.peer.uid} are open; close some"
        pids = [one.peer.pid for one in self._placed]
        worst = max(set(pids), key=pids.count, default=0)
        return (
            f"{len(pids)} connections are open, {pids.count(worst)} of them of process {worst}; "
            f"close some"
        )
