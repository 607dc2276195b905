"""Use up this process's free file descriptors for a while, as the kernel reports it (EMFILE)."""

import itertools
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def none_left(but: int = 0) -> Iterator[None]:
    """Leave exactly this many free descriptors, even if the open ones have gaps."""
    free = itertools.islice(filter(_is_free, itertools.count()), but, None)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next(free), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _is_free(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return True
    return False
