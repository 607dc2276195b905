"""Select the part of a journal that an export contains: whole lines without a gap."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from core.audit.segments import segment_path, start_in
from core.errors import BadRequest

_QUESTION = frozenset({"ask", "resolve"})


@dataclass(frozen=True, slots=True)
class ExportScope:
    """What to export: a period in epoch ms, or the one request whose id begins with ``ref``."""

    since_ms: int | None = None
    until_ms: int | None = None
    ref: str = ""


@dataclass(slots=True)
class Slice:
    """The records from ``first`` to ``last``, and the questions among them.

    ``ended`` are those whose end the journal records. ``prev`` is the hash before the
    first record, ``head`` that of the last one.
    """

    first: int = 0
    last: int = 0
    prev: str = ""
    head: str = ""
    ids: dict[str, None] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the whole lines of a journal over all its segments, oldest first.

    Raises:
        BadRequest: it cannot be read.
    """
    try:
        with path.open("rb") as newest:
            for number in range(1, start_in(newest).number):
                older = segment_path(path, number)
                if older.exists():
                    with older.open("rb") as file:
                        yield from file
            yield from (line for line in newest if line.endswith(b"\n"))
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}.") from error


def slice_of(path: Path, wanted: ExportScope) -> Slice:
    """Return the shortest part that contains all that is wanted, with the end of each question.

    Raises:
        BadRequest: it contains nothing that is wanted, or is not a journal.
    """
    found = Slice()
    for line in lines_of(path):
        try:
            _take(found, json.loads(line), wanted)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadRequest(f"{path} is not a journal; run `sayso audit verify`.") from None
    if not found.last:
        raise BadRequest("The journal has no record of this. Nothing was written.")
    return _with_questions(found, path)


def _with_questions(found: Slice, path: Path) -> Slice:
    """Add the questions of the selected part, including unrelated ones in between."""
    found.ids, found.ended = {}, set()
    for line in lines_of(path):
        record = json.loads(line)
        if found.first <= record["seq"] <= found.last and record["kind"] in _QUESTION:
            found.ids[record["run"]] = None
            if record["kind"] == "resolve":
                found.ended.add(record["run"])
    return found


def _take(found: Slice, record: dict[str, object], wanted: ExportScope) -> None:
    run = record.get("run")
    named = _is_wanted(record, wanted)
    if not named and not (found.first and isinstance(run, str) and run in found.ids):
        return
    if not found.first:
        found.first, found.prev = int(str(record["seq"])), str(record["prev"])
    found.last, found.head = int(str(record["seq"])), str(record["hash"])
    if isinstance(run, str) and record["kind"] in _QUESTION:
        found.ids[run] = None


def _is_wanted(record: dict[str, object], wanted: ExportScope) -> bool:
    if wanted.ref:
        return str(record.get("run", "")).startswith(wanted.ref)
    at_ms = round(datetime.fromisoformat(str(record["at"])).timestamp() * 1000)
    after = wanted.since_ms is None or at_ms >= wanted.since_ms
    return after and (wanted.until_ms is None or at_ms < wanted.until_ms)
