"""Note when and for what an entry was used, and write it into exec-approvals.json (S1).

Notes stay in memory until a quiet moment: nothing was used for a while, nobody changes the file,
no editor has it open. Losing them costs statistics, never a permission.
"""

import logging
import threading
import time
from collections.abc import Mapping

from core.approvals.file.file import ApprovalsFile
from core.approvals.file.last_use import Key, LastUse, fill_in
from core.approvals.file.schema import Raw
from core.errors import ApprovalsFileError, StateError

_log = logging.getLogger(__name__)
QUIET_S = 10.0
LONGEST_S = 300.0
_REST = 200
"""How many times the duration of a write to wait before the next: a large file takes seconds."""


class Usage:
    """The last uses of a file's entries; safe to share between threads.

    They are written once nothing was used for ``quiet_s``, after ``longest_s`` in any case, but
    never while somebody edits the file.
    """

    def __init__(
        self, file: ApprovalsFile, quiet_s: float = QUIET_S, longest_s: float = LONGEST_S
    ) -> None:
        self._file = file
        self._quiet_s = quiet_s
        self._longest_s = longest_s
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._notes: dict[Key, LastUse] = {}
        self._timer: threading.Timer | None = None
        self._first_s = self._last_s = self._not_before_s = 0.0

    def note(self, agent: str, entry: str, use: LastUse) -> None:
        """Note a use in memory (about 1 us); ``command`` is given with its secrets masked."""
        with self._lock:
            self._last_s = time.monotonic()
            if not self._notes:
                self._first_s = self._last_s
            self._keep({(agent, entry): use})
            if self._timer is None:
                self._wait()

    def flush(self) -> None:
        """Write what was noted; call it once more before the program ends."""
        with self._writing:
            with self._lock:
                notes, self._notes = self._notes, {}
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            if notes:
                self._write(notes)

    def read(self) -> Mapping[Key, LastUse]:
        """Return the written and the noted uses; a file that cannot be used holds none."""
        try:
            merged = dict(self._file.uses())
        except ApprovalsFileError:
            merged = {}
        with self._lock:
            notes = dict(self._notes)
        return merged | {key: use for key, use in notes.items() if _is_newer(use, merged.get(key))}

    def shown(self) -> Raw:
        """Return the file's JSON for display, with its token left out and what was noted.

        Raises:
            ApprovalsFileError: the file is corrupt or unsafe.
        """
        raw = self._file.shown()
        with self._lock:
            notes = dict(self._notes)
        fill_in(raw, notes)
        return raw

    def _keep(self, notes: Mapping[Key, LastUse]) -> None:
        for key, use in notes.items():
            if _is_newer(use, self._notes.get(key)):
                self._notes[key] = use

    def _wait(self) -> None:
        self._timer = threading.Timer(self._quiet_s, self._look)
        self._timer.daemon = True
        self._timer.start()

    def _look(self) -> None:
        """Write if this is a quiet moment, else look again later."""
        edited = self._file.is_edited(self._quiet_s)
        with self._lock:
            now = time.monotonic()
            busy = now - self._last_s < self._quiet_s and now - self._first_s < self._longest_s
            if edited or busy or now < self._not_before_s:
                self._wait()
                return
        self.flush()

    def _write(self, notes: Mapping[Key, LastUse]) -> None:
        began = time.monotonic()
        try:
            self._file.note_uses(notes)
        except (ApprovalsFileError, StateError) as error:
            _log.warning("the last use of entries is not written yet: %s", error)
            with self._lock:
                later, self._notes = self._notes, dict(notes)
                self._keep(later)
        ended = time.monotonic()
        self._not_before_s = ended + _REST * (ended - began)


def _is_newer(use: LastUse, known: LastUse | None) -> bool:
    return known is None or known.at_ms <= use.at_ms
