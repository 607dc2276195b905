"""Check a journal offline: ``python -m core.audit.verify FILE`` needs the standard library only.

The chain shows every change, deletion and reordering inside the file. Lines cut off at its end
leave a whole chain behind: they show against ``FILE.head`` (kept by the gateway) or against a hash
that was noted elsewhere. Whoever can write both files can forge both: note ``head`` off the host.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from core.audit.chain import GENESIS, BrokenLine, Head, follows, read_head

_LONGEST_LINE = 16 << 20
_SETTLE_S = 0.05
_SETTLE_TRIES = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a journal is whole; ``head`` is the hash of the last good line.

    ``first_bad_line`` counts from 1 and is ``None`` if the journal is whole, or cannot be read.
    """

    ok: bool
    records: int
    first_bad_line: int | None
    why: str
    head: str


def verify(path: Path, expected: Head | None = None) -> Verdict:
    """Read a journal from first to last line and check each against the one before.

    ``expected`` is a head noted elsewhere; by default the one in ``FILE.head``, if it is there.
    """
    known = expected
    try:
        known = expected or _noted(path)
        with path.open("rb") as file:
            return _walk(file, known)
    except FileNotFoundError as error:
        return _missing(known) if known is not None and known.seq else _unread(error)
    except OSError as error:
        return _unread(error)


def _unread(error: OSError) -> Verdict:
    why = f"cannot be read: {error.strerror}"
    return Verdict(ok=False, records=0, first_bad_line=None, why=why, head=GENESIS)


def _noted(path: Path) -> Head | None:
    note = path.with_name(path.name + ".head")
    return read_head(note.read_bytes()) if note.exists() else None


def _walk(file: BinaryIO, known: Head | None) -> Verdict:
    head = Head()
    for line in _lines(file):
        try:
            after = follows(line, head)
        except BrokenLine as broken:
            return _bad(head, str(broken))
        if known is not None and after.seq == known.seq and after.hash != known.hash:
            return _bad(head, "it is not the line that was acknowledged: the file was rewritten")
        head = after
    if known is not None and head.seq < known.seq:
        return _bad(head, _left(known, head))
    return Verdict(ok=True, records=head.seq, first_bad_line=None, why="", head=head.hash)


def _bad(head: Head, why: str) -> Verdict:
    return Verdict(False, head.seq, head.seq + 1, why, head.hash)


def _missing(known: Head) -> Verdict:
    """Judge a journal that is away while its note says what stood in it."""
    return _bad(Head(), _left(known, Head()))


def _left(known: Head, head: Head) -> str:
    return f"{known.seq} lines were acknowledged, {head.seq} are left: cut off"


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE):
        yield line if line.endswith(b"\n") else line + _rest(file)


def _rest(file: BinaryIO) -> bytes:
    """Give a gateway that is just writing the moment it needs to end its line."""
    rest = b""
    for _ in range(_SETTLE_TRIES):
        rest += file.readline(_LONGEST_LINE)
        if rest.endswith(b"\n"):
            break
        time.sleep(_SETTLE_S)
    return rest


def main(arguments: list[str]) -> int:
    """Print the verdict on one journal; exit code 0 if it is whole, 1 if not, 2 if unread."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m core.audit.verify FILE\n")
        return 2
    verdict = verify(Path(arguments[0]))
    if verdict.ok:
        sys.stdout.write(f"ok: {verdict.records} records, head {verdict.head}\n")
        return 0
    if verdict.first_bad_line is None:
        sys.stderr.write(f"{arguments[0]} {verdict.why}\n")
        return 2
    where = f"line {verdict.first_bad_line}"
    sys.stdout.write(f"broken: {where}: {verdict.why}; {verdict.records} good records before it\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
