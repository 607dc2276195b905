"""Find the segments of a journal: ``FILE.000001`` is the oldest, ``FILE`` the one being written.

A segment that is not the first begins with a record of kind ``segment``, which names its number,
the segment before and its last hash; ``seq`` and ``prev`` continue as if it were one file.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from core.audit.chain import BrokenLine, Head, fields, seal_of, sealed

SEGMENT = "segment"
"""The kind of the record that begins a segment."""
_SUFFIX = re.compile(r"\.([0-9]{6,})")
_NAMED = re.compile(rf".*{_SUFFIX.pattern}")
_LONGEST_FIRST = 1 << 16


@dataclass(frozen=True, slots=True)
class Start:
    """Where a file of a journal begins: the segment's number, and the head that it continues."""

    number: int = 1
    head: Head = field(default_factory=Head)


def segment_path(path: Path, number: int) -> Path:
    """Return the file of a finished segment; ``path`` is the journal's."""
    return path.with_name(f"{path.name}.{number:06d}")


def number_of(path: Path) -> int:
    """Return the number in a segment's file name; 1 where it has none."""
    named = _NAMED.fullmatch(path.name)
    return int(named[1]) if named is not None else 1


def finished(path: Path) -> dict[int, Path]:
    """Return the finished segments next to a journal, by number, the oldest first.

    Raises:
        OSError: the folder cannot be read.
    """
    found = {}
    for file in path.parent.iterdir():
        suffix = file.name.removeprefix(path.name)
        named = _SUFFIX.fullmatch(suffix) if file.name != suffix else None
        if named is not None:
            found[int(named[1])] = file
    return dict(sorted(found.items()))


def first_line(start: Start, previous: Path, by: str) -> tuple[bytes, Head]:
    """Return the line that begins a segment, and the head that it makes; ``by`` is who rotated."""
    record: dict[str, object] = {
        "by": by,
        "previous": previous.name,
        "previous_hash": start.head.hash,
        "segment": start.number,
    }
    return sealed(fields(record), SEGMENT, start.head)


def start_of(line: bytes) -> Start:
    """Read where a file begins from its first line; a line that says nothing begins a journal."""
    try:
        seal_of(line)
        record = json.loads(line)
    except (BrokenLine, ValueError, RecursionError):
        return Start()
    number, seq, prev = (record.get(key) for key in ("segment", "seq", "prev"))
    if record.get("kind") != SEGMENT or record.get("previous_hash") != prev:
        return Start()
    if not (isinstance(number, int) and isinstance(seq, int) and isinstance(prev, str)):
        return Start()
    return Start(number, Head(seq - 1, 0, prev))


def start_in(file: BinaryIO) -> Start:
    """Read where an open file begins, and go back to its beginning."""
    file.seek(0)
    start = start_of(file.readline(_LONGEST_FIRST))
    file.seek(0)
    return start


def newest_first(path: Path) -> Iterator[BinaryIO]:
    """Yield the journal's file and then its segments, each open; end where one is missing.

    A rotation meanwhile neither hides nor repeats a record: the open file says which segment it is.

    Raises:
        OSError: the journal's file cannot be read.
    """
    with path.open("rb") as file:
        number = start_in(file).number
        yield file
    with suppress(FileNotFoundError):
        for earlier in range(number - 1, 0, -1):
            with segment_path(path, earlier).open("rb") as file:
                yield file


def is_one_file(path: Path | str, file: int, folder: int | None = None) -> bool:
    """Return whether a path names the file that is open as ``file``, in an open ``folder``."""
    try:
        named = os.stat(path, dir_fd=folder, follow_symlinks=False)
        return os.path.samestat(named, os.fstat(file))
    except FileNotFoundError:
        return False
