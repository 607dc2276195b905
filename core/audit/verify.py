"""Check a journal offline: ``python -m core.audit.verify FILE`` needs the standard library only.

The chain shows every change, deletion and reordering inside the file and across its segments. Lines
cut off at its end leave a whole chain behind: they show against ``FILE.head`` (kept by the gateway)
or against a hash that was noted elsewhere. Whoever can write both files can forge both: note
``head`` off the host.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from filecmp import cmp
from pathlib import Path
from typing import BinaryIO

from core.audit.chain import GENESIS, BrokenLine, Head, follows, read_head
from core.audit.segments import Start, finished, is_one_file, segment_path, start_in, start_of

_LONGEST_LINE = 16 << 20
_SETTLE_S = 0.05
_SETTLE_TRIES = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a journal is whole; ``head`` is the hash of the last good line.

    ``first_bad_line`` counts from 1 in the file named ``file``; it is ``None`` if the journal is
    whole, or cannot be read. ``records`` counts the good ones that were read, ``segments`` the
    files that were read to their end. ``end_checked``: lines cut off at the end would have shown.
    """

    ok: bool
    records: int
    first_bad_line: int | None
    why: str
    head: str
    file: str = ""
    segments: int = 1
    end_checked: bool = False

    @property
    def unchecked(self) -> str:
        """Return what was not checked in a journal that is whole, empty if everything was."""
        if not self.ok or self.end_checked:
            return ""
        return "whether lines are missing at its end was not checked: its .head file is missing"


def verify(path: Path, expected: Head | None = None, first: int = 1) -> Verdict:
    """Read a journal from first to last line and check each against the one before.

    ``expected`` is a head noted elsewhere; by default the one in ``FILE.head``, if it exists.
    ``first`` is the oldest segment that should be there; what older ones held is taken on trust.
    """
    known = expected
    try:
        # Read before the journal is opened: what it names is in the file then, rotated or not.
        known = expected or _noted(path)
        with path.open("rb") as file:
            return _Walk(path, known, first).verdict(file)
    except FileNotFoundError as error:
        return _missing(path, known) if known is not None and known.seq else _unread(error)
    except OSError as error:
        return _unread(error)


def _unread(error: OSError) -> Verdict:
    why = f"cannot be read: {error.strerror}"
    return Verdict(ok=False, records=0, first_bad_line=None, why=why, head=GENESIS)


def _noted(path: Path) -> Head | None:
    note = path.with_name(path.name + ".head")
    return read_head(note.read_bytes()) if note.exists() else None


def _missing(path: Path, known: Head) -> Verdict:
    """Judge a journal that is missing while its note says what was in it."""
    return Verdict(False, 0, 1, _left(known, Head()), GENESIS, path.name, 0)


def _left(known: Head, head: Head) -> str:
    return f"{known.seq} lines were acknowledged, {head.seq} are left: cut off"


@dataclass(slots=True)
class _Walk:
    """The way through all segments: the last good line, and where the present file begins."""

    path: Path
    known: Head | None
    first: int
    head: Head = field(default_factory=Head)
    begin: int = 0
    origin: int = 0
    files: int = 0

    def verdict(self, last: BinaryIO) -> Verdict:
        """Walk the segments and then ``last``, the file being written, which is open."""
        newest = start_in(last).number
        if newest < self.first:
            return self._bad(self.path.name, f"it is segment {newest}, before {self.first}", 1)
        odd = self._not_continued(last, newest)
        if odd is not None:
            return odd
        for number in range(self.first, newest):
            segment = segment_path(self.path, number)
            try:
                with segment.open("rb") as file:
                    bad = self._through(file, segment.name, number)
            except FileNotFoundError:
                bad = self._bad(segment.name, f"segment {number} is missing", 1)
            if bad is not None:
                return bad
        return self._through(last, self.path.name, newest) or self._end()

    def _not_continued(self, last: BinaryIO, newest: int) -> Verdict | None:
        """Find a segment that the newest file does not know of, unless it is that file itself.

        A rotation that a crash stopped leaves the file with both names until the next start.
        """
        for number, segment in finished(self.path).items():
            if number < newest or is_one_file(segment, last.fileno()):
                continue
            if not cmp(segment, self.path, shallow=False):
                why = f"it does not continue {segment.name}: it was emptied or replaced"
                return self._bad(self.path.name, why, 1)
        return None

    def _through(self, file: BinaryIO, name: str, number: int) -> Verdict | None:
        """Follow the chain to a file's end; return the verdict if it is broken."""
        self.begin, self.head = self.head.seq, Head(self.head.seq, 0, self.head.hash)
        for line in _lines(file):
            try:
                if self.head.end == 0:
                    self._expect(start_of(line), number)
                after = follows(line, self.head)
            except BrokenLine as broken:
                return self._bad(name, str(broken))
            known = self.known
            if known is not None and after.seq == known.seq and after.hash != known.hash:
                why = "it is not the line that was acknowledged: the file was rewritten"
                return self._bad(name, why)
            self.head = after
        self.files += 1
        return None

    def _expect(self, start: Start, number: int) -> None:
        """Check that a file is the segment that its name says.

        Raises:
            BrokenLine: it is another one.
        """
        if start.number != number:
            raise BrokenLine(f"it begins segment {start.number}, {number} is due")
        if number == self.first:
            self.begin = self.origin = start.head.seq
            self.head = start.head

    def _end(self) -> Verdict:
        known = self.known
        if known is not None and self.head.seq < known.seq:
            return self._bad(self.path.name, _left(known, self.head))
        checked = known is not None and known.seq > 0
        return Verdict(True, self._records(), None, "", self.head.hash, "", self.files, checked)

    def _bad(self, name: str, why: str, line: int | None = None) -> Verdict:
        line = self.head.seq - self.begin + 1 if line is None else line
        return Verdict(False, self._records(), line, why, self.head.hash, name, self.files)

    def _records(self) -> int:
        """Return how many good records were read."""
        return self.head.seq - self.origin


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
        parts = f" in {verdict.segments} segments" if verdict.segments > 1 else ""
        sys.stdout.write(f"ok: {verdict.records} records{parts}, head {verdict.head}\n")
        if verdict.unchecked:
            sys.stdout.write(f"note: {verdict.unchecked}\n")
        return 0
    if verdict.first_bad_line is None:
        sys.stderr.write(f"{arguments[0]} {verdict.why}\n")
        return 2
    where = f"line {verdict.first_bad_line}"
    if verdict.file != Path(arguments[0]).name:
        where = f"{verdict.file} {where}"
    sys.stdout.write(f"broken: {where}: {verdict.why}; {verdict.records} good records before it\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
