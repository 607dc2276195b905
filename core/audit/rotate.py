"""End a journal's segment and begin the next, so that a crash at any step leaves both whole.

::

    FILE.next     the new segment with its first record: locked, on disk
    FILE.000001   a second name for the file that was written so far
    FILE          replaced by FILE.next: from here on the new segment counts

``FILE`` names a whole segment at every moment, so nobody finds it missing and starts another.
What a crash leaves behind before the last step is removed when the journal is next opened.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from core.audit.chain import Head
from core.audit.segments import Start, finished, first_line, is_one_file, segment_path, start_of
from core.errors import JournalError

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o600
_LONGEST_FIRST = 1 << 16


@dataclass(frozen=True, slots=True)
class Rotated:
    """A segment that was ended: its file, its number, and its last line's number and hash."""

    file: Path
    number: int
    seq: int
    hash: str


def next_path(path: Path) -> Path:
    """Return where the next segment is prepared."""
    return path.with_name(path.name + ".next")


def begin_next(path: Path, file: int, number: int, head: Head, by: str) -> tuple[int, Head]:
    """Replace the journal's file by a new segment; return its descriptor, locked, and its head.

    ``file`` is the segment so far, number ``number``, on disk up to ``head``. The folder is not
    synced: the caller does that before it appends anything.

    Raises:
        OSError: nothing changed.
    """
    ended, draft = segment_path(path, number), next_path(path)
    line, first = first_line(Start(number + 1, Head(head.seq, 0, head.hash)), ended, by)
    new = _prepared(draft, line)
    try:
        with _second_name(path, ended, file):
            sync_folder(path.parent)
            draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        os.close(new)
        raise
    return new, first


def _prepared(draft: Path, line: bytes) -> int:
    new = os.open(draft, _NEW, _MODE)
    try:
        fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write_once(new, line)
        os.fsync(new)
    except BaseException:
        draft.unlink()
        os.close(new)
        raise
    return new


def _write_once(file: int, line: bytes) -> None:
    if os.write(file, line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def _second_name(path: Path, ended: Path, file: int) -> Iterator[None]:
    os.link(path, ended, follow_symlinks=False)
    try:
        _check_same(path, ended, file)
        yield
    except BaseException:
        ended.unlink()
        raise


def _check_same(path: Path, ended: Path, file: int) -> None:
    if not is_one_file(ended, file):
        raise OSError(errno.ESTALE, f"{path.name} is not the file that is being written")


def settled(path: Path, file: int) -> Start:
    """Remove what an unfinished rotation left; return where ``file`` begins.

    Raises:
        JournalError: there are segments that this file does not continue.
        OSError: the folder cannot be read or changed.
    """
    start = start_of(_first_of(file))
    with suppress(FileNotFoundError):
        next_path(path).unlink()
    for number, segment in finished(path).items():
        if number < start.number:
            continue
        if not is_one_file(segment, file):
            raise JournalError(
                f"{path} does not continue {segment.name}: it was emptied, replaced or put back "
                f"from a backup. Keep all of them as evidence: move {path.name} and every "
                f"{path.name}.* away together."
            )
        segment.unlink()
    return start


def _first_of(file: int) -> bytes:
    line, end, _ = os.pread(file, _LONGEST_FIRST, 0).partition(b"\n")
    return line + end


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk.

    Raises:
        OSError: they are not.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
