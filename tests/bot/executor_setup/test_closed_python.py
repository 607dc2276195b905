"""Keep readers away from an executor that starts: the interpreter that no one may read."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.executor_setup import closed_python
from bot.executor_setup.archive import interpreter
from tests.support.executors import UID, USER, installed
from tests.support.waiting import wait_until

TRACER = Path(__file__).parents[2] / "support/tracer.py"
GROUP = pwd.getpwnam(USER).pw_gid
YAMA = "/proc/sys/kernel/yama/ptrace_scope"
AS_OTHER: dict[str, Any] = {
    "user": UID,
    "group": GROUP,
    "extra_groups": [],
    "cwd": "/",
    "env": {"PATH": os.defpath},
}


@pytest.fixture
def place() -> Iterator[str]:
    """Yield where a copy may be put: below folders that are root's."""
    folder = Path(tempfile.mkdtemp(prefix="sayso-python-"))
    folder.chmod(0o755)
    yield str(folder / "own/python3")
    shutil.rmtree(folder)


def test_the_copy_runs_as_the_original_and_nobody_may_read_it(place: str) -> None:
    """With the original's library, for a user who cannot read it."""
    closed_python.copy(interpreter(), place)
    words = [place, "-IS", "-c", "import json, sys; print(json.__file__, sys.version)"]
    own = [interpreter(), *words[1:]]
    said = [subprocess.check_output(one, **AS_OTHER) for one in (words, own)]

    assert said[0] == said[1]
    assert closed_python.is_copied(interpreter(), place)
    read = subprocess.run(["cat", place], check=False, capture_output=True, **AS_OTHER)
    assert read.returncode == 1


def test_what_became_of_a_copy_is_seen(place: str) -> None:
    """Readable by others, of another version, or without its library: it is copied again."""
    assert not closed_python.is_copied(interpreter(), place)
    changes: tuple[Callable[[], None], ...] = (
        lambda: Path(place).chmod(0o755),
        lambda: os.utime(place, (1, 1)),
        lambda: os.truncate(place, 5),
        lambda: Path(place).with_name("pyvenv.cfg").unlink(),
        lambda: os.chown(place, UID, GROUP),
    )
    for change in changes:
        closed_python.copy(interpreter(), place)
        assert closed_python.is_copied(interpreter(), place)
        change()
        assert not closed_python.is_copied(interpreter(), place)
    closed_python.remove(place)
    assert not closed_python.is_there(place)


@contextmanager
def attacked(path: str) -> Iterator[Callable[[], tuple[bool, str]]]:
    """Yield what starts an executor under attack: whether it is closed, and the tracer's words."""
    with tempfile.TemporaryFile() as said:
        code = TRACER.read_text()
        words = [interpreter(), "-I", "-c", code, path]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=said, **AS_OTHER) as tracer:
            wait_until("the tracer", lambda: b"ready" in os.pread(said.fileno(), 64, 0))

            def start() -> tuple[bool, str]:
                closed, pid = started(path)
                text = os.pread(said.fileno(), 1 << 24, 0).decode()
                return closed, "\n".join(one for one in text.split("\n") if one.endswith(pid))

            yield start
            tracer.kill()


def started(path: str) -> tuple[bool, str]:
    """Start an executor as sudo does; return whether it was closed, and the end of a line."""
    ours, theirs = socket.socketpair()
    with ours, theirs, subprocess.Popen([path], stdin=theirs.fileno(), **AS_OTHER) as process:
        theirs.close()
        ours.settimeout(60)
        ours.sendall(b'{"id":1,"method":"ping"}\n')
        said = ours.recv(4096)
        ours.close()
        process.wait(60)
        return b'"closed":true' in said, f" {process.pid}"


def test_no_process_of_the_user_gets_into_an_executor_that_starts() -> None:
    """Each attempt is refused, from the first instruction on; nothing depends on Yama."""
    with installed() as path, attacked(path) as start:
        found = [start() for _ in range(5)]

    assert all(closed for closed, _ in found)
    assert "refused" in "".join(words for _, words in found)
    assert not [words for _, words in found if "in " in words]


def test_the_control_a_tracer_gets_into_one_whose_python_it_may_read() -> None:
    """So the attempts above are real ones."""
    if Path(YAMA).exists() and Path(YAMA).read_text() != "0\n":
        how = "Yama lets no process trace another; `sysctl kernel.yama.ptrace_scope=0` lets it"
        assert "CI" not in os.environ, how
        pytest.skip(how)
    with installed(closed=False) as path, attacked(path) as start:
        found = start()
        while "in " not in found[1]:
            found = start()

    assert not found[0]
