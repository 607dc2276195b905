"""Run a system program for one of our commands, under a supervisor of core.runner."""

import asyncio
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from core.hosts.sandbox.internal_commands import Granted, own_plan
from core.model.identity import ApprovalId
from core.runner.runner import Runner

_PATIENCE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended: ``well`` is exit code 0."""

    well: bool
    text: str


def ran(argv: tuple[str, ...], environ: Mapping[str, str] | None = None) -> Done:
    """Run a program to its end.

    Raises:
        HostUnavailable: it does not exist.
        SpawnError: no process can be started at all.
    """
    return asyncio.run(_ran(argv, environ or {}))


async def _ran(argv: tuple[str, ...], environ: Mapping[str, str]) -> Done:
    runner = Runner()
    await runner.start()
    try:
        plan = own_plan(argv, "/", _PATIENCE_MS, environ)
        run_id = ApprovalId(f"service{secrets.token_hex(8)}")
        done = await runner.run(run_id, plan, Granted(), own=True)
    finally:
        await runner.stop()
    logging.getLogger(__name__).debug("%s ended with %s", argv[0], done.exit_code)
    return Done(done.exit_code == 0, done.output.text)
