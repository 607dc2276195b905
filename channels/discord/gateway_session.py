"""Keep the position of a gateway session, so that nothing people did in the meantime is missed.

Discord replays the events after a sequence number to any client that resumes a session within some
minutes, including another process. Events in progress when a process dies come again that way; the
inbox recognises them by their keys.
"""

import json
import logging
from collections import OrderedDict
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from core.errors import StateError
from core.files.private import replace_private

_log = logging.getLogger(__name__)
_MOST_IN_PROGRESS = 1_000


@dataclass(frozen=True, slots=True)
class Session:
    """A gateway session: its id, the last sequence number that was processed, where to resume.

    ``owner`` is the bot and the intents that it was created with; no other can resume it.
    """

    id: str
    sequence: int
    url: str
    owner: str


@dataclass(slots=True)
class InProgress:
    """The events in progress, by id, each with its sequence number."""

    _open: OrderedDict[int, int] = field(default_factory=OrderedDict)

    def begin(self, event: int, sequence: int) -> None:
        """Record that an event came in; one that never ends is eventually forgotten."""
        self._open[event] = sequence
        if len(self._open) > _MOST_IN_PROGRESS:
            self._open.popitem(last=False)

    def end(self, event: int) -> None:
        """Record that an event has been processed."""
        self._open.pop(event, None)

    def done_up_to(self, sequence: int) -> int:
        """Return the sequence number up to which everything has been processed."""
        return min([sequence, *(number - 1 for number in self._open.values())])


@dataclass(slots=True)
class SessionFile:
    """The session of the previous process; without a path it is kept only in this process."""

    path: Path | None
    session: Session | None = None

    def load(self, owner: str) -> Session | None:
        """Return the owner's last session, ``None`` if there is none that can be read."""
        if self.session is None and self.path is not None:
            with suppress(OSError, ValueError, TypeError):
                self.session = Session(**json.loads(self.path.read_text(encoding="utf-8")))
        return self.session if self.session is not None and self.session.owner == owner else None

    def save(self, session: Session | None) -> None:
        """Save a session; a failing disk loses only what is pressed during a restart."""
        if session == self.session:
            return
        self.session = session
        if self.path is None:
            return
        try:
            if session is None:
                self.path.unlink(missing_ok=True)
            else:
                data = json.dumps(asdict(session)).encode()
                replace_private(self.path, data, durable=False)
        except (OSError, StateError) as error:
            _log.warning("Cannot save the gateway session: %s", error)
