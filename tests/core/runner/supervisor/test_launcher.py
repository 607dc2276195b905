import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from core.errors import SpawnError
from core.model.command import ExecRequest
from core.model.result import Finished
from core.runner.limits import Limits
from core.runner.runner import Runner
from core.runner.supervisor.launcher import FORK, ORDER
from core.runner.supervisor.processes import procfs
from tests.support.runs import Start, alive, marked, new_run, planned, request, run, shell
from tests.support.waiting import until

ROOT = Path(__file__).parents[4]
SUPERVISOR = ROOT / "core" / "runner" / "supervisor"
LEAVES = ("core.files.file_identity", "core.shell.placeholders")
"""Everything of ours that the supervisor imports besides itself, as in pyproject's contract."""
LEAN = {
    *("core", "core.files", "core.runner", "core.shell", *LEAVES),
    *(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in SUPERVISOR.rglob("*.py")
    ),
}
HEAVY = {"asyncio", "dataclasses", "subprocess", "threading", "logging", "pathlib", "inspect"}


async def test_the_launcher_imports_little() -> None:
    """The forked side is the standard library and the supervisor, nothing else."""
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "import core.runner.supervisor.launcher\n"
        "print(*sys.modules, sep='\\n')"
    )
    python = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", code, str(ROOT)), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await python.communicate()
    loaded = set(printed.decode().split())

    assert {name for name in loaded if name.partition(".")[0] == "core"} == LEAN
    assert {name.partition(".")[0] for name in loaded} - {"core"} <= sys.stdlib_module_names | {
        "__main__"
    }
    assert loaded & HEAVY == set()


def waiting(folder: Path) -> ExecRequest:
    """Return a request of a command that continues once a file `go` exists."""
    return request("sh -c 'until [ -e go ]; do sleep 0.02; done; echo done'", cwd=folder)


async def test_a_killed_supervisor_takes_its_run_along(runner: Runner) -> None:
    """The end was not seen, and that is the result; the launcher ends what was adopted."""
    start, run_id = Start(), new_run()
    script = "setsid sleep 60 & sleep 60"
    task = asyncio.create_task(
        runner.run(run_id, planned(request(argv=("/bin/sh", "-c", script))), start)
    )
    await start.started.wait()
    await until(lambda: len(marked(run_id)) == 3)
    assert start.identity is not None

    os.kill(start.identity[0], signal.SIGKILL)
    done = await task

    assert (done.exit_code, done.signal, done.timed_out) == (None, None, False)
    assert "exit status is unknown" in done.output.text
    await until(lambda: marked(run_id) == [])


async def test_a_launcher_without_descriptors_ends_what_was_left(runner: Runner) -> None:
    """It keeps one back to see its children with; there is no other, not even for a socket."""
    start, run_id = Start(), new_run()
    wish = planned(request(argv=("/bin/sh", "-c", "setsid sleep 60 & sleep 60")))
    task = asyncio.create_task(runner.run(run_id, wish, start))
    await start.started.wait()
    await until(lambda: len(marked(run_id)) == 3)
    launcher = runner.launcher_pid
    taken = {int(one.name) for one in Path(f"/proc/{launcher}/fd").iterdir()}
    free = next(number for number in range(len(taken) + 1) if number not in taken)
    resource.prlimit(launcher, resource.RLIMIT_NOFILE, (free, free))
    assert start.identity is not None

    os.kill(start.identity[0], signal.SIGKILL)
    await task

    await until(lambda: marked(run_id) == [])


async def test_a_killed_launcher_is_replaced(runner: Runner, tmp_path: Path) -> None:
    """Started runs complete, and later ones start as before."""
    start = Start()
    before = runner.launcher_pid
    task = asyncio.create_task(runner.run(new_run(), planned(waiting(tmp_path)), start))
    await start.started.wait()

    os.kill(before, signal.SIGKILL)
    await until(lambda: runner.launcher_pid not in {0, before})
    (tmp_path / "go").touch()

    assert (await task).output.text == "done\n"
    assert [(await shell(runner, "echo x")).output.text for _ in range(4)] == ["x\n"] * 4
    assert not alive(before)


async def test_dead_idle_supervisors_are_passed_over(runner: Runner) -> None:
    """A run is never handed to a supervisor that has gone."""
    children = Path(f"/proc/{runner.launcher_pid}/task/{runner.launcher_pid}/children")
    await until(lambda: len(children.read_text().split()) == 2)

    idle = [int(pid) for pid in children.read_text().split()]
    # What a supervisor killed earlier was just starting holds its socket open a little longer.
    await until(lambda: all(_sleeps(pid) for pid in idle))
    for pid in idle:
        os.kill(pid, signal.SIGKILL)
    await until(lambda: not any(alive(pid) for pid in idle))

    assert (await shell(runner, "echo x")).output.text == "x\n"


def _sleeps(pid: int) -> bool:
    """Return whether a supervisor waits for its job; while starting a process it does not."""
    found = procfs.process(pid)
    return found is not None and found.state == "S"


async def test_the_launcher_is_deaf_to_the_terminal(runner: Runner, tmp_path: Path) -> None:
    """Ctrl-C and a closing terminal end the gateway, which then ends its runs in its own way."""
    start = Start()
    task = asyncio.create_task(runner.run(new_run(), planned(waiting(tmp_path)), start))
    await start.started.wait()
    assert start.identity is not None

    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        os.kill(runner.launcher_pid, number)
        os.kill(start.identity[0], number)
    (tmp_path / "go").touch()

    assert (await task).output.text == "done\n"


async def test_a_silent_supervisor_is_killed_at_the_backstop() -> None:
    """A supervisor that hangs past its deadline does not hang the gateway."""
    quick = Runner(Limits(grace_ms=100), backstop_ms=300)
    await quick.start()
    start, run_id = Start(), new_run()
    try:
        task = asyncio.create_task(
            quick.run(run_id, planned(request("sleep 60", timeout_ms=2_000)), start)
        )
        await start.started.wait()
        assert start.identity is not None
        os.kill(start.identity[0], signal.SIGSTOP)
        done = await task
    finally:
        await quick.stop()

    assert (done.exit_code, done.signal, done.timed_out) == (None, None, True)
    assert marked(run_id) == []


async def test_who_stops_its_supervisor_is_ended_when_it_is_cancelled() -> None:
    """A command can do that, and had half an hour left, whoever wanted it to end."""
    quick = Runner(Limits(grace_ms=100), backstop_ms=300)
    await quick.start()
    start, run_id = Start(), new_run()
    script = ("/bin/sh", "-c", "sleep 0.5; kill -STOP $PPID; sleep 60")
    try:
        task = asyncio.create_task(quick.run(run_id, planned(request(argv=script)), start))
        await start.started.wait()
        assert start.identity is not None
        stopped = Path(f"/proc/{start.identity[0]}/stat")
        await until(lambda: stopped.read_text().rpartition(")")[2].split()[0] == "T")
        assert await quick.cancel(run_id)
        async with asyncio.timeout(10):
            done = await task
        await until(lambda: marked(run_id) == [])
    finally:
        await quick.stop()

    assert (done.exit_code, done.signal) == (None, None)
    assert (done.cancelled, done.timed_out) == (True, False)


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_what_ends_while_the_gateway_is_stopped_is_seen(*, is_cancelled: bool) -> None:
    """Ctrl-Z, for longer than the run was waited for: it ended in order, and was called unknown."""
    quick = Runner(Limits(grace_ms=100), backstop_ms=300)
    await quick.start()
    script = ("/bin/sh", "-c", "echo a; sleep 30" if is_cancelled else "echo a; sleep 0.3; exit 3")
    start, run_id = Start(), new_run()
    plan = planned(request(argv=script, timeout_ms=60_000 if is_cancelled else 1_000))
    try:
        task = asyncio.create_task(quick.run(run_id, plan, start))
        await start.started.wait()
        await asyncio.sleep(0.1)
        if is_cancelled:
            assert await quick.cancel(run_id)
        time.sleep(2)  # noqa: ASYNC251 - the whole process stands still
        done = await task
    finally:
        await quick.stop()

    assert done.cancelled is is_cancelled
    assert (done.exit_code, done.signal) == ((None, 15) if is_cancelled else (3, None))
    assert not done.timed_out
    assert done.output.text == "a\n"


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_long_job_for_a_supervisor_that_was_stopped_ends(*, stopped: bool) -> None:
    """It reads nothing, and the job is more than its socket holds: it was waited for for ever."""
    quick = Runner(Limits(grace_ms=100), backstop_ms=500)
    await quick.start()
    children = Path(f"/proc/{quick.launcher_pid}/task/{quick.launcher_pid}/children")
    await until(lambda: children.read_text().split())
    pids = [int(word) for word in children.read_text().split()] if stopped else []
    _signal_all(pids, signal.SIGSTOP)
    run_id, plan = new_run(), planned(request(argv=("/bin/echo", '"' * 120_000)))
    try:
        async with asyncio.timeout(20):
            going = quick.run(run_id, plan, start := Start())
            (done,) = await asyncio.gather(going, return_exceptions=True)
        await until(lambda: not stopped or not all(map(alive, pids)))
        _signal_all(pids, signal.SIGCONT)
        again = await quick.run(new_run(), planned(request("echo on")), Start())
    finally:
        _signal_all(pids, signal.SIGCONT)
        await quick.stop()

    assert marked(run_id) == []
    assert again.output.text == "on\n"
    assert isinstance(done, SpawnError if stopped else Finished)
    assert (start.identity is None) is stopped


def _signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in filter(alive, pids):
        os.kill(pid, number)


async def test_a_runner_starts_and_stops_again(runner: Runner) -> None:
    """Stopping leaves no launcher; a second runner is independent of the first."""
    other = Runner()
    await other.start()
    pid = other.launcher_pid
    await run(other, request("true"))
    async with asyncio.timeout(8):  # nobody is left, so the launcher's ten seconds are not waited
        await other.stop()

    assert not alive(pid)
    assert (await run(runner, request("true"))).exit_code == 0


def test_a_gateway_that_takes_no_supervisor_is_gone() -> None:
    """Whatever it wants: the launcher ends, and with it what was forked in vain."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.shutdown(socket.SHUT_RD)
    code = "from core.runner.supervisor.launcher import main; main()"
    words = [sys.executable, "-c", code]
    with ours, subprocess.Popen(words, stdin=theirs.fileno(), cwd=ROOT) as started:
        theirs.close()
        ours.send(ORDER.pack(FORK, 0))
        try:
            assert started.wait(30) == 0
        finally:
            started.kill()


@pytest.mark.parametrize("room", [True, False])
def test_a_report_waits_for_no_reader(room: bool) -> None:
    """A failure is written to the log if the pipe has room, and otherwise not at all."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with suppress(BlockingIOError):
        while not room:
            os.write(theirs, bytes(4096))
    os.set_blocking(theirs, True)
    words = "from core.runner.supervisor import launcher; launcher._report('it', OSError('no'))"
    subprocess.run([sys.executable, "-c", words], stderr=theirs, check=True, timeout=30)
    os.close(theirs)
    with os.fdopen(ours, "rb") as log:
        assert (b"it failed and is replaced: OSError: no" in log.read()) is room
