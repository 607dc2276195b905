"""Run lines in real bash, dash and zsh and record the vectors that they would execute.

No program is ever started: a preloaded library (``shell_recorder.c``) records each vector at
execve and ends the process. So even a line that a broken reader lets through does nothing.
"""

import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from core.model.command import Connector, ErrorTo, OpenWord, PartKind, Reading, Word
from core.planning.expand import ExpandedLine
from tests.faults.shell_expected import (
    Ran,
    expected_runs,
    has_made_option,
    undashed,
    without_last_step,
)

SOURCE = Path(__file__).with_name("shell_recorder.c")
SHELLS = (
    ("bash", ("--norc", "--noprofile", "-c", "--")),
    ("dash", ("-c", "--")),
    # Remembering where programs are means nothing to a line, and takes long in a large folder.
    ("zsh", ("-f", "-o", "nohashcmds", "-o", "nohashdirs", "-c", "--")),
)
BUILTINS_TOO = frozenset({"echo", "false", "kill", "printf", "pwd", "test", "true"})
"""Readable names that a shell handles itself, without an execve to see."""
_LINES_FD, _RECORD_FD = 8, 9
_SIZES = struct.Struct("=4I")
_SIZE = struct.Struct("=I")
_NOT_READ = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|(?<![^\s;&|])#[^\n]*""", re.DOTALL)
"""Text without operators: quoted text, and comments, whose quotes are not quotes."""
_BELOW = re.compile(r"(?:^|/)\*{2,}/")
_BRACED = re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_LOCALES = ("C", "C.UTF-8")


class _StandardFiles:
    """Three files given to a shell, so that the recorder can tell them from pipes."""

    def __init__(self, scratch: Path) -> None:
        self.fds = []
        self.names = {"null": "null", "pipe": "pipe"}
        for name in ("input", "output", "error"):
            self.fds.append(os.open(scratch / name, os.O_RDWR | os.O_CREAT | os.O_APPEND))
            self.names[str(os.fstat(self.fds[-1]).st_ino)] = name


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A line that a shell runs differently from its reading."""

    shell: str
    line: str
    expected: list[list[Ran]]
    executed: list[Ran]


class _Server:
    """One shell that is ready to run a line: each runs in a fork of it (``shell_recorder.c``)."""

    def __init__(self, argv: list[str], environ: dict[str, str], standard: _StandardFiles) -> None:
        ours, theirs = socket.socketpair()
        files = [*standard.fds, theirs.fileno()]
        self._names = standard.names
        self._socket = ours
        self._pid = os.posix_spawn(
            argv[0],
            [*argv, ""],
            environ | {"RECORDER_SERVES": "1"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, fd, to)
                for fd, to in zip(files, (0, 1, 2, _LINES_FD), strict=True)
            ],
        )
        theirs.close()

    def run(self, line: str, home: str, locale: str, flip: int) -> list[Ran]:
        """Run one line and return what it would have executed."""
        sent = [os.fsencode(text) + b"\0" for text in (home, locale, str(flip), line)]
        self._socket.sendall(_SIZES.pack(*map(len, sent)) + b"".join(sent))
        (size,) = _SIZE.unpack(self._received(_SIZE.size))
        return _parse(self._received(size), self._names)

    def _received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise RuntimeError("a shell of the fuzz has ended")
            data += more
        return data

    def close(self) -> None:
        """End it: it exits at the end of its socket."""
        self._socket.close()
        os.waitpid(self._pid, 0)


class ShellRuns:
    """Starts shells in a scratch folder; ``check`` may be called from several threads."""

    def __init__(self, scratch: Path) -> None:
        """Compile the recorder and create files that globs and tildes would find."""
        compiler = shutil.which("cc")
        missing = [name for name, _ in SHELLS if shutil.which(name) is None]
        if compiler is None or missing:
            needed = "gcc, libc6-dev, bash, dash and zsh"
            raise RuntimeError(f"install {needed}: no {missing or 'cc'} found")
        self._library = scratch / "recorder.so"
        subprocess.run(
            [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", self._library, SOURCE],
            check=True,
        )
        self._names = scratch / "names"
        self._names.mkdir()
        self.cwd = scratch / "cwd"
        self.cwd.mkdir(exist_ok=True)
        _lay_out(self.cwd)
        self.homes = [scratch / "home", scratch / "ho me"]
        for home in self.homes:
            _lay_out(home / "sub")
        self._standard = _StandardFiles(scratch)
        self._known: set[str] = set()
        self._own = threading.local()
        self._started: list[_Server] = []
        self._environ = {"PATH": str(self._names), "LD_PRELOAD": str(self._library)}

    def home_for(self, line: str) -> str:
        """Return the HOME that this line is given; the second one contains a blank."""
        return str(self.homes[zlib.crc32(os.fsencode(line)) // len(_LOCALES) % len(self.homes)])

    def runnable(self, reading: Reading, line: ExpandedLine) -> bool:
        """Make each name of the line findable; return false if a shell would not execve it."""
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
            for name in shells_for(line, reading, expanded):
                executed = self.execute(name, line, flip)
                if _by_pipeline(executed, expected) != expected:
                    yield Disagreement(name, line, expected, executed)

    def execute(self, shell: str, line: str, flip: int = 0) -> list[Ran]:
        """Run a line in one shell, in ``cwd``, and return what it would have executed."""
        locale = _LOCALES[zlib.crc32(os.fsencode(line)) % len(_LOCALES)]
        return self._servers()[shell].run(line, self.home_for(line), locale, flip)

    def _servers(self) -> dict[str, _Server]:
        """Return the shells of this thread, each started when first asked for."""
        if not hasattr(self._own, "servers"):
            self._own.servers = {
                name: _Server([shutil.which(name) or name, *options], self._environ, self._standard)
                for name, options in SHELLS
            }
            self._started += self._own.servers.values()
        servers: dict[str, _Server] = self._own.servers
        return servers

    def close(self) -> None:
        """End all shells."""
        for server in self._started:
            server.close()


def shells_for(line: str, reading: Reading, expanded: ExpandedLine) -> list[str]:
    """Name the shells that read a line alike, as far as its reading is proved for them."""
    # To dash, `&>` is a background command and then a redirection; it knows no braces.
    dash = not (reading.routings and "&>" in line) and not has_braces(line)
    zsh = zsh_covers(line, reading, expanded)
    return ["bash", *(["dash"] if dash else []), *(["zsh"] if zsh else [])]


def zsh_covers(line: str, reading: Reading, expanded: ExpandedLine) -> bool:
    """Return whether zsh is documented to run a line as bash does (docs/reference/policy.md).

    A pattern that matches nothing ends the line, and ``**/`` is all folders below. It sends
    output to a file *and* down the pipe, or to both of two files. After a variable it reads ``:h``
    and ``[1]``. Some of its builtins are programs in the others.
    """
    if any(_is_globbed(word) for loop in reading.loops for word in loop.words):
        return False
    words = [word for one in expanded.commands for word in one.argv]
    globbed = any(_is_globbed(word) for words in reading.argvs for word in words)
    if globbed and any(mark in word for word in words for mark in "*?"):
        return False
    if any(map(_goes_below, chain.from_iterable(reading.argvs))):
        return False
    if re.search(r"\$\{?[\w?]+\}?[:\[]", line):
        return False
    if not _zsh_words().isdisjoint(one.argv[0] for one in expanded.commands):
        return False
    return not reading.routings or _leads_each_stream_once(line, reading)


@cache
def _zsh_words() -> frozenset[str]:
    names = "print -rl -- ${(k)builtins} ${(k)reswords}"
    command = ["zsh", "-f", "-c", f"zmodload zsh/parameter; {names}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return frozenset(done.stdout.split())


def _is_globbed(word: Word) -> bool:
    return isinstance(word, OpenWord) and any(part.kind is PartKind.GLOB for part in word.parts)


def _goes_below(word: Word) -> bool:
    if not isinstance(word, OpenWord) or not _is_globbed(word):
        return False
    return _BELOW.search("".join(one.text for one in word.parts)) is not None


def _leads_each_stream_once(line: str, reading: Reading) -> bool:
    joins = (*reading.connectors, Connector.THEN)
    for routing, before, after in zip(
        reading.routings, (Connector.THEN, *joins), joins, strict=False
    ):
        if Connector.PIPE in {before, after} and (routing.null_output or routing.null_input):
            return False
    needed = sum(
        one.null_input + one.null_output + (one.error is not ErrorTo.RUN)
        for one in reading.routings
    )
    unquoted = _NOT_READ.sub("", line)
    return len(re.findall(r"[<>]", unquoted)) + unquoted.count("&>") <= needed


def has_braces(line: str) -> bool:
    """Return whether a line may contain a list or a range in braces."""
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
    """Cut what ran into the expected pipelines; a surplus becomes an extra one."""
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
