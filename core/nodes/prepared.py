"""Keep on the node's own disk which plans it made, by digest.

A digest covers what runs and what is judged, so a plan that is known here is complete. A plan that
the gateway made up is not run, whatever it says: what it claims could mislead the judgement.
"""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from core.errors import StateError
from core.files.private import touch_private

FOLDER = "node-plans"
_KEPT_S = 2 * 86_400
"""Longer than any question waits."""
_SWEEP_EVERY = 1_000
"""After this many plans, the old ones are removed."""
_MOST = 50_000
"""Plans that are kept, the latest: a gateway must not use up the disk's files."""


@dataclass(slots=True)
class PreparedPlans:
    """The plans of one node: an empty file each, named by the digest."""

    folder: Path
    _left: int = 0

    @classmethod
    def of(cls, home: Path) -> "PreparedPlans":
        """Return the plans that an earlier process left.

        Raises:
            StateError: the folder cannot be created.
        """
        folder = home / FOLDER
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StateError(f"{folder} cannot be used: {error.strerror}.") from error
        return cls(folder)

    def note(self, digest: str) -> None:
        """Record that a plan was made; a power cut may lose that, a restart does not.

        Raises:
            StateError: it cannot be written, so the plan would never run.
        """
        if self._left == 0:
            self._left = _SWEEP_EVERY
            self._sweep()
        self._left -= 1
        touch_private(self.folder / digest)

    def knows(self, digest: str) -> bool:
        """Return whether a plan was made here."""
        return (self.folder / digest).is_file()

    def _sweep(self) -> None:
        oldest = time.time() - _KEPT_S
        kept: list[tuple[float, Path]] = []
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):
                made = path.stat().st_mtime
                if made < oldest:
                    path.unlink()
                else:
                    kept.append((made, path))
        for _, path in sorted(kept)[: max(0, len(kept) - _MOST)]:
            path.unlink(missing_ok=True)
