"""Let another Unix user do something for as long as a block lasts."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from bot.executor_setup.archive import interpreter


@contextmanager
def doing(uid: int, code: str, *words: object) -> Iterator[str]:
    """Run a program as a user until the block's end; yield the first line that it prints.

    Once there, it waits for the end of its input.
    """
    with subprocess.Popen(
        (interpreter(), "-I", "-S", "-c", code, *map(str, words)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        user=uid,
        text=True,
    ) as started:
        assert started.stdout is not None
        yield started.stdout.readline()
        started.communicate()
