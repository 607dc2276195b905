"""End and remove containers, by the command line of docker or podman."""

import asyncio
import logging
import os
from collections.abc import Mapping

from core.errors import SaysoError
from core.hosts.sandbox.internal_commands import Granted, own_plan
from core.model.identity import ApprovalId
from core.model.result import Finished
from core.runner.runner import Runner

_log = logging.getLogger(__name__)
_PATIENCE_MS = 20_000
_PAUSES_S = (0.1, 0.3, 1.0, 3.0)


class Containers:
    """The containers of an engine; ``binary`` is its absolute path, ``environ`` what it reads."""

    def __init__(self, runner: Runner, binary: str, environ: Mapping[str, str]) -> None:
        self._runner = runner
        self._binary = binary
        self._environ = environ

    async def remove(self, label: str) -> None:
        """End and remove all that carry a label; what cannot be removed is logged.

        An engine refuses what it is starting or stopping at the time, so it is retried.
        """
        for pause_s in _PAUSES_S:
            if await self._none_after_removal(label):
                return
            await asyncio.sleep(pause_s)
        if not await self._none_after_removal(label):
            _log.warning(
                "containers may be left over; list them with `%s ps --all --filter label=%s` and "
                "remove them with `rm --force`",
                *(self._binary, label),
            )

    async def _none_after_removal(self, label: str) -> bool:
        """Remove the containers that exist; ``False`` until the engine lists none any more."""
        for container in await self._listed(label) or ():
            await self._ran("kill", container)
            await self._ran("rm", "--force", container)
        return await self._listed(label) == ()

    async def _listed(self, label: str) -> tuple[str, ...] | None:
        done = await self._ran("ps", "--all", "--quiet", "--filter", f"label={label}")
        return tuple(done.output.text.split()) if done and done.exit_code == 0 else None

    async def _ran(self, *words: str) -> Finished | None:
        """Run the engine's command line for ourselves; ``None`` if that is impossible."""
        try:
            plan = own_plan((self._binary, *words), "/", _PATIENCE_MS, self._environ)
            run_id = ApprovalId(f"engine{os.urandom(8).hex()}")
            return await self._runner.run(run_id, plan, Granted(), own=True)
        except SaysoError as failure:
            _log.warning("cannot query the container engine: %s", failure)
            return None
