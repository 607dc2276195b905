"""Run a command as a person would: in the foreground of a terminal of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FRONT = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def terminal(
    *words: str, environ: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a command with a controlling terminal, in its foreground; yield it and our end of it."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _FRONT, *words],
        cwd=ROOT,
        env=dict(os.environ if environ is None else environ),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield process, master
    finally:
        process.kill()
        process.wait(30)
        os.close(master)


def in_terminal(*words: str, environ: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run a command to its end as `terminal` does; return its exit code and what it wrote."""
    with terminal(*words, environ=environ) as (process, master):
        written = b"".join(iter(lambda: _chunk(master), b""))
        process.wait(30)
        return process.returncode, written.decode(errors="replace").replace("\r\n", "\n")


def _chunk(master: int) -> bytes:
    try:
        return os.read(master, 65_536)
    except OSError:  # EIO: the last process that had the terminal has ended
        return b""
