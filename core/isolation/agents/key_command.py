"""Run the command that prints a key: as the gateway's own user, chosen by the administrator."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from contextlib import suppress

from core.errors import SaysoError

_PATIENCE_S = 20.0
_LONGEST = 65_536


async def printed_key(argv: Sequence[str]) -> str:
    """Return the first line that a command prints.

    Raises:
        SaysoError: it failed, timed out or printed nothing; the message never has its output.
    """
    try:
        process = await asyncio.create_subprocess_exec(  # noqa: TID251 - a key manager's program
            *argv,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            start_new_session=True,
        )
    except OSError as failure:
        raise SaysoError(f"the command of a key cannot be started: {failure.strerror}") from failure
    try:
        async with asyncio.timeout(_PATIENCE_S):
            printed, _ = await process.communicate()
    except TimeoutError:
        raise SaysoError(f"the command of a key took longer than {_PATIENCE_S:.0f} s") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    key = printed[:_LONGEST].decode(errors="replace").partition("\n")[0].strip()
    if process.returncode != 0 or not key:
        raise SaysoError(f"the command of a key ended ({process.returncode}) without one")
    return key
