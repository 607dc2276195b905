"""Keep what an agent says, for its record and for those who follow it."""

import asyncio
from collections.abc import AsyncIterator

from core.model.result import LiveOutput, Output, OutputChunk, StreamName

_MOST = 200_000
_TAIL = 20_000


class Said:
    """Text in the order in which it arrived: its first characters and its last."""

    def __init__(self) -> None:
        self._text = ""
        self._tail = ""
        self._total = 0
        self._over = False
        self._news = asyncio.Event()

    def add(self, text: str) -> None:
        """Add a piece."""
        self._total += len(text.encode(errors="replace"))
        self._text += text[: max(0, _MOST - len(self._text))]
        self._tail = (self._tail + text)[-_TAIL:]
        self._ring()

    def add_line(self, text: str) -> None:
        """Add text as a separate line."""
        self.add(("" if not self._tail or self._tail.endswith("\n") else "\n") + text + "\n")

    def end(self) -> None:
        """Mark the end: those who follow read to it and finish."""
        self._over = True
        self._ring()

    @property
    def full(self) -> bool:
        """Return whether the part kept from the beginning is full."""
        return len(self._text) >= _MOST

    @property
    def live(self) -> LiveOutput:
        """Return the last part of the text."""
        return LiveOutput(self._tail, self._total)

    @property
    def output(self) -> Output:
        """Return the text as the output of a run."""
        kept = len(self._text.encode(errors="replace"))
        return Output(self._text, self._tail, self._total, truncated=self._total > kept)

    async def chunks(self) -> AsyncIterator[OutputChunk]:
        """Yield all that is kept, from start to end."""
        read = 0
        while True:
            news, over = self._news, self._over
            if read < len(self._text):
                piece, read = self._text[read:], len(self._text)
                yield OutputChunk(StreamName.OUTPUT, piece.encode(errors="replace"))
            if over:
                return
            await news.wait()

    def _ring(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
