"""Take all file descriptors from this process for a while, as the kernel does (EMFILE)."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def none_left(but: int = 0) -> Iterator[None]:
    """Leave so many free descriptors, fewer where there are gaps between those that are open."""
    lowest = os.dup(0)
    os.close(lowest)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + but, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
