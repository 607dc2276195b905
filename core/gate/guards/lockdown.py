"""Stop everything until a person lifts it: ``$SAYSO_HOME/lockdown``.

::

    a gate proof that ran, `sayso lockdown on` ─▶ engage ─▶ the file
    every submit, every spawn ─▶ state ─▶ Locked: nothing runs
    others can get into the home ─▶ state, for as long as they can

The file alone locks: whoever can write it can stop Sayso, even while no gateway runs. What cannot
be read counts as locked, and a lock once seen holds until it is lifted, whatever becomes of the
file meanwhile.
"""

import json
import logging
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.errors import StateError
from core.files.private import read_private, replace_private, writing
from core.gate.guards.home_check import HomeCheck

_log = logging.getLogger(__name__)
NAME = "lockdown"
"""The file's name in the home."""
LIFT = "`sayso lockdown off` at a terminal tests the gate and lifts it."


@dataclass(frozen=True, slots=True)
class Locked:
    """Since when (epoch ms), why in one sentence, by whom, and which entry point failed its proof.

    ``passes``: it ends on its own with its cause, and nobody can lift it earlier.
    """

    at_ms: int
    why: str
    by: str
    entry_point: str = ""
    passes: bool = False

    @property
    def sentence(self) -> str:
        """Return the message for whoever is refused."""
        since = datetime.fromtimestamp(self.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        why = self.why.rstrip(".")
        after = "" if self.passes else f" {LIFT}"
        return f"Sayso has been locked down since {since}: {why}. Nothing runs.{after}"


class Lockdown:
    """The lock of one home; without a path it holds for this process only.

    With ``home`` everything is also locked while others can get into the home.
    """

    def __init__(self, path: Path | None = None, home: HomeCheck | None = None) -> None:
        self._path = path
        self._home = home
        self._locked: Locked | None = None
        self._open: Locked | None = None
        self.alarms = 0
        """How often a lock was requested since the start, already locked or not."""

    def state(self) -> Locked | None:
        """Return why everything is refused, ``None`` if nothing is locked; two checks per call."""
        return self._held() or self._while_open()

    def _while_open(self) -> Locked | None:
        """Return a lock that lasts as long as others can get into the home."""
        fault = "" if self._home is None else self._home.fault()
        if not fault:
            if self._open is not None:
                _log.warning("the home is in order again; requests are accepted")
            self._open = None
        elif self._open is None or self._open.why != fault:
            _log.critical("locked down: %s.", fault)
            self._open = Locked(_now_ms(), fault, "home check", passes=True)
        return self._open

    def _held(self) -> Locked | None:
        """Return the lock that holds until it is lifted."""
        if self._locked is None and self._path is not None:
            try:
                os.lstat(self._path)
            except FileNotFoundError:
                return None
            except OSError as error:
                self._locked = _unreadable(f"{self._path}: {error.strerror}")
            else:
                self._locked = _read(self._path)
        return self._locked

    def engage(self, why: str, *, by: str, entry_point: str = "") -> Locked:
        """Lock, first in memory and then on disk; what is locked already keeps its first reason."""
        self.alarms += 1
        known = self._held()
        if known is not None:
            return known
        self._locked = Locked(_now_ms(), why, by, entry_point)
        self.keep()
        return self._locked

    def keep(self) -> bool:
        """Write the file again where it vanished; ``False`` where that failed, which is logged."""
        if self._locked is None or self._path is None or os.path.lexists(self._path):
            return True
        try:
            replace_private(self._path, _text(self._locked))
        except StateError as error:
            _log.critical("%s It stays locked down until this gateway stops.", error)
            return False
        return True

    def lift(self) -> None:
        """Let requests in again.

        Raises:
            StateError: the file cannot be removed, so it stays locked.
        """
        if self._path is not None and os.path.lexists(self._path):
            with writing(self._path):
                self._path.unlink()
        self._locked = None


def _read(path: Path) -> Locked:
    try:
        found = json.loads(read_private(path))
        at = datetime.fromisoformat(found["when"])
        why, by, entry_point = (_word(found[key]) for key in ("why", "by", "way"))
        return Locked(round(at.timestamp() * 1000), why, by, entry_point)
    except FileNotFoundError:  # removed between two checks; the next one finds out
        return _unreadable(f"{path} vanished while it was read")
    except (StateError, ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        return _unreadable(f"{path}: {error}" if isinstance(error, StateError) else str(path))


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _unreadable(what: str) -> Locked:
    why = f"the lockdown file cannot be read, which counts as locked ({what})."
    return Locked(_now_ms(), why, "file")


def _text(locked: Locked) -> bytes:
    when = datetime.fromtimestamp(locked.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    record = {"when": when, "why": locked.why, "by": locked.by, "way": locked.entry_point}
    return json.dumps(record, indent=2).encode() + b"\n"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
