"""Keep on the node's own disk which runs were ordered, and how each ended.

Each run has one file, named by its id and written before anything is spawned; how the run ended is
appended. A run whose file exists never starts again, and its ending is delivered until the gateway
has it, even across restarts; then the file is renamed, and no longer held in memory.
"""

import contextlib
import logging
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import StateError
from core.files.private import (
    append_private,
    create_private,
    read_private,
    replace_private,
    sync_private,
)
from core.model.identity import ApprovalId
from core.model.result import Finished, Output
from core.nodes.frames import Ended, NotRun
from core.trust.ids import KeyId

_log = logging.getLogger(__name__)
FOLDER = "node-runs"
_SUFFIX, _NOTED = ".json", ".noted.json"
_KEPT_S = 30 * 86_400
"""How long a run is kept once the gateway has noted it; its order was for one connection anyway.

What an approver's passkey signed holds for this run on any connection: a compromised gateway could
order it again, so such a run is kept for ever.
"""
_MOST_REFUSED = 1_000

Ending = Annotated[Ended | NotRun, Field(discriminator="t")]


class Entry(BaseModel):
    """What is known about one run; without ``ending``, it was claimed and has not ended.

    ``signed``: the approval of it never expires, so its id is never forgotten. ``gateway`` ordered
    it; before there was this field, whichever the node belongs to.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    v: Literal[1] = 1
    digest: KeyId
    ending: Ending | None = None
    signed: bool = Field(default=False, exclude_if=lambda value: value is False)
    gateway: KeyId | None = Field(default=None, exclude_if=lambda value: value is None)


@dataclass(slots=True)
class Ledger:
    """The runs of one node; ``folder`` is created if it does not exist.

    How a run ended is sent to the gateway that ordered it, and to no other that the node joins
    later: ``gateway`` is the present one; with ``None``, all are sent.
    """

    folder: Path
    gateway: KeyId | None = None
    _runs: dict[ApprovalId, Entry] = field(default_factory=dict)
    _noted: set[ApprovalId] = field(default_factory=set)
    _unwritten: set[ApprovalId] = field(default_factory=set)
    """Endings in memory only; half a line may follow their claims."""
    _refused: dict[ApprovalId, NotRun] = field(default_factory=dict)
    """Orders that were refused and never claimed, in memory: a gateway can make any number."""
    _unsynced: set[ApprovalId] = field(default_factory=set)
    """Endings appended to their claims that a power cut may still remove."""
    _writing: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, home: Path, name: str = FOLDER, gateway: KeyId | None = None) -> "Ledger":
        """Read what an earlier process left; how the runs that it had begun ended is unknown.

        Raises:
            StateError: the folder or a file in it cannot be used.
        """
        ledger = cls(home / name, gateway)
        try:
            ledger.folder.mkdir(mode=0o700, exist_ok=True)
            for path in sorted(ledger.folder.glob(f"*{_SUFFIX}")):
                ledger._take(path)
        except OSError as error:
            raise StateError(f"{ledger.folder} cannot be used: {error.strerror}.") from error
        return ledger

    def knows(self, run_id: ApprovalId) -> bool:
        """Return whether a run was ordered before."""
        return run_id in self._runs or run_id in self._noted or run_id in self._refused

    def ending(self, run_id: ApprovalId) -> Ended | NotRun | None:
        """Return how a run ended, ``None`` while it runs or if it is unknown.

        Raises:
            StateError: the file of a run that was noted cannot be read.
        """
        if run_id in self._refused:
            return self._refused[run_id]
        noted = run_id in self._noted
        entry = _read(self._path(run_id, _NOTED)) if noted else self._runs.get(run_id)
        return None if entry is None or not self._is_ours(entry) else entry.ending

    def pending(self) -> tuple[Ended | NotRun, ...]:
        """Return the endings that the gateway has not noted."""
        found = tuple(self._runs.values())  # in one step, as threads claim and note in the meantime
        ended = (one.ending for one in found if self._is_ours(one) and one.ending is not None)
        refused = (one for one in self._refused.values() if one.run_id not in self._noted)
        return (*ended, *refused)

    def refuse(self, ending: NotRun) -> None:
        """Keep in memory that an order was refused; only the latest ones are delivered again.

        To a gateway that asks about a forgotten one, the answer is that it did not run, as for any
        id that was never heard.
        """
        while len(self._refused) >= _MOST_REFUSED:
            oldest = next(iter(self._refused))
            del self._refused[oldest]
            self._noted.discard(oldest)
        self._refused[ending.run_id] = ending

    def claim(self, run_id: ApprovalId, digest: str, *, signed: bool = False) -> bool:
        """Record durably that a run starts; ``False`` if that was recorded before.

        ``signed``: a passkey allowed it, so it is never forgotten.

        Raises:
            StateError: it cannot be written, so nothing may run.
        """
        if self.knows(run_id):
            return False
        entry = Entry(digest=digest, signed=signed, gateway=self.gateway)
        if not create_private(self._path(run_id), _text(entry)):
            return False
        self._runs[run_id] = entry
        return True

    def end(self, run_id: ApprovalId, digest: str, ending: Ended | NotRun) -> None:
        """Record how a run ended, at least in memory: a full disk must not lose the ending."""
        self.hold(run_id, digest, ending)
        self.save(run_id)

    def hold(self, run_id: ApprovalId, digest: str, ending: Ended | NotRun) -> None:
        """Record how a run ended, to be delivered; once written, kill -9 does not lose it.

        ``save`` makes it survive a power cut.
        """
        known = self._runs.get(run_id) or Entry(digest=digest, gateway=self.gateway)
        entry = known.model_copy(update={"digest": digest, "ending": ending})
        (self._unsynced if self._append(run_id, entry) else self._unwritten).add(run_id)
        self._runs[run_id] = entry  # from here on it may be noted

    def save(self, run_id: ApprovalId) -> None:
        """Wait until the ending that is held is on disk, unless the gateway's disk has it now."""
        with self._writing:
            if run_id in self._runs:
                self._save(run_id)

    def note(self, run_id: ApprovalId) -> None:
        """Record that the gateway has an ending; it is not delivered again."""
        with self._writing:
            if run_id in self._refused:
                self._noted.add(run_id)
            entry = self._runs.get(run_id)
            if entry is None or entry.ending is None:
                return
            if run_id in self._unwritten and not self._save(run_id):
                return
            try:
                self._path(run_id).rename(self._path(run_id, _NOTED))
            except OSError as failure:
                _log.error("run %s is delivered again: %s", run_id, failure)
                return
            self._noted.add(run_id)
            self._unsynced.discard(run_id)
            del self._runs[run_id]

    def _is_ours(self, entry: Entry) -> bool:
        return None in {entry.gateway, self.gateway} or entry.gateway == self.gateway

    def _append(self, run_id: ApprovalId, entry: Entry) -> bool:
        """Append an ending to its claim; ``False``: another file must take its place."""
        try:
            return run_id not in self._unwritten and append_private(
                self._path(run_id), _text(entry)
            )
        except StateError:
            return False

    def _save(self, run_id: ApprovalId) -> bool:
        path = self._path(run_id)
        try:
            if run_id in self._unwritten:
                replace_private(path, _text(self._runs[run_id]))
            elif run_id in self._unsynced:
                sync_private(path)
        except StateError as failure:
            self._unwritten.add(run_id)
            _log.error("the ending of run %s is in memory only: %s", run_id, failure)
            return False
        self._unwritten.discard(run_id)
        self._unsynced.discard(run_id)
        return True

    def _take(self, path: Path) -> None:
        if path.name.endswith(_NOTED):
            if _is_over(path):
                path.unlink(missing_ok=True)
            else:
                self._noted.add(ApprovalId(path.name.removesuffix(_NOTED)))
            return
        run_id = ApprovalId(path.name.removesuffix(_SUFFIX))
        entry = self._runs[run_id] = _read(path)
        if entry.ending is None:
            self._unwritten.add(run_id)
            self.end(run_id, entry.digest, unseen(run_id))

    def _path(self, run_id: ApprovalId, suffix: str = _SUFFIX) -> Path:
        return self.folder / f"{run_id}{suffix}"


def unseen(run_id: ApprovalId) -> Ended:
    """Return the ending of a run that began, but whose end is unknown."""
    return Ended(run_id=run_id, result=Finished(run_id, None, None, Output(), duration_ms=0))


def _is_over(path: Path) -> bool:
    """Return whether a noted run may be forgotten."""
    if time.time() - path.stat().st_mtime <= _KEPT_S:
        return False
    try:
        return not _read(path).signed
    except StateError as damage:
        _log.warning("%s", damage)
        return False


def _read(path: Path) -> Entry:
    """Return the last complete line of a file; a crash may have left half of one after it.

    A line whose beginning a power cut removed does not count. Earlier versions ended no line.

    Raises:
        StateError: the file cannot be used.
    """
    try:
        *whole, rest = read_private(path).split(b"\n")
    except FileNotFoundError:
        raise StateError(f"{path} is gone, so how its run ended is unknown.") from None
    for line in reversed(whole or [rest]):
        with contextlib.suppress(ValidationError):
            return Entry.model_validate_json(line)
    raise StateError(
        f"{path} is damaged, so how its run ended is unknown. Keep a copy and remove it."
    )


def _text(entry: Entry) -> bytes:
    return entry.model_dump_json().encode() + b"\n"
