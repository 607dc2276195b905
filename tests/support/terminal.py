"""Run a command as a person would: in the foreground of its own terminal."""

import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.product_process import start
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def terminal(
    *words: str, environ: Mapping[str, str] | None = None, real: bool = True
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a command in the foreground of a controlling terminal; yield it and our end of it.

    If ``real``, it is started by exec: see ``product_process``.
    """
    master, slave = os.openpty()
    process = start(
        words,
        real=real,
        foreground=True,
        cwd=ROOT,
        env=dict(os.environ if environ is None else environ),
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    try:
        yield process, master
    finally:
        process.kill()
        process.wait(30)
        os.close(master)


def in_terminal(*words: str, environ: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run a command to its end as `terminal` does; return its exit code and output."""
    with terminal(*words, environ=environ, real=False) as (process, master):
        written = b"".join(iter(lambda: _chunk(master), b""))
        process.wait(30)
        return process.returncode, written.decode(errors="replace").replace("\r\n", "\n")


def _chunk(master: int) -> bytes:
    try:
        return os.read(master, 65_536)
    except OSError:  # EIO: the last process that had the terminal has ended
        return b""


class Screen:
    """What a terminal shows, and its keyboard."""

    def __init__(self, master: int) -> None:
        self._master = master
        self.text = ""

    def wait_for(self, words: str) -> None:
        """Read until these words appear."""

        def look() -> bool:
            if not self._read():
                raise AssertionError(f"the terminal closed before {words!r}:\n{self.text}")
            return words in self.text

        wait_until(words, look, seconds=30)

    def _read(self) -> bool:
        """Read what has arrived; return ``False`` if the terminal is closed."""
        ready, _, _ = select.select([self._master], [], [], 0.1)
        chunk = _chunk(self._master) if ready else b""
        self.text += chunk.decode(errors="replace")
        return bool(chunk) or not ready

    def answer(self, keys: str) -> None:
        """Answer the prompt that is shown; repeat if the answer came before it was read."""
        self.type(f"{keys}\n")

        def taken() -> bool:
            self._read()
            if "then type again" in self.text:
                self.type(f"{keys}\n")
            return "Allowed" in self.text or "Denied" in self.text

        wait_until(f"the answer {keys}", taken, seconds=30)

    def type(self, text: str) -> None:
        """Press keys; what was shown before is forgotten."""
        self.text = ""
        os.write(self._master, text.encode())
