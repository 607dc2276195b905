"""Limit how many bytes of requests a gateway holds in memory at a time.

A short request costs nothing here. The bytes of a frame beyond ``FREE``, whether it is complete or
still being read, count until it is answered: for all connections of a socket, and for each holder
of its slots (``core.ipc.connection_slots``). Otherwise a few hundred connections, each with half a
frame of the largest size, would take gigabytes.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

from core.ipc.connection_slots import holders
from core.ipc.peer import Peer

FREE = 1 << 16
"""Bytes of a frame that do not count; the buffer of each connection."""
MOST = 128 << 20
MOST_OF_ONE = 64 << 20


@dataclass(slots=True)
class Room:
    """The bytes of long requests on one socket, ``shared`` by several users or the owner's own."""

    shared: bool = False
    most: int = MOST
    most_of_one: int = MOST_OF_ONE
    _held: Counter[Hashable] = field(default_factory=Counter)
    _total: int = 0

    def take(self, peer: Peer, size: int) -> bool:
        """Hold this many more bytes for a peer; ``False``: no room is left, and nothing is held."""
        if not self.shared and self._total + size > self.most:
            return False
        accounts = holders(peer, shared=self.shared)
        if any(self._held[one] + size > self.most_of_one for one in accounts):
            return False
        for one in accounts:
            self._held[one] += size
        self._total += size
        return True

    def give_back(self, peer: Peer, size: int) -> None:
        """Release this many bytes of a peer's."""
        self._total -= size
        for one in holders(peer, shared=self.shared):
            self._held[one] -= size
            if self._held[one] <= 0:
                del self._held[one]
