"""Run lines in real bash and dash and see the vectors that they would execute.

No program is ever started: a preloaded library (``shell_recorder.c``) records each vector at
execve and ends the process. So even a line that a broken reader lets through does nothing.
"""

import fcntl
import os
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.model.command import Connector, Reading

Argv = tuple[str, ...]
SOURCE = Path(__file__).with_name("shell_recorder.c")
SHELLS = (("bash", ("--norc", "--noprofile", "-c", "--")), ("dash", ("-c", "--")))
BUILTINS_TOO = frozenset({"echo", "false", "kill", "printf", "pwd", "test", "true"})
"""Readable names that a shell answers itself, without an execve to see."""
_RECORD_FD = 9
_LOCALES = ("C", "C.UTF-8")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A line that a shell runs otherwise than its reading says."""

    shell: str
    line: str
    expected: list[list[Argv]]
    executed: list[Argv]


def parity(argv: Argv, flip: int) -> int:
    """Return the exit status that the recorder gives this vector."""
    return sum(len(os.fsencode(word)) for word in argv) & 1 ^ flip


def expected_runs(reading: Reading, flip: int) -> list[list[Argv]]:
    """Walk a reading as the runner would; each inner list is one pipeline, in any order."""
    pipelines: list[list[Argv]] = [[reading.argvs[0]]]
    joins: list[Connector] = []
    for connector, argv in zip(reading.connectors, reading.argvs[1:], strict=True):
        if connector is Connector.PIPE:
            pipelines[-1].append(argv)
        else:
            joins.append(connector)
            pipelines.append([argv])
    runs = [sorted(pipelines[0])]
    status = parity(pipelines[0][-1], flip)
    for join, pipeline in zip(joins, pipelines[1:], strict=True):
        if join is Connector.THEN or (status == 0) is (join is Connector.AND):
            runs.append(sorted(pipeline))
            status = parity(pipeline[-1], flip)
    return runs


class ShellRuns:
    """Starts shells in a scratch folder; ``check`` may be called from several threads."""

    def __init__(self, scratch: Path) -> None:
        """Compile the recorder and lay out files that globs and tildes would find."""
        compiler = shutil.which("cc")
        missing = [name for name, _ in SHELLS if shutil.which(name) is None]
        if compiler is None or missing:
            raise RuntimeError(f"install gcc, libc6-dev, bash and dash: no {missing or 'cc'} found")
        self._library = scratch / "recorder.so"
        subprocess.run(
            [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", self._library, SOURCE],
            check=True,
        )
        self._names = scratch / "names"
        self._names.mkdir()
        self.cwd = scratch / "cwd"
        self.cwd.mkdir()
        for name in ("a", "b", "ab", "x", "c d", "-x", "ls"):
            (self.cwd / name).touch()
        self._known: set[str] = set()
        self._shells = [(shutil.which(name) or name, name, options) for name, options in SHELLS]

    def runnable(self, reading: Reading) -> bool:
        """Make each name of the reading findable; false where a shell would not execve it."""
        return all(self._findable(argv[0]) for argv in reading.argvs)

    def _findable(self, name: str) -> bool:
        if name in BUILTINS_TOO or name in {".", ".."} or len(os.fsencode(name)) > 255:
            return False
        if "/" not in name and name not in self._known:
            (self._names / name).touch(mode=0o755)
            self._known.add(name)
        return True

    def check(self, line: str, reading: Reading) -> Iterator[Disagreement]:
        """Yield where a shell disagrees, each exit status tried where one matters."""
        branches = not {Connector.AND, Connector.OR}.isdisjoint(reading.connectors)
        for flip in (0, 1) if branches else (0,):
            expected = expected_runs(reading, flip)
            for path, name, options in self._shells:
                executed = self.execute([path, *options, line], flip)
                if _by_pipeline(executed, expected) != expected:
                    yield Disagreement(name, line, expected, executed)

    def execute(self, argv: list[str], flip: int = 0) -> list[Argv]:
        """Run one shell, in the current folder, and return what it would have executed."""
        original = os.memfd_create("record")
        # Above 9, or moving it onto 9 would leave it close-on-exec.
        record = fcntl.fcntl(original, fcntl.F_DUPFD_CLOEXEC, 16)
        os.close(original)
        # Members of a pipeline write at once, and a memfd's position is not locked: append.
        fcntl.fcntl(record, fcntl.F_SETFL, os.O_APPEND)
        try:
            pid = os.posix_spawn(
                argv[0],
                argv,
                self._environment(argv[-1], flip),
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_DUP2, record, _RECORD_FD),
                ],
            )
            os.waitpid(pid, 0)
            return _parse(os.pread(record, 1 << 20, 0))
        finally:
            os.close(record)

    def _environment(self, line: str, flip: int) -> dict[str, str]:
        return {
            "PATH": str(self._names),
            "HOME": "/home/u",
            "LC_ALL": _LOCALES[zlib.crc32(os.fsencode(line)) % len(_LOCALES)],
            "LD_PRELOAD": str(self._library),
            "RECORDER_FLIP": str(flip),
        }


def _by_pipeline(executed: list[Argv], expected: list[list[Argv]]) -> list[list[Argv]]:
    """Cut what ran into the expected pipelines; a surplus becomes one more."""
    cut = []
    at = 0
    for pipeline in expected:
        cut.append(sorted(executed[at : at + len(pipeline)]))
        at += len(pipeline)
    return [*cut, executed[at:]] if executed[at:] else cut


def _parse(record: bytes) -> list[Argv]:
    fields = iter(record.split(b"\0")[:-1])
    return [tuple(os.fsdecode(next(fields)) for _ in range(int(count))) for count in fields]
