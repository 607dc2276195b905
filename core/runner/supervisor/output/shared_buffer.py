"""Share the first bytes of a stream with the gateway.

Both sides map the same memory, so that neither watching nor a result, however large, goes through
the socket or delays a run. A bell (eventfd) counts the bytes: a reader takes as many as it reports.
"""

import mmap
import os


class Shelf:
    """The supervisor's end: room for the first bytes, then nothing more."""

    __slots__ = ("_bell", "_room", "kept")

    def __init__(self, memory: int, bell: int) -> None:
        self._room = mmap.mmap(memory, 0)
        self._bell = bell
        self.kept = 0

    @property
    def full(self) -> bool:
        """Return whether nothing more is kept."""
        return self.kept == len(self._room)

    def put(self, data: memoryview | bytearray) -> None:
        """Keep what fits, and ring."""
        count = min(len(data), len(self._room) - self.kept)
        if count:
            self._room[self.kept : self.kept + count] = data[:count]
            self.kept += count
            os.eventfd_write(self._bell, count)

    def close(self) -> None:
        """Release the memory; the gateway still has it."""
        self._room.close()
