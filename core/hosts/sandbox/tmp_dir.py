"""Keep one private folder for each run, bound as ``/tmp``, and leave none behind."""
# ruff: noqa: PTH102, PTH103, PTH104, PTH106
# A run waits for it; pathlib is ten times slower here.

import asyncio
import logging
import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from core.errors import HostUnavailable
from core.files.removal import remove_tree
from core.model.identity import ApprovalId
from core.runner.supervisor.processes.disk_use import shortage
from core.runner.supervisor.protocol import Private

_log = logging.getLogger(__name__)


_MOST_SPARES = 8

MOST_BYTES = 512 * 1024 * 1024
"""What each private folder may hold unless the configuration sets another size."""


class Folders(Protocol):
    """The private folders of runs."""

    async def clear(self) -> None:
        """Remove what runs of a gateway that died have left."""

    async def settle(self) -> None:
        """Wait until all that has to be removed is gone."""

    def made(self, run_id: ApprovalId, holds: str = "") -> AbstractContextManager[Path]:
        """Yield the folder of a run; it may have the empty folder ``holds`` in it already.

        Raises:
            HostUnavailable: it cannot be made, or the disk is nearly full.
        """

    def limits(self, path: Path) -> Private:
        """Return what a run with this folder is held to."""


class Scratch:
    """The private folders of all runs, in one of the gateway's own folders.

    Making a folder on a disk takes a quarter of a millisecond, and as much for each one in it that
    a workspace below ``/tmp`` is to be mounted at. So after a run one like its own is made, for the
    next run in the same place. It becomes that run's by its new name; no run has had it before.

    ``most_bytes`` is what each may hold. ``spared`` are further folders whose file systems must
    keep some room, as that of ``folder`` must.
    """

    def __init__(
        self, folder: Path, most_bytes: int = MOST_BYTES, spared: Iterable[Path] = ()
    ) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._spared = [str(one) for one in (folder.parent, *spared)]
        self._spares: dict[str, Path] = {}
        self._made = 0
        self._ended: set[Path] = set()
        self._removals: set[asyncio.Future[None]] = set()
        # A separate thread: what a command left may take long, and others wait for the shared
        # one. It may outlive the loop, whose signals would then end the process by their default.
        self._remover = ThreadPoolExecutor(
            1,
            thread_name_prefix="removal",
            initializer=signal.pthread_sigmask,
            initargs=(signal.SIG_BLOCK, signal.valid_signals()),
        )

    async def clear(self) -> None:
        """Remove what runs of a gateway that died have left."""
        self._spares.clear()
        await self._removed(self._folder)

    async def settle(self) -> None:
        """Wait until all that has to go is gone."""
        for path in tuple(self._ended):
            self._remove(path)
        while self._spares:
            self._discard()
        await asyncio.gather(*self._removals)

    @contextmanager
    def made(self, run_id: ApprovalId, holds: str = "") -> Iterator[Path]:
        """Yield the folder of a run; it is removed afterwards, without delaying anything.

        It may have the empty folder ``holds`` in it already, a relative path without ``..``.

        Raises:
            HostUnavailable: it cannot be made, or the disk is nearly full.
        """
        path = self._folder / run_id
        lacking, _ = shortage(self._spared)
        if lacking:
            raise HostUnavailable(f"{lacking}, so nothing runs in the sandbox. Free some space")
        try:
            self._make(path, holds)
        except OSError as error:
            why = f"the private folder {path} cannot be made ({error.strerror}), so nothing ran"
            raise HostUnavailable(why) from error
        try:
            yield path
        finally:
            self._ended.add(path)
            asyncio.get_running_loop().call_soon(self._tidy, path, holds)

    def limits(self, path: Path) -> Private:
        """Return what a run with this folder is held to."""
        return {"folder": str(path), "bytes": self._most_bytes, "spared": self._spared}

    def _make(self, path: Path, holds: str) -> None:
        spare = self._spares.pop(holds, None)
        if spare is not None:
            with suppress(OSError):  # something else removed it
                os.rename(spare, path)
                return
        os.makedirs(path, mode=0o700)

    def _tidy(self, path: Path, holds: str) -> None:
        """Remove a folder, and prepare another."""
        if path not in self._ended:
            return  # everything was settled in the meantime
        self._remove(path)
        if holds in self._spares:
            return
        if len(self._spares) >= _MOST_SPARES:
            self._discard()
        self._made += 1
        spare = self._folder / f"spare{self._made}"
        with suppress(OSError):  # the next run reports it
            os.mkdir(spare, mode=0o700)
            self._spares[holds] = spare
            os.makedirs(spare / holds, mode=0o700, exist_ok=True)

    def _discard(self) -> None:
        """Remove the spare folder that has waited longest."""
        spare = self._spares.pop(next(iter(self._spares)))
        self._ended.add(spare)
        self._remove(spare)

    def _remove(self, path: Path) -> None:
        """Remove a folder; if it is not empty, in a thread, as there may be much in it."""
        if path not in self._ended:
            return
        self._ended.remove(path)
        try:
            os.rmdir(path)
        except OSError:
            removal = self._removed(path)
            self._removals.add(removal)
            removal.add_done_callback(self._removals.discard)

    def _removed(self, path: Path) -> asyncio.Future[None]:
        return asyncio.get_running_loop().run_in_executor(self._remover, _remove_all, path)


def _remove_all(path: Path) -> None:
    """Remove a tree, and report what cannot be removed."""
    remove_tree(str(path))
    if os.path.lexists(path):
        _log.warning("%s of a run that has ended cannot be removed; remove it by hand", path)
