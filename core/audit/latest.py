"""Find how far each of some runs got, and how far the journal, read from its end backwards.

Segments that were moved away are not searched.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from core.audit.chain import BrokenLine, seal_of
from core.audit.segments import newest_first, start_of
from core.errors import JournalError

_BLOCK = 1 << 20
_MARGIN_MS = 600_000
"""How far the clock of a database may be from that of the journal."""
_AT = re.compile(rb'"at":"([0-9T:.-]+)Z"')
_RUN = re.compile(rb'"run":"((?:[^"\\]|\\.)*)"')
_REPAIRED, _ROTATED = b'"kind":"recovered"', b'"kind":"segment"'
_UNCOUNTED = (_REPAIRED, _ROTATED, b'"kind":"approvals file"', b'"late":true')
"""Marks of what may be written before a gateway has completed the journal, or while none runs."""
_ENDS_AND_BEGINS = (b'"kind":"decision"', b'"kind":"finish"', b'"kind":"refuse"')
STEPS = frozenset({"decision", "refuse", "start", "finish"})
"""The kinds of records that say how far a run is; others about it may come after its end."""

Record = Mapping[str, object]


def latest(
    path: Path, run_ids: Collection[str], since_ms: int, kinds: Collection[str] = STEPS
) -> dict[str, Record]:
    """Return the last record of these kinds of each run that has one.

    Records before ``since_ms`` are not read.

    A line that does not fit its hash is not a record.

    Raises:
        JournalError: the journal cannot be read.
    """
    missing, found = set(run_ids), dict[str, Record]()
    first = _text_of(since_ms - _MARGIN_MS)
    try:
        for block in _blocks(path):
            for record in _records(block, missing, kinds):
                run_id = str(record["run"])
                found[run_id] = record
                missing.discard(run_id)
            at = _AT.search(block)
            if not missing or (at is not None and at[1] < first):
                break
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}.") from error
    return found


def unended(path: Path, since_ms: int) -> frozenset[str]:
    """Return the runs that policy has let run since then, and whose end is not recorded.

    Raises:
        JournalError: the journal cannot be read.
    """
    begun, ended = set[str](), set[str]()
    for record in _of_kinds(path, since_ms, _ENDS_AND_BEGINS):
        if record.get("kind") in {"finish", "refuse"}:
            ended.add(str(record.get("run")))
        elif record.get("decision") == "allow":
            begun.add(str(record.get("run")))
    return frozenset(begun - ended)


def votes(path: Path, since_ms: int) -> frozenset[tuple[str, str]]:
    """Return the votes that are recorded since then: the approval of each, and who cast it.

    Raises:
        JournalError: the journal cannot be read.
    """
    found = _of_kinds(path, since_ms - _MARGIN_MS, (b'"kind":"vote"',))
    return frozenset((str(one.get("run")), str(one.get("by"))) for one in found)


def last_at_ms(path: Path) -> int | None:
    """Return when a gateway last wrote a record (epoch ms), ``None`` if none did.

    A record that the journal was repaired, or what a command does without a gateway, does not
    count: between the last moment of a killed gateway and the next start there may be hours.
    Neither does what was recorded late: a gateway that is killed while it completes the journal,
    and has recorded only some of what it lacks, must not hide the rest.

    Raises:
        JournalError: the journal cannot be read.
    """
    try:
        for line in _lines(path):
            at_ms = None if any(mark in line for mark in _UNCOUNTED) else _at_ms(line)
            if at_ms is not None:
                return at_ms
    except (OSError, ValueError) as error:
        raise JournalError(f"{path} cannot be read: {error}.") from error
    return None


def begins_ms(path: Path) -> int | None:
    """Return when what is here of the journal begins (epoch ms), ``None`` if all of it is here.

    Raises:
        JournalError: the journal cannot be read.
    """
    first = b""
    try:
        for file in newest_first(path):
            first = file.readline()
        return None if start_of(first).number == 1 else _at_ms(first)
    except (OSError, ValueError) as error:
        raise JournalError(f"{path} cannot be read: {error}.") from error


def _at_ms(line: bytes) -> int | None:
    found = _AT.search(line)
    if found is None:
        return None
    at = datetime.fromisoformat(found[1].decode("ascii")).replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)


def _of_kinds(path: Path, since_ms: int, kinds: Collection[bytes]) -> Iterator[Record]:
    """Yield the records since then whose lines contain one of these, the last one first."""
    first = _text_of(since_ms)
    try:
        for line in _lines(path):
            at = _AT.search(line)
            if at is not None and at[1] < first:
                break
            if any(kind in line for kind in kinds):
                yield _record(line)
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}.") from error


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of the journal, the last one first."""
    for block in _blocks(path):
        yield from reversed(block.splitlines(keepends=True))


def _text_of(at_ms: int) -> bytes:
    """Return a time as records have it, to the second."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the journal in blocks of whole lines, the last one first."""
    for file in newest_first(path):
        yield from _blocks_of(file)


def _blocks_of(file: BinaryIO) -> Iterator[bytes]:
    end, rest = file.seek(0, 2), b""
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        block = file.read(end - start) + rest
        begins = block.find(b"\n") + 1 if start else 0
        if start and not begins:  # it is all of one line
            rest, end = block, start
            continue
        rest, end = block[:begins], start
        yield block[begins:]


def _records(block: bytes, run_ids: Collection[str], kinds: Collection[str]) -> Iterator[Record]:
    """Yield the last record of these kinds of each run that has one here."""
    wanted = {json.dumps(run_id)[1:-1].encode() for run_id in run_ids}
    marks = [f'"kind":{json.dumps(kind)}'.encode() for kind in kinds]
    for line in reversed(block.splitlines(keepends=True)):
        named = wanted.intersection(_RUN.findall(line))
        if not named or not any(mark in line for mark in marks):
            continue
        record = _record(line)
        run = json.dumps(record.get("run"))[1:-1].encode()
        if run in named and record.get("kind") in kinds:
            wanted.discard(run)
            yield record


def _record(line: bytes) -> Record:
    try:
        seal_of(line)
        record: Record = json.loads(line)
    except (BrokenLine, ValueError):
        return {}
    return record
