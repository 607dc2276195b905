"""Open a journal for one writer, and repair what a crash left half written.

``FILE.head`` names the last line that was acknowledged; it is written after the journal is synced,
so it may lag behind the file but never run ahead. What follows it is read line by line. A broken
end that holds no sealed line was never acknowledged and is cut off; anything else is tampering.
Right after a rotation the note may still name the last line of the segment before.
"""

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.audit.chain import (
    HEAD_LENGTH,
    BrokenLine,
    Head,
    follows,
    head_text,
    read_head,
    seal_of,
)
from core.audit.rotate import settled, sync_folder
from core.audit.segments import Start, is_one_file
from core.errors import JournalBusy, JournalError

_MODE = 0o600
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Opened:
    """A journal that is ours: descriptors of file and head file, where to continue, what was cut.

    ``start`` is where the segment being written begins. ``cut`` is what was removed, ready for a
    ``recovered`` record; ``None`` if nothing was.
    """

    file: int
    note: int
    start: Start
    head: Head
    cut: dict[str, object] | None


def open_journal(path: Path) -> Opened:
    """Open, lock and repair a journal; make it, mode 0600, if it does not exist.

    Raises:
        JournalError: unsafe, held by another process, cut off or changed.
    """
    file = _open_private(path, os.O_APPEND)
    try:
        _lock(file, path)
        note = _open_private(path.with_name(path.name + ".head"), 0)
    except BaseException:
        os.close(file)
        raise
    try:
        start = settled(path, file)
        head, cut = _end_of(file, path, _noted(file, note, path, start))
        os.pwrite(note, head_text(head), 0)
        sync_folder(path.parent)
    except OSError as error:
        _close(file, note)
        raise JournalError(f"{path} cannot be opened: {error.strerror}.") from error
    except BaseException:
        _close(file, note)
        raise
    return Opened(file, note, start, head, cut)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _open_private(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, _FLAGS | flags, _MODE)
    except OSError as error:
        raise JournalError(
            f"{path} cannot be opened: {error.strerror}. Nothing runs without a journal; "
            f"it must be a regular file in a writable folder."
        ) from error
    status = os.fstat(descriptor)
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or mode & ~_MODE:
        os.close(descriptor)
        raise JournalError(
            f"{path} must be a regular file of uid {os.getuid()} with mode 0600; it has uid "
            f"{status.st_uid} and mode {mode:04o}. Review it, then run: chmod 600 '{path}'"
        )
    return descriptor


def _lock(file: int, path: Path) -> None:
    busy = f"{path} is being written by another process, perhaps a running gateway. Stop it first."
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalBusy(busy) from None
    if not is_one_file(path, file):  # rotated between the opening and the lock
        raise JournalBusy(busy)


def _noted(file: int, note: int, path: Path, start: Start) -> Head:
    """Return the acknowledged head, once the file is known to hold it or to continue it.

    Raises:
        JournalError: the file ends before it or holds something else there.
    """
    head = read_head(os.pread(note, HEAD_LENGTH, 0))
    if head is None or head.seq == 0:
        return start.head
    if head.seq == start.head.seq and head.hash == start.head.hash:
        return start.head
    if head.seq <= start.head.seq or not holds(file, head):
        raise JournalError(
            f"{path} no longer holds line {head.seq}, which was acknowledged: it was cut off or "
            f"changed. Keep it as evidence: move it and {path.name}.head away together."
        )
    return head


def holds(file: int, head: Head) -> bool:
    """Return whether a journal has the line that ``head`` names where it was acknowledged."""
    if head.seq == 0:
        return True
    tail = os.pread(file, len(head.hash) + len('"}\n'), max(0, head.end - len(head.hash) - 3))
    return tail == f'{head.hash}"}}\n'.encode()


def _end_of(file: int, path: Path, head: Head) -> tuple[Head, dict[str, object] | None]:
    """Follow the chain to its end; cut off a torn end.

    Raises:
        JournalError: a line in the middle is broken.
    """
    lines = _lines(file, head.end)
    for line in lines:
        try:
            head = follows(line, head)
        except BrokenLine as broken:
            return head, _cut(file, path, head, str(broken), (line, lines))
    return head, None


def _lines(file: int, start: int) -> Iterator[bytes]:
    with os.fdopen(os.dup(file), "rb") as reader:
        reader.seek(start)
        yield from reader


def _cut(
    file: int, path: Path, head: Head, why: str, rest: tuple[bytes, Iterator[bytes]]
) -> dict[str, object]:
    first, following = rest
    removed, digest = 0, hashlib.sha256()
    for line in (first, *following):
        if _is_sealed(line):
            raise JournalError(
                f"{path}, line {head.seq + 1}: {why}, and whole lines follow. It was tampered with "
                f"or damaged; keep it as evidence: move it and {path.name}.head away together."
            )
        removed += len(line)
        digest.update(line)
    os.ftruncate(file, head.end)
    os.fsync(file)
    return {"removedBytes": removed, "removedSha256": digest.hexdigest(), "why": why}


def _is_sealed(line: bytes) -> bool:
    try:
        seal_of(line)
    except BrokenLine:
        return False
    return True
