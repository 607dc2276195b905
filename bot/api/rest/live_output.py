"""Stream a run's output while it lasts: unchanged to its own agent, redacted to everybody else.

A secret may span two chunks, or several lines as a key does. So what is redacted is cut at line
ends, and held back while a block is open.
"""

import base64
import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field

from bot.intake.callers.caller import Caller
from bot.intake.results import outcomes
from core.model.result import OutputChunk, StreamName

_LONGEST = 64 * 1024
_BEGIN, _END = "-----BEGIN", "-----END"
_TOO_LONG = "(a line too long for live output)\n"


@dataclass(slots=True)
class _Held:
    """One stream: bytes of an incomplete character, text of an incomplete line.

    ``skipped_until`` is the mark up to which nothing is shown.
    """

    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")(errors="replace")
    )
    text: str = ""
    skipped_until: str = ""


@dataclass(slots=True)
class Live:
    """The output of one run for one caller."""

    caller: Caller
    _held: dict[StreamName, _Held] = field(default_factory=dict)

    def frames(self, chunk: OutputChunk) -> Iterator[dict[str, str]]:
        """Yield ``{"stream", "text"}`` for what may be shown by now.

        The run's own agent also gets the exact bytes, in base64 as ``data``.
        """
        held = self._held.setdefault(chunk.stream, _Held())
        text = held.text + held.decoder.decode(chunk.data)
        if outcomes.reads_output(self.caller):
            held.text = ""
            data = base64.b64encode(chunk.data).decode("ascii")
            yield {"stream": chunk.stream.value, "text": text, "data": data}
            return
        held.text = ""
        yield from self._shown(chunk.stream, _cut(held, text))

    def rest(self) -> Iterator[dict[str, str]]:
        """Yield what was held back, once the run has ended."""
        for stream, held in self._held.items():
            text, held.text = held.text + held.decoder.decode(b"", final=True), ""
            yield from self._shown(stream, "" if held.skipped_until else text)

    def _shown(self, stream: StreamName, text: str) -> Iterator[dict[str, str]]:
        if text:
            yield {"stream": stream.value, "text": outcomes.output(text, self.caller)}


def _cut(held: _Held, text: str) -> str:
    """Return what may be redacted and shown now, and hold back what has to wait for its end."""
    if held.skipped_until:
        skipped, found, text = text.partition(held.skipped_until)
        if not found:
            # The mark itself may arrive in two pieces.
            held.text = skipped[max(0, len(skipped) - len(held.skipped_until) + 1) :]
            return ""
        held.skipped_until = ""
    begin = text.rfind(_BEGIN)
    is_open = begin >= 0 and text.find(_END, begin) < 0
    end = text.rfind("\n", 0, begin if is_open else len(text)) + 1
    held.text = text[end:]
    if len(held.text) <= _LONGEST:
        return text[:end]
    # Half a secret would not be recognised: the long piece is left out to its end.
    held.text, held.skipped_until = "", _END if is_open else "\n"
    return text[:end] + _TOO_LONG
