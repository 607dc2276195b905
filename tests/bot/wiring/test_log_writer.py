"""Write a log that no one reads, and one whose reader is gone: real pipes, real processes."""

import fcntl
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.wiring.log_writer import LogWriter

LINES = 3000
_PROGRAM = """
import logging, sys
from bot.wiring.logs import configure
configure(json_lines="json" in sys.argv)
for number in range(int(sys.argv[1])):
    logging.getLogger("bot").info("%d %s", number, "many words " * 100)
    if number % 200 == 0:
        sys.stderr.write(f"said {number}\\n")
print("written", flush=True)
sys.stdin.readline()
"""
ROOT = Path(__file__).resolve().parents[3]


def logging_process(lines: int, stderr: int, *more: str) -> "subprocess.Popen[bytes]":
    """Start a process that logs this many lines, says so, and waits for a line of ours."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(lines), *more],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )


def end(process: "subprocess.Popen[bytes]") -> int:
    """Let the process end, and return its exit code."""
    process.communicate(b"\n", timeout=30)
    return process.returncode


@pytest.mark.parametrize("style", ["plain", "json"])
def test_what_does_not_fit_is_counted(style: str) -> None:
    """The process continues; once someone reads, the log says how much of it is missing."""
    ours, theirs = os.pipe()
    with logging_process(LINES, theirs, style) as process, os.fdopen(ours) as log:
        os.close(theirs)
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        lines = []
        while "log messages were dropped" not in (line := log.readline()):
            lines.append(line)
        assert end(process) == 0

    said = int(re.findall(r"(\d+) log messages", line)[0])
    assert len(lines) + said == LINES + LINES // 200
    assert 0 < said < LINES
    assert line.startswith("{" if style == "json" else "20"), line


def test_the_end_does_not_wait_for_the_reader() -> None:
    """A process whose log no one reads still ends, with its own exit code."""
    ours, theirs = os.pipe()
    with logging_process(LINES, theirs) as process:
        os.close(theirs)
        assert end(process) == 0
    os.close(ours)


def test_the_end_waits_for_a_slow_reader() -> None:
    """What its reader takes, bit by bit, is not cut off after a moment."""
    ours, theirs = os.pipe()
    read = b""
    with logging_process(500, theirs) as process:
        os.close(theirs)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.stdin.write(b"\n")
        process.stdin.flush()
        while piece := os.read(ours, 1 << 16):
            read += piece
            time.sleep(0.15)
        assert process.wait(timeout=30) == 0
    os.close(ours)

    assert [int(one) for one in re.findall(rb"(\d+) many words", read)] == list(range(500))


def test_a_reader_that_is_gone_changes_no_exit_code() -> None:
    """Each write fails with EPIPE; without the writer the interpreter would end with 120."""
    ours, theirs = os.pipe()
    os.close(ours)
    with logging_process(10, theirs) as process:
        os.close(theirs)
        assert end(process) == 0


def test_all_is_written_before_the_end(tmp_path: Path) -> None:
    """A log that is read loses nothing at the end of the process."""
    path = tmp_path / "log"
    with path.open("wb") as log, logging_process(500, log.fileno()) as process:
        assert end(process) == 0

    assert len(path.read_text().splitlines()) == 503


def test_a_pipe_that_does_not_block_loses_nothing() -> None:
    """The maker of the pipe may have set O_NONBLOCK: a write that finds it full is repeated."""
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(theirs, False)
    writer = LogWriter(theirs)
    sent = bytes(range(256)) * 400
    for start in range(0, len(sent), 1000):
        writer.write(sent[start : start + 1000])
    got = b""
    while len(got) < len(sent):
        got += os.read(ours, 1 << 16)

    assert writer.drain(10)
    assert got == sent
    os.close(ours)


def test_a_wait_for_the_rest_is_bounded() -> None:
    """What waits for the writer waits no longer than stated."""
    ours, theirs = os.pipe()
    writer = LogWriter(theirs)
    writer.write(bytes(1 << 19))
    began = time.monotonic()

    assert not writer.drain(0.1)
    assert time.monotonic() - began >= 0.1
    os.close(ours)


def test_at_the_end_a_reader_that_takes_nothing_is_not_waited_for() -> None:
    """A process that only has its log left to write ends."""
    ours, theirs = os.pipe()
    writer = LogWriter(theirs)
    writer.write(bytes(1 << 19))
    began = time.monotonic()
    writer.finish()

    assert time.monotonic() - began < 3
    os.close(ours)
