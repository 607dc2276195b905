"""Run lines in real bash and dash and see the vectors that they would execute.

No program is ever started: a preloaded library (``shell_recorder.c``) records each vector at
execve and ends the process. So even a line that a broken reader lets through does nothing.
"""

import fcntl
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.model.command import Connector, Reading
from core.runner.expand import ExpandedLine
from tests.faults.shell_expected import (
    Ran,
    expected_runs,
    has_made_option,
    undashed,
    without_last_step,
)

SOURCE = Path(__file__).with_name("shell_recorder.c")
SHELLS = (("bash", ("--norc", "--noprofile", "-c", "--")), ("dash", ("-c", "--")))
BUILTINS_TOO = frozenset({"echo", "false", "kill", "printf", "pwd", "test", "true"})
"""Readable names that a shell answers itself, without an execve to see."""
_RECORD_FD = 9
_BRACED = re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_LOCALES = ("C", "C.UTF-8")


class _StandardFiles:
    """Three files that a shell is given, so that the recorder can tell them from pipes."""

    def __init__(self, scratch: Path) -> None:
        self.fds = []
        self.names = {"null": "null", "pipe": "pipe"}
        for name in ("input", "output", "error"):
            self.fds.append(os.open(scratch / name, os.O_RDWR | os.O_CREAT | os.O_APPEND))
            self.names[str(os.fstat(self.fds[-1]).st_ino)] = name


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A line that a shell runs otherwise than its reading says."""

    shell: str
    line: str
    expected: list[list[Ran]]
    executed: list[Ran]


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
        _lay_out(self.cwd)
        self.homes = [scratch / "home", scratch / "ho me"]
        for home in self.homes:
            _lay_out(home / "sub")
        self._standard = _StandardFiles(scratch)
        self._known: set[str] = set()
        self._shells = [(shutil.which(name) or name, name, options) for name, options in SHELLS]

    def home_for(self, line: str) -> str:
        """Return the HOME that this line is given; the second one holds a blank."""
        return str(self.homes[zlib.crc32(os.fsencode(line)) // len(_LOCALES) % len(self.homes)])

    def runnable(self, reading: Reading, line: ExpandedLine) -> bool:
        """Make each name of the line findable; false where a shell would not execve it."""
        line = without_last_step(reading, line)
        return all(self._findable(command.argv[0]) for command in line.commands)

    def _findable(self, name: str) -> bool:
        if name in BUILTINS_TOO or name in {".", ".."} or len(os.fsencode(name)) > 255:
            return False
        if "/" not in name and name not in self._known:
            (self._names / name).touch(mode=0o755)
            self._known.add(name)
        return True

    def check(self, line: str, reading: Reading, expanded: ExpandedLine) -> Iterator[Disagreement]:
        """Yield where a shell disagrees, each exit status tried where one matters."""
        expanded = without_last_step(reading, expanded)
        branches = not {Connector.AND, Connector.OR}.isdisjoint(expanded.connectors)
        if has_made_option(reading, expanded):
            yield Disagreement("no shell: an option", line, expected_runs(expanded, 0), [])
        for flip in (0, 1) if branches else (0,):
            expected = expected_runs(expanded, flip)
            for path, name, options in self._shells:
                # To dash, `&>` is a command in the background and then a redirection.
                # It knows no braces.
                if name == "dash" and ((reading.routings and "&>" in line) or has_braces(line)):
                    continue
                executed = self.execute([path, *options, line], flip)
                if _by_pipeline(executed, expected) != expected:
                    yield Disagreement(name, line, expected, executed)

    def execute(self, argv: list[str], flip: int = 0) -> list[Ran]:
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
                    *((os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(self._standard.fds)),
                    (os.POSIX_SPAWN_DUP2, record, _RECORD_FD),
                ],
            )
            os.waitpid(pid, 0)
            return _parse(os.pread(record, 1 << 20, 0), self._standard.names)
        finally:
            os.close(record)

    def _environment(self, line: str, flip: int) -> dict[str, str]:
        return {
            "PATH": str(self._names),
            "HOME": self.home_for(line),
            "LC_ALL": _LOCALES[zlib.crc32(os.fsencode(line)) % len(_LOCALES)],
            "LD_PRELOAD": str(self._library),
            "RECORDER_FLIP": str(flip),
        }


def has_braces(line: str) -> bool:
    """Tell whether a line may hold a list or a range in braces."""
    return bool(_BRACED.search(line))


def _lay_out(folder: Path) -> None:
    """Make what globs, ``cd`` and tildes find: dotfiles, blanks, dashes, links, other scripts."""
    (folder / "sub" / "in").mkdir(parents=True)
    for name in (
        "a",
        "b",
        "ab",
        "x",
        "c d",
        "-x",
        "-n",
        "ls",
        ".a",
        ".env",
        "a.py",
        "B.py",
        "_c.py",
    ):
        (folder / name).touch()
    for name in ("a.py", "-y.py", "x y.py", ".hidden.py", "in/z", "in/-z", "in/A"):
        (folder / "sub" / name).touch()
    (folder / "nul").mkdir()
    (folder / "wide").mkdir()
    (folder / "wide" / "é").touch()
    (folder / "wide" / "e").touch()
    (folder / "link").symlink_to("sub")
    (folder / "gone").symlink_to("nowhere")


def _by_pipeline(executed: list[Ran], expected: list[list[Ran]]) -> list[list[Ran]]:
    """Cut what ran into the expected pipelines; a surplus becomes one more."""
    cut = []
    at = 0
    for pipeline in expected:
        cut.append(sorted(executed[at : at + len(pipeline)]))
        at += len(pipeline)
    return [*cut, executed[at:]] if executed[at:] else cut


def _parse(record: bytes, names: dict[str, str]) -> list[Ran]:
    fields = map(os.fsdecode, record.split(b"\0")[:-1])
    ran = []
    for count in fields:
        folder = next(fields)
        streams = tuple(names.get(next(fields), "other") for _ in range(3))
        argv = undashed(tuple(next(fields) for _ in range(int(count))))
        ran.append(Ran(argv, folder, streams))
    return ran
