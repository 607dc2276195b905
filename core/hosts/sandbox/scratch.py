"""Keep one private folder for each run, bound as ``/tmp``, and leave none behind."""
# ruff: noqa: PTH102
# A run waits for it; pathlib is ten times slower here.

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from core.errors import HostUnavailable
from core.model.identity import ApprovalId


class Scratch:
    """The private folders of all runs, in a folder of the gateway's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def clear(self) -> None:
        """Remove what runs of a gateway that died have left."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @asynccontextmanager
    async def made(self, run_id: ApprovalId) -> AsyncIterator[Path]:
        """Yield the folder of a run; it is gone afterwards.

        Raises:
            HostUnavailable: it cannot be made.
        """
        path = self._folder / run_id
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            os.mkdir(path, mode=0o700)
        except OSError as error:
            why = f"the private folder {path} cannot be made ({error.strerror}), so nothing ran"
            raise HostUnavailable(why) from error
        try:
            yield path
        finally:
            await _remove(path)


async def _remove(path: Path) -> None:
    """Remove a folder; what holds many files goes in a thread."""
    try:
        os.rmdir(path)
    except OSError:
        removal = asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
        await asyncio.shield(removal)
