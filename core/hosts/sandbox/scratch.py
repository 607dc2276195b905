"""Keep one private folder for each run, bound as ``/tmp``, and leave none behind."""
# ruff: noqa: PTH101, PTH103, PTH106, PTH114, PTH118
# A run waits for it; pathlib is ten times slower here.

import asyncio
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.errors import HostUnavailable
from core.model.identity import ApprovalId

_log = logging.getLogger(__name__)


class Scratch:
    """The private folders of all runs, in a folder of the gateway's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended: set[Path] = set()
        self._removals: set[asyncio.Future[None]] = set()

    async def clear(self) -> None:
        """Remove what runs of a gateway that died have left."""
        await asyncio.to_thread(_remove_all, self._folder)

    async def settle(self) -> None:
        """Wait until all that has to go is gone."""
        for path in tuple(self._ended):
            self._remove(path)
        await asyncio.gather(*self._removals)

    @contextmanager
    def made(self, run_id: ApprovalId) -> Iterator[Path]:
        """Yield the folder of a run; it is removed afterwards, without holding anybody up.

        Raises:
            HostUnavailable: it cannot be made.
        """
        path = self._folder / run_id
        try:
            os.makedirs(path, mode=0o700)
        except OSError as error:
            why = f"the private folder {path} cannot be made ({error.strerror}), so nothing ran"
            raise HostUnavailable(why) from error
        try:
            yield path
        finally:
            self._ended.add(path)
            asyncio.get_running_loop().call_soon(self._remove, path)

    def _remove(self, path: Path) -> None:
        """Remove a folder; one that holds something in a thread, for that may be much."""
        if path not in self._ended:
            return
        self._ended.remove(path)
        try:
            os.rmdir(path)
        except OSError:
            removal = asyncio.ensure_future(asyncio.to_thread(_remove_all, path))
            self._removals.add(removal)
            removal.add_done_callback(self._removals.discard)


def _remove_all(path: Path) -> None:
    """Remove a tree, also where a command took the rights to its folders away."""
    _open(str(path))
    for folder, names, _ in os.walk(path):
        for name in names:
            _open(os.path.join(folder, name))
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        _log.warning("%s of a run that has ended cannot be removed; remove it by hand", path)


def _open(folder: str) -> None:
    if not os.path.islink(folder):
        with suppress(OSError):  # what stays is told in the end
            os.chmod(folder, 0o700)
