"""Hand a job what its commands read, and where its separate streams are kept."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import SpawnError
from core.model.stdio import Stdio
from core.runner.live_output import Feed
from core.runner.supervisor.protocol import Job

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


@contextmanager
def equipped(job: Job, fds: list[int], stdio: Stdio, feed: Feed | None) -> Iterator[None]:
    """Add descriptors to a job, for as long as it is being handed over.

    Raises:
        SpawnError: there is no memory or descriptor for what it reads.
    """
    if feed is not None:
        lent = feed.descriptors()
        job["shelves"] = list(range(len(fds), len(fds) + len(lent)))
        fds += lent
    if stdio.stdin is None:
        yield
        return
    memory = _sealed(stdio.stdin)
    try:
        job["stdin"] = len(fds)
        fds.append(memory)
        yield
    finally:
        os.close(memory)


def _sealed(content: bytes) -> int:
    """Return a file in memory that nobody can change: reading it needs no writer, so no SIGPIPE."""
    try:
        memory = os.memfd_create("sayso-stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        raise SpawnError(f"no space for its standard input: {error.strerror}") from error
    try:
        written = 0
        while written < len(content):
            written += os.pwrite(memory, content[written:], written)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(memory)
        raise
    return memory
