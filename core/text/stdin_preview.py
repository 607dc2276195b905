"""Show what a request puts on standard input: to many programs it is the command itself."""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from core.model.command import ExecPlan
from core.text.escape import Redacted, redact
from core.text.secrets import Piece, mark, pieces

INPUT_HEAD, INPUT_LINE = "   ╔ ", "   ║ "
"""What starts the block and each line of it; boxes are escaped in commands and in input."""

LONGEST_INPUT = 200_000
"""Bytes, beyond which nobody reads: the command can only be denied."""

_BYTES_A_LINE = 32
_KEPT = 64


def input_text(plan: ExecPlan) -> Redacted:
    """Return the whole of standard input in a frame, its bytes as escapes where it is not text.

    Empty where nothing is read; without the content where that is longer than ``LONGEST_INPUT``.
    """
    return _framed(plan.stdio.stdin) if plan.stdio.stdin else Redacted("")


def shows_input(plan: ExecPlan) -> bool:
    """Return whether standard input is short enough to be shown whole."""
    return len(plan.stdio.stdin or b"") <= LONGEST_INPUT


@lru_cache(_KEPT)
def _framed(data: bytes) -> Redacted:
    unit = "byte" if len(data) == 1 else "bytes"
    head = f"standard input: {len(data):,} {unit}"
    if len(data) > LONGEST_INPUT:
        return _block(head, "(too long to be shown)")
    try:
        return _block(head, redact(data.decode(), multiline=True).text.removesuffix("\n"))
    except UnicodeDecodeError:
        found = tuple(pieces(data.decode("latin-1")))
        # A hash next to a masked secret would confirm a guess.
        masked = any(piece.kind for piece in found)
        digest = "" if masked else f", SHA-256 {sha256(data).hexdigest()}"
        return _block(f"{head}, binary, shown in hex{digest}", _in_hex(found))


def _block(head: str, content: str) -> Redacted:
    lines = (INPUT_HEAD + head, *(INPUT_LINE + line for line in content.split("\n")))
    return Redacted("\n".join(lines))


def _in_hex(found: Iterable[Piece]) -> str:
    """Escape every byte, and mask what would be a secret; a mark is on a line of its own."""
    lines: list[str] = []
    for piece in found:
        if piece.kind:
            lines.append(mark(piece.kind))
            continue
        data = piece.text.encode("latin-1")
        starts = range(0, len(data), _BYTES_A_LINE)
        lines += (
            "\\x" + data[at : at + _BYTES_A_LINE].hex("x").replace("x", "\\x") for at in starts
        )
    return "\n".join(lines)
