"""Remember when and for what an allowlist entry was last used (S1 "Each allowlist entry tracks").

Kept apart from exec-approvals.json, so that a busy gateway never races a person's editor. Written
at most once an interval and not synced: losing it costs statistics, never a permission.
"""

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from core.approvals.file.schema import Raw
from core.files.state_file import StateFile
from core.model.approval import AllowlistEntry

_LONGEST_COMMAND = 500
DEFAULT_INTERVAL_S = 5.0

Key = tuple[str, str]
"""An agent and one of its entries, in its words."""


@dataclass(frozen=True, slots=True)
class LastUse:
    """The last use of one entry: epoch ms, the masked command line, the program's real path."""

    at_ms: int
    command: str
    resolved: str


class _Use(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", alias_generator=to_camel)
    last_used_at: int
    last_used_command: str
    last_resolved_path: str


class _File(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")
    agents: dict[str, dict[str, _Use]]


class UsageFile:
    """One exec-approvals.usage.json; safe to share between threads.

    ``interval_s`` is how long notes are gathered before they are written together.
    """

    def __init__(self, path: Path, interval_s: float = DEFAULT_INTERVAL_S) -> None:
        self._file = StateFile(path, _File)
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._notes: dict[Key, LastUse] = {}
        self._timer: threading.Timer | None = None

    def note(self, agent: str, entry: str, use: LastUse) -> None:
        """Note a use in memory (about 1 us); ``command`` is given with its secrets masked."""
        with self._lock:
            known = self._notes.get((agent, entry))
            if known is None or known.at_ms <= use.at_ms:
                self._notes[agent, entry] = use
            if self._timer is None:
                self._timer = threading.Timer(self._interval_s, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Write what was noted; call it once more before the program ends."""
        with self._writing:
            with self._lock:
                notes, self._notes = self._notes, {}
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            if notes:
                self._merge(notes)

    def read(self) -> Mapping[Key, LastUse]:
        """Return the written and the noted uses; a file that cannot be read counts as empty."""
        merged = self._read_file()
        with self._lock:
            merged.update(self._notes)
        return merged

    def _read_file(self) -> dict[Key, LastUse]:
        file = self._file.read()
        return {
            (agent, pattern): LastUse(
                use.last_used_at, use.last_used_command, use.last_resolved_path
            )
            for agent, uses in (file.agents if file else {}).items()
            for pattern, use in uses.items()
        }

    def _merge(self, notes: dict[Key, LastUse]) -> None:
        merged = self._read_file()
        for key, use in notes.items():
            if key not in merged or merged[key].at_ms <= use.at_ms:
                merged[key] = use
        if not self._file.write(_shaped(merged)):
            with self._lock:
                self._notes = {**notes, **self._notes}


def _fields(use: LastUse) -> dict[str, object]:
    return {
        "lastUsedAt": use.at_ms,
        "lastUsedCommand": use.command[:_LONGEST_COMMAND],
        "lastResolvedPath": use.resolved,
    }


def _shaped(uses: Mapping[Key, LastUse]) -> dict[str, object]:
    agents: dict[str, dict[str, object]] = {}
    for (agent, pattern), use in uses.items():
        agents.setdefault(agent, {})[pattern] = _fields(use)
    return {"agents": agents}


def with_usage(raw: Raw, uses: Mapping[Key, LastUse]) -> Raw:
    """Fill the last-used fields of S1 into the JSON of exec-approvals.json, in place."""
    agents = raw.get("agents")
    for agent, part in agents.items() if isinstance(agents, dict) else ():
        for entry in part.get("allowlist", []):
            with contextlib.suppress(KeyError):
                entry.update(_fields(uses[agent, _words(entry)]))
    return raw


def _words(entry: Raw) -> str:
    argv, content = entry.get("argv"), entry.get("content")
    return AllowlistEntry(
        pattern=str(entry["pattern"]),
        argv=tuple(argv) if isinstance(argv, list) else None,
        content=tuple(content.items()) if isinstance(content, dict) else (),
    ).words
