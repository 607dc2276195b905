"""Keep the start and the end of what a run prints; count the rest."""

import codecs

from core.runner.supervisor.output.shared_buffer import Shelf

LARGEST_TEXT = 200_000
"""Characters of both streams together (S0 "Output caps")."""

LARGEST_TAIL = 20_000
"""Characters kept from the end for events (S0 "Output caps")."""

CUT = "… (truncated)"

_CONTINUATION = bytes(range(0x80, 0xC0))
_BYTES_A_CHARACTER = 4  # the longest UTF-8 sequence, so these byte bounds never cut too early

LARGEST_HEAD_BYTES = LARGEST_TEXT * _BYTES_A_CHARACTER
LARGEST_TAIL_BYTES = LARGEST_TAIL * _BYTES_A_CHARACTER


class Output:
    """A head and a ring of the tail; memory is bounded however much is added."""

    __slots__ = (
        "_head",
        "_head_bytes",
        "_shelf",
        "_tail",
        "_tail_bytes",
        "_text_cap",
        "total_bytes",
    )

    def __init__(self, text_cap: int = LARGEST_TEXT, tail_cap: int = LARGEST_TAIL) -> None:
        self._text_cap = text_cap
        self._head_bytes = text_cap * _BYTES_A_CHARACTER
        self._tail_bytes = tail_cap * _BYTES_A_CHARACTER
        self._head = bytearray()
        self._tail = bytearray()
        self._shelf: Shelf | None = None
        self.total_bytes = 0

    @property
    def full(self) -> bool:
        """Return whether the start is kept already, so that only the end still changes."""
        return len(self._head) >= self._head_bytes

    def show(self, shelf: Shelf) -> None:
        """Show the start to watchers, and what is added to it."""
        shelf.put(self._head)
        self._shelf = shelf

    def add(self, data: memoryview) -> None:
        """Add what was read, in the order in which it was printed."""
        self.total_bytes += len(data)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += data[:room]
            if self._shelf is not None:
                self._shelf.put(data[:room])
        if len(data) >= self._tail_bytes:
            self._tail = bytearray(data[len(data) - self._tail_bytes :])
            return
        self._tail += data
        if len(self._tail) > 2 * self._tail_bytes:  # trimming at twice the bound is amortised O(1)
            del self._tail[: -self._tail_bytes]

    def text(self) -> tuple[str, bool]:
        """Return the start as text, and whether it was cut (then it ends in ``CUT``)."""
        whole_kept = self.total_bytes <= len(self._head)
        # Not final: a character that the byte bound cut in two is left out, not shown as damage.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head, final=whole_kept)
        if whole_kept and len(text) <= self._text_cap:
            return text, False
        return text[: self._text_cap - len(CUT)] + CUT, True

    def tail(self) -> str:
        """Return the end as text."""
        ring = self._tail[-self._tail_bytes :]
        if self.total_bytes > len(ring):
            ring = ring[_cut_off(ring) :]
        return ring.decode("utf-8", "replace")[-(self._tail_bytes // _BYTES_A_CHARACTER) :]


def _cut_off(ring: bytearray) -> int:
    """Return how many leading bytes belong to a character that began before the ring."""
    start = ring[: _BYTES_A_CHARACTER - 1]
    return len(start) - len(start.lstrip(_CONTINUATION))
