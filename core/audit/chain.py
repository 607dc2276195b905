r"""Format each journal line, with the hash that ties it to the line before.

A line is canonical JSON (keys sorted by code point, no blanks, ASCII only) followed by a line feed.
``hash`` is the SHA-256 hex of the line's own bytes without its hash, ``{…}``, and comes last, so a
reader checks bytes and needs no canonicaliser; ``prev`` is the hash of the line before::

    {"at":"2026-01-31T08:00:00.000Z","kind":"decision",…,"prev":"…","seq":7,"hash":"…"}\n
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime

GENESIS = "0" * 64
"""What the first line has as ``prev``."""
RESERVED = frozenset(("at", "kind", "prev", "seq", "hash"))
_SEAL = b',"hash":"'
_END = b'"}\n'
_HASH = slice(-64 - len(_END), -len(_END))
_SEALED = len(_SEAL) + 64 + len(_END)
"""Bytes from the seal's start to the end of a line."""
_HEAD_FORM = "{seq:020d} {end:020d} {hash}\n"
HEAD_LENGTH = 20 + 1 + 20 + 1 + 64 + 1


class BrokenLine(ValueError):
    """A line is not what was written; the text says how."""


@dataclass(frozen=True, slots=True)
class Head:
    """The last line that was acknowledged: its number, its end in bytes, its hash."""

    seq: int = 0
    end: int = 0
    hash: str = GENESIS


def fields(record: dict[str, object]) -> dict[str, str]:
    """Encode a record's values, each as canonical JSON.

    Raises:
        ValueError: a key is reserved, or a value is not JSON (a NaN, a cycle).
        TypeError: a value is not JSON (an object).
    """
    taken = RESERVED & record.keys()
    if taken:
        raise ValueError(f"the journal sets {min(taken)!r} itself")
    return {key: _encoded(value) for key, value in record.items()}


def _encoded(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sealed(encoded: dict[str, str], kind: str, head: Head) -> tuple[bytes, Head]:
    """Return the line that follows ``head`` and the head that it makes."""
    own = {
        "at": f'"{now()}"',
        "kind": json.dumps(kind),
        "prev": f'"{head.hash}"',
        "seq": str(head.seq + 1),
    }
    pairs = sorted({**encoded, **own}.items())
    body = ("{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in pairs) + "}").encode(
        "ascii"
    )
    digest = hashlib.sha256(body).hexdigest()
    line = body[:-1] + _SEAL + digest.encode() + _END
    return line, Head(head.seq + 1, head.end + len(line), digest)


def now() -> str:
    """Return the time of day in RFC 3339, UTC, ms."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seal_of(line: bytes) -> str:
    """Return a line's hash after checking it against the line's bytes.

    Raises:
        BrokenLine: it is cut short, changed, or no journal line at all.
    """
    if not (line.endswith(_END) and line[-_SEALED:].startswith(_SEAL)):
        raise BrokenLine("it does not end in a hash and a line feed")
    digest = hashlib.sha256(line[:-_SEALED] + b"}").hexdigest()
    if digest.encode() != line[_HASH]:
        raise BrokenLine("its hash does not match its text: it was changed")
    return digest


def follows(line: bytes, head: Head) -> Head:
    """Return the head after a line, once the line is known to continue ``head``.

    Raises:
        BrokenLine: it is changed, out of order, or follows another line.
    """
    digest = seal_of(line)
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise BrokenLine("it is not JSON") from None
    if record.get("seq") != head.seq + 1:
        raise BrokenLine(f"its seq is {record.get('seq')}, {head.seq + 1} is due")
    if record.get("prev") != head.hash:
        raise BrokenLine("its prev is not the hash of the previous line")
    return Head(head.seq + 1, head.end + len(line), digest)


def head_text(head: Head) -> bytes:
    """Return the fixed-length text of the head file."""
    return _HEAD_FORM.format(seq=head.seq, end=head.end, hash=head.hash).encode()


def read_head(text: bytes) -> Head | None:
    """Read the head file's text; ``None`` if it is not one."""
    parts = text.split()
    if len(text) != HEAD_LENGTH or len(parts) != len(("seq", "end", "hash")):
        return None
    if not (parts[0].isdigit() and parts[1].isdigit()):
        return None
    return Head(int(parts[0]), int(parts[1]), parts[2].decode(errors="replace"))
