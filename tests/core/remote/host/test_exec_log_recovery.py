"""Recover from a crash: one final entry per unfinished request, processes ended, nothing re-run."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.audit.verify import verify
from core.remote.host.exec_log import FINAL, ExecEvent, ExecLog, open_exec_log
from core.runner.supervisor.processes import procfs


def entries(path: Path) -> list[dict[str, Any]]:
    """Return the log's entries."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def finals(path: Path) -> dict[str, list[str]]:
    """Return the final entries of each run."""
    found: dict[str, list[str]] = {one["run"]: [] for one in entries(path)}
    for one in entries(path):
        if one["kind"] in FINAL:
            found[one["run"]].append(one["kind"])
    return found


async def _interrupted(log: ExecLog) -> None:
    """Write what a crash at each moment leaves behind, and two that ended."""
    note = log.note
    for run in ("done", "refused", "asked", "started", "cancelled"):
        await note(ExecEvent.REQUESTED, run, agent="a" * 64)
    await note(ExecEvent.DENIED, "refused")
    for run in ("done", "started", "cancelled"):
        await note(ExecEvent.STARTED, run)
    await note(ExecEvent.CANCELLED, "cancelled")
    await note(ExecEvent.FINISHED, "done", code=0)
    await note(ExecEvent.DENIED, "stranger")


async def test_each_unfinished_request_gets_exactly_one_unknown(tmp_path: Path) -> None:
    """Requested, started or being cancelled; a second and a third start add nothing."""
    path = tmp_path / "exec.log"
    log = open_exec_log(path, list)
    await _interrupted(log)
    log.close()
    for expected in (3, 0, 0):
        log = open_exec_log(path, list)
        assert await log.recover() == expected
        log.close()

    assert finals(path) == {
        "done": ["finished"],
        "refused": ["denied"],
        "asked": ["unknown"],
        "started": ["unknown"],
        "cancelled": ["unknown"],
        "stranger": ["denied"],
    }
    assert verify(path).ok


async def test_a_note_that_does_not_fit_the_log_hides_nothing(tmp_path: Path) -> None:
    """A wrong, damaged or foreign FILE.settled only means that all of it is searched."""
    for number, note in enumerate(("999999999", "7", "-1", "junk", "")):
        path = tmp_path / f"{number}.log"
        log = open_exec_log(path, list)
        await _interrupted(log)
        log.close()
        settled = tmp_path / f"{number}.log.settled"
        settled.write_text(note)
        settled.chmod(0o600)
        log = open_exec_log(path, list)
        assert await log.recover() == 3, note
        log.close()


async def test_an_orderly_stop_settles_only_what_has_ended(tmp_path: Path) -> None:
    """A run that was still under way when its host stopped is found by the next start."""
    path = tmp_path / "exec.log"
    log = open_exec_log(path, list)
    await _interrupted(log)
    log.settle()
    log.close()
    for expected in (3, 0):
        log = open_exec_log(path, list)
        assert await log.recover() == expected
        log.settle()
        log.close()
        settled = tmp_path / "exec.log.settled"
        assert int(settled.read_text()) == path.stat().st_size


async def test_a_log_torn_by_a_power_cut_is_mended_and_looked_through(tmp_path: Path) -> None:
    """Half an entry was never acknowledged; what came before it counts."""
    path = tmp_path / "exec.log"
    log = open_exec_log(path, list)
    await _interrupted(log)
    log.close()
    with path.open("ab") as file:
        file.write(b'{"at":"2026')
    log = open_exec_log(path, list)
    assert await log.recover() == 3
    log.close()

    assert verify(path).ok


@pytest.mark.parametrize("rebooted", [False, True])
async def test_a_process_is_known_by_its_number_only_in_the_boot_that_gave_it(
    tmp_path: Path, *, rebooted: bool
) -> None:
    """It dropped the mark of its run; after a reboot its number is somebody else's."""
    path = tmp_path / "exec.log"
    boot = "another" if rebooted else procfs.boot_id()
    with _asleep() as left:
        found = procfs.process(left.pid)
        assert found is not None
        log = open_exec_log(path, list)
        await log.note(ExecEvent.REQUESTED, "one", agent="a" * 64)
        process = {"pid": left.pid, "pgid": left.pid, "startTicks": found.start_ticks}
        await log.note(ExecEvent.SPAWNED, "one", **process, bootId=boot)
        log.close()
        log = open_exec_log(path, list)
        assert await log.recover() == 1
        log.close()
        lives = left.poll() is None
        left.kill()

    assert lives is rebooted


def _asleep() -> subprocess.Popen[bytes]:
    """Start a process that leads a session and has no mark."""
    return subprocess.Popen(["sleep", "600"], start_new_session=True)


HOST = """
import asyncio, json, sys
from pathlib import Path
from tests.support.remote_machines import two_machines

async def main():
    async with two_machines(Path(sys.argv[1]), vectors=[tuple(json.loads(sys.argv[2]))]) as host:
        asyncio.ensure_future(host.run(*json.loads(sys.argv[2])))
        await asyncio.sleep(60)

asyncio.run(main())
"""

ESCAPES = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(300)
    os._exit(0)
time.sleep(300)
"""


async def test_a_host_killed_with_a_run_leaves_no_process_and_one_unknown(tmp_path: Path) -> None:
    """SIGKILL for the host, its supervisor stopped: the run's child and grandchild are ended."""
    (tmp_path / "escape.py").write_text(ESCAPES)
    vector = [sys.executable, str(tmp_path / "escape.py")]
    path = tmp_path / "exec.log"
    host = _host(tmp_path, vector)
    try:
        for _ in range(1500):
            found = entries(path) if path.exists() else []
            if any(one["kind"] == "spawned" for one in found) and len(_marked(found)) >= 2:
                break
            await asyncio.sleep(0.02)
        run_id = found[0]["run"]
        spawned = next(one for one in found if one["kind"] == "spawned")
        os.kill(spawned["pid"], signal.SIGSTOP)  # it cannot end its run when its gateway dies
    finally:
        host.kill()
        host.wait(10)
    assert _marked(found)

    log = open_exec_log(path, list)
    assert await log.recover() == 1
    log.close()
    assert _marked(found) == []
    assert finals(path)[run_id] == ["unknown"]


def _host(folder: Path, vector: list[str]) -> subprocess.Popen[bytes]:
    """Start a host in a separate process, with one run in progress."""
    words = [sys.executable, "-c", HOST, str(folder), json.dumps(vector)]
    return subprocess.Popen(words, cwd=Path(__file__).parents[4])


def _marked(found: list[dict[str, Any]]) -> list[int]:
    mark = f"SAYSO_RUN={found[0]['run']}".encode() if found else b"?"
    return [
        one.pid
        for one in procfs.processes()
        if one.alive and mark in procfs.environment_of(one.pid).split(b"\0")
    ]
