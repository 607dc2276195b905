"""Run `sayso run` as a process each time, forked from one that has loaded only the CLI.

For thousands of lines: each takes a third of what ``product_process`` takes, which loads a gateway.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.gateway_process import ROOT, GatewayProcess


class Forked:
    """The process that forks; the words of each call are those of `sayso`."""

    def __init__(self, gateway: GatewayProcess) -> None:
        self._folder = gateway.home
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked_cli", str(self._folder)],
            cwd=ROOT,
            env=gateway.environ(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, bytes, bytes]:
        """Run to the end; return exit code, standard output and standard error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        out, error = (path.read_bytes() for path in _streams(self._folder))
        return code, out, error

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=20)


@contextmanager
def forked(gateway: GatewayProcess) -> Iterator[Forked]:
    """Yield a way to run the CLI of a gateway."""
    found = Forked(gateway)
    try:
        yield found
    finally:
        found.close()


def _streams(folder: Path) -> tuple[Path, Path]:
    return folder / "cli.out", folder / "cli.error"


def _serve(folder: Path) -> None:
    from bot.cli import main  # noqa: PLC0415 - as the next line
    from bot.cli.run import command as run  # noqa: PLC0415 - `run`, which main loads, is loaded only once

    assert run
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _redirect(folder)
            os._exit(main(json.loads(line)))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _redirect(folder: Path) -> None:
    files = (Path(os.devnull), *_streams(folder))
    for number, (path, flags) in enumerate(
        zip(files, (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT | os.O_TRUNC] * 2), strict=True)
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
