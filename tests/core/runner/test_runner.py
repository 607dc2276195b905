import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift, SpawnError
from core.model.identity import ApprovalId
from core.model.result import OutputChunk
from core.model.stdio import Capture, Stdio
from core.runner.limits import Limits
from core.runner.pool import MOST_IDLE
from core.runner.runner import Runner
from tests.support.runs import (
    Start,
    alive,
    marked,
    new_run,
    planned,
    request,
    run,
    running,
    script,
    shell,
)
from tests.support.waiting import until

GLIBC_OWN = 0b11 << 31
"""Signals 32 and 33: glibc's posix_spawn leaves them ignored, and no program may use them."""


async def test_a_command_reports_its_output_and_code(runner: Runner) -> None:
    """Both streams are returned together, in the order in which they were printed."""
    done = await shell(runner, "echo out; echo err >&2; echo out; exit 3")

    assert (done.exit_code, done.signal, done.timed_out) == (3, None, False)
    assert done.output.text == done.output.tail == "out\nerr\nout\n"
    assert done.output.total_bytes == 12
    assert not done.output.truncated


async def test_a_signal_is_told_apart_from_a_code(runner: Runner) -> None:
    """A command that a signal ended has no exit code."""
    done = await shell(runner, "kill -SEGV $$")

    assert (done.exit_code, done.signal) == (None, 11)


async def test_the_child_sees_the_plan_and_nothing_else(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environment, directory, input and signals are those of the plan, not the gateway's."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    run_id = new_run()
    plan = planned(request("env", cwd=tmp_path, env=(("WISHED", "ü"),)))

    done = await runner.run(run_id, plan, Start())

    seen = dict(line.split("=", 1) for line in done.output.text.splitlines())
    assert seen == {**dict(plan.env), "SAYSO_RUN": run_id}
    assert seen["WISHED"] == "ü"
    assert (await run(runner, request("pwd", cwd=tmp_path))).output.text == f"{tmp_path}\n"
    assert (await run(runner, request("cat"))).output.text == ""
    status = (await run(runner, request("cat /proc/self/status"))).output.text
    masks = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith("Sig"))
    assert int(masks["SigIgn"], 16) & ~GLIBC_OWN == 0
    assert int(masks["SigBlk"], 16) == 0
    fds = (await run(runner, request("ls /proc/self/fd"))).output.text
    assert fds.split() == ["0", "1", "2", "3"]  # 3 is the folder that ls itself reads


async def test_arguments_arrive_byte_for_byte(runner: Runner) -> None:
    """No argument is split, expanded or escaped on its way."""
    words = ("; rm -rf /", "$HOME", "a b", "", "*", "'\"\\", "\n\t", "ü€😀", "-n")

    done = await run(runner, request(argv=("printf", "%s\\0", *words)))

    assert done.output.text.split("\0")[:-1] == list(words)


async def test_a_long_vector_arrives_whole(runner: Runner) -> None:
    """A job that is larger than a socket's buffer is sent in parts."""
    words = tuple(f"{number:04}" + "ü" * 120 for number in range(500))

    done = await run(runner, request(argv=("printf", "%s", *words)))

    assert done.output.text == "".join(words)


async def test_an_unreadable_line_runs_in_the_pinned_shell(runner: Runner) -> None:
    """What a person approved as text runs as that text."""
    done = await run(runner, request("for i in 1 2; do echo $((i * 21)); done > /dev/stdout; -x"))

    assert done.output.text.startswith("21\n42\n")
    assert done.exit_code == 127


async def test_a_script_runs_by_its_own_name(runner: Runner, tmp_path: Path) -> None:
    """A `#!` file sees its path as $0 and no descriptor of ours."""
    script(tmp_path / "tool", '#!/bin/sh\necho "$0" "$@"\nls /proc/$$/fd\n')

    done = await run(runner, request("./tool a b", cwd=tmp_path))

    first, *fds = done.output.text.split("\n", 1)
    assert first == f"{tmp_path}/tool a b"
    assert set(fds[0].split()) <= {"0", "1", "2", "10", "255"}  # 10, 255: the shell's own script


async def test_the_watcher_hears_the_leader_of_the_run(runner: Runner) -> None:
    """The identity that recovery would look for is reported while the command runs."""
    start = Start()
    run_id = new_run()
    task = asyncio.create_task(runner.run(run_id, planned(request("sleep 30")), start))
    await start.started.wait()

    assert start.identity is not None
    assert alive(start.identity[0])
    # The kernel shows a new program's environment a moment after it lets its starter continue.
    await until(lambda: len(marked(run_id)) == 1)
    assert await runner.cancel(run_id)
    assert (await task).signal == 15
    await until(lambda: start.identity is not None and not alive(start.identity[0]))


async def test_nothing_runs_without_a_claim(runner: Runner, tmp_path: Path) -> None:
    """A run that another gateway has claimed is not started, and its supervisor is kept."""
    wish = request(argv=("touch", str(tmp_path / "ran")))

    with pytest.raises(SpawnError, match="could not be claimed"):
        await run(runner, wish, Start(grants=False))

    assert not (tmp_path / "ran").exists()
    await run(runner, wish)
    assert (tmp_path / "ran").exists()


async def test_the_claim_comes_after_verifying(runner: Runner, tmp_path: Path) -> None:
    """A plan that has drifted is denied without using up its claim."""
    tool = script(tmp_path / "tool", "#!/bin/sh\n")
    plan = planned(request("./tool", cwd=tmp_path))
    tool.unlink()
    asked: list[bool] = []

    with pytest.raises(PlanDrift):
        await runner.run(new_run(), plan, Start(before_claim=lambda: asked.append(True)))

    assert asked == []


async def test_one_run_id_runs_once_at_a_time(runner: Runner) -> None:
    """A second start under the same id is refused while the first continues."""
    start, run_id, plan = Start(), new_run(), planned(request("sleep 30"))
    task = asyncio.create_task(runner.run(run_id, plan, start))
    await start.started.wait()

    with pytest.raises(SpawnError, match="in progress"):
        await runner.run(run_id, plan, Start())

    await runner.cancel(run_id)
    await task


async def test_the_time_limit_ends_a_run(runner: Runner) -> None:
    """TERM is sent at the deadline, and the result says so."""
    began = time.monotonic()

    done = await shell(runner, "echo before; sleep 30", timeout_ms=1500)

    assert done.timed_out
    assert done.signal == 15
    assert done.output.text == "before\n"
    assert 1.5 <= time.monotonic() - began < 10


async def test_a_run_that_ignores_term_is_killed() -> None:
    """After the grace period comes KILL."""
    async with running(Limits(grace_ms=200)) as runner:
        done = await shell(runner, "trap '' TERM; while :; do sleep 0.05; done", timeout_ms=1500)

    assert (done.timed_out, done.signal) == (True, 9)
    assert 1700 <= done.duration_ms < 10_000


async def test_a_run_may_tidy_up_on_term(runner: Runner) -> None:
    """TERM arrives once, and what the command does with it counts."""
    text = "trap 'echo bye; exit 4' TERM; sleep 30 & wait"

    done = await shell(runner, text, timeout_ms=1500)

    assert done.output.text == "bye\n"
    assert (done.exit_code, done.timed_out) == (4, True)


async def test_cancelling_stops_the_chain(runner: Runner, tmp_path: Path) -> None:
    """After a cancellation no further part of the line is started."""
    start, run_id = Start(), new_run()
    plan = planned(request("sleep 30 ; touch ran || touch ran", cwd=tmp_path))
    task = asyncio.create_task(runner.run(run_id, plan, start))
    await start.started.wait()

    assert await runner.cancel(run_id)
    done = await task

    assert (done.signal, done.timed_out) == (15, False)
    assert not (tmp_path / "ran").exists()
    assert not await runner.cancel(run_id)


async def test_cancelling_before_the_start_runs_nothing(runner: Runner, tmp_path: Path) -> None:
    """A cancellation that arrives while the claim is made wins."""
    run_id, loop = new_run(), asyncio.get_running_loop()
    tasks: list[asyncio.Task[bool]] = []

    class Cancelling(Start):
        async def claim(self) -> bool:
            tasks.append(loop.create_task(runner.cancel(run_id)))
            return await tasks[0]

    with pytest.raises(SpawnError, match="cancelled before"):
        await runner.run(run_id, planned(request("touch ran", cwd=tmp_path)), Cancelling())

    assert not (tmp_path / "ran").exists()


async def test_an_unknown_run_cannot_be_cancelled(runner: Runner) -> None:
    """Cancelling what does not run here says so."""
    assert not await runner.cancel(ApprovalId("0" * 26))


async def test_what_the_kernel_refuses_is_an_error(runner: Runner, tmp_path: Path) -> None:
    """A file that the kernel cannot load is named, and nothing counts as run."""
    script(tmp_path / "nonsense", "no first line\n")

    with pytest.raises(SpawnError, match=r"nonsense` cannot be started: Exec format error"):
        await run(runner, request("./nonsense", cwd=tmp_path))


async def test_a_later_part_that_cannot_start_has_status_126(
    runner: Runner, tmp_path: Path
) -> None:
    """The line continues as in a shell, and the output says what was not started."""
    script(tmp_path / "nonsense", "no first line\n")

    done = await run(runner, request("echo a && ./nonsense || echo b", cwd=tmp_path))
    last = await run(runner, request("echo a | ./nonsense", cwd=tmp_path))

    assert done.output.text == ("a\nsayso: `./nonsense` cannot be started: Exec format error\nb\n")
    assert done.exit_code == 0
    assert last.exit_code == 126


async def test_a_plan_without_an_executable_never_runs(runner: Runner) -> None:
    """A line with a missing program is not run in part."""
    with pytest.raises(PlanDrift, match="no-such-program"):
        await run(runner, request("true ; no-such-program"))


async def test_an_altered_plan_never_runs(runner: Runner, tmp_path: Path) -> None:
    """A plan that does not match its digest is not what was approved."""
    plan = planned(request("touch ran", cwd=tmp_path))
    altered = replace(plan, commands=(replace(plan.commands[0], argv=("touch", "other")),))

    with pytest.raises(PlanDrift, match="digest"):
        await runner.run(new_run(), altered, Start())

    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "other").exists()


async def test_many_runs_go_on_at_once(runner: Runner, tmp_path: Path) -> None:
    """No run waits for another: each continues when all are there, and gets its own output."""
    there = f"cd {tmp_path}; until [ $(ls | wc -l) = 16 ]; do sleep 0.05; done"

    done = await asyncio.gather(
        *(shell(runner, f"touch {tmp_path}/{n}; {there}; echo {n}", 60_000) for n in range(16))
    )

    assert [one.output.text for one in done] == [f"{n}\n" for n in range(16)]


async def test_more_runs_than_slots_wait_their_turn() -> None:
    """The number of runs at a time is bounded; none is lost."""
    runner = Runner(most_runs=2)
    await runner.start()
    try:
        done = await asyncio.gather(*(shell(runner, "sleep 0.1; echo x") for _ in range(6)))
    finally:
        await runner.stop()

    assert [one.output.text for one in done] == ["x\n"] * 6


async def test_runs_leave_no_descriptor_and_no_process_behind(runner: Runner) -> None:
    """The gateway is as light after many runs as after a few."""

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    await asyncio.gather(*(shell(runner, "true") for _ in range(10)))
    await until(lambda: marked_nothing(runner))
    before = opened()
    for _ in range(20):
        await shell(runner, "true | false ; true")
        with pytest.raises(PlanDrift):
            await run(runner, request("no-such-program"))

    await until(lambda: opened() <= before + 2)  # warm supervisors come and go


def marked_nothing(runner: Runner) -> bool:
    """Return whether the launcher has no more children than idle supervisors are kept."""
    return len(supervisors(runner)) <= MOST_IDLE


def supervisors(runner: Runner) -> list[str]:
    """Return the pids of the launcher's children."""
    children = Path(f"/proc/{runner.launcher_pid}/task/{runner.launcher_pid}/children")
    return children.read_text().split()


async def test_nothing_is_carried_from_run_to_run(runner: Runner, tmp_path: Path) -> None:
    """Folder, environment, descriptors and output of one run are not passed to the next one."""
    first = await run(runner, request("pwd", cwd=tmp_path, env=(("LANG", "xx"),)))
    listed = [await shell(runner, "ls /proc/self/fd | wc -l; echo ${LANG:-none}") for _ in range(6)]

    assert f"{tmp_path}\n" == first.output.text
    assert 1 == len({result.output.text for result in listed})
    assert "xx" not in listed[0].output.text


async def test_stopping_ends_what_runs() -> None:
    """A gateway that stops ends its commands too, politely first."""
    runner, start, run_id = Runner(), Start(), new_run()
    await runner.start()
    launcher = runner.launcher_pid
    text = "trap 'exit 5' TERM; echo ready; sleep 60 & wait"
    plan = planned(request(argv=("/bin/sh", "-c", text)))
    task = asyncio.create_task(runner.run(run_id, plan, start))
    await start.started.wait()
    chunks = runner.watch(run_id)
    assert b"ready\n" == (await anext(chunks)).data
    await chunks.aclose()  # type: ignore[attr-defined]  # a generator

    await runner.stop()

    assert (await task).exit_code == 5
    assert marked(run_id) == []
    assert not alive(launcher)


async def test_limits_are_in_force(runner: Runner) -> None:
    """The child reads the limits of the design, hard as well as soft."""
    code = (
        "import resource as r\n"
        "for n in 'CPU DATA FSIZE NOFILE CORE'.split():\n"
        "    print(n, *r.getrlimit(getattr(r, 'RLIMIT_' + n)))"
    )

    done = await run(runner, request(argv=(sys.executable, "-I", "-S", "-c", code)))

    assert done.output.text.splitlines() == [
        "CPU 60 65",
        f"DATA {512 << 20} {512 << 20}",
        f"FSIZE {64 << 20} {64 << 20}",
        "NOFILE 256 256",
        "CORE 0 0",
    ]


@pytest.mark.parametrize(
    ("limits", "text", "number"),
    [
        (Limits(cpu_s=1, cpu_kill_s=2), "while :; do :; done", 24),
        (Limits(cpu_s=1, cpu_kill_s=2), "trap '' XCPU; while :; do :; done", 9),
        (Limits(file_bytes=1 << 20), "exec head -c 2000000 /dev/zero > big", 25),
    ],
)
async def test_what_goes_beyond_a_limit_is_ended(
    tmp_path: Path, limits: Limits, text: str, number: int
) -> None:
    """CPU: a warning signal that may be handled, then KILL; file size: a signal."""
    async with running(limits) as runner:
        done = await run(runner, request(argv=("/bin/sh", "-c", text), cwd=tmp_path))

    assert done.signal == number
    assert not done.timed_out


async def test_memory_is_bounded(runner: Runner) -> None:
    """A program cannot allocate more than its data limit."""
    code = "b = bytearray(1 << 30)"

    done = await run(runner, request(argv=(sys.executable, "-I", "-S", "-c", code)))

    assert done.exit_code == 1
    assert "MemoryError" in done.output.text


async def test_reserved_address_space_is_no_memory() -> None:
    """A program that only reserves address space, as Node and Go do, is left alone."""
    code = "import mmap; m = mmap.mmap(-1, 4 << 30, flags=0x4022, prot=0); print('reserved')"

    async with running() as runner:
        done = await run(runner, request(argv=(sys.executable, "-I", "-S", "-c", code)))

    assert done.output.text == "reserved\n"


async def test_the_output_can_be_seen_while_it_runs(runner: Runner, tmp_path: Path) -> None:
    """A tail shows what was printed so far, to every caller, and the run continues unharmed."""
    flag, run_id = tmp_path / "go", new_run()
    line = f"echo begun; while ! [ -e {flag} ]; do sleep 0.02; done; echo done"
    plan = planned(request(argv=("/bin/sh", "-c", line)))
    job = asyncio.ensure_future(runner.run(run_id, plan, Start()))
    async with asyncio.timeout(10):
        while (seen := await runner.tail(run_id)) is None or not seen.total_bytes:
            await asyncio.sleep(0.01)
    both = await asyncio.gather(runner.tail(run_id), runner.tail(run_id))
    flag.touch()
    done = await job

    assert ("begun\n", 6) == (seen.text, seen.total_bytes)
    assert [seen, seen] == list(both)
    assert (0, "begun\ndone\n") == (done.exit_code, done.output.text)
    assert await runner.tail(run_id) is None


async def test_what_was_printed_before_the_supervisor_died_is_kept(runner: Runner) -> None:
    """A watcher gets the end, and the result has what arrived, but no code."""
    start, run_id = Start(), new_run()
    wish = request(
        argv=("/bin/sh", "-c", "echo so far; sleep 60"), stdio=Stdio(capture=Capture.SEPARATE)
    )
    task = asyncio.create_task(runner.run(run_id, planned(wish), start))
    await start.started.wait()
    assert start.identity is not None
    chunks = [chunk async for chunk in _until_first(runner, run_id, start.identity[0])]

    done = await task

    assert [one.data for one in chunks] == [b"so far\n"]
    assert (done.exit_code, done.signal, done.timed_out) == (None, None, False)
    assert done.streams is not None
    assert done.streams.stdout.data == b"so far\n"


async def _until_first(
    runner: Runner, run_id: ApprovalId, supervisor: int
) -> AsyncIterator[OutputChunk]:
    """Yield what a run prints; kill its supervisor when the first of it arrives."""
    async for chunk in runner.watch(run_id):
        os.kill(supervisor, signal.SIGKILL)
        yield chunk


async def test_asking_for_output_never_spoils_the_next_run(runner: Runner) -> None:
    """Tails requested at the very end of runs leave no message for the supervisor's next job."""
    for _ in range(30):
        run_id = new_run()
        plan = planned(request(argv=("/bin/true",)))
        job = asyncio.ensure_future(runner.run(run_id, plan, Start()))
        while not job.done():
            await runner.tail(run_id)
            await asyncio.sleep(0)
        assert 0 == (await job).exit_code


@pytest.mark.parametrize(
    ("line", "how"),
    [
        ("echo a; echo b; sleep 30", (None, 15)),
        ("true && true && true && sleep 30", (None, 15)),
        ("echo a || sleep 30", (0, None)),
        ("false && sleep 30", (1, None)),
    ],
)
async def test_a_line_that_is_ended_between_its_commands_has_no_code_of_one(
    runner: Runner, line: str, how: tuple[int | None, int | None]
) -> None:
    """It was 0, as of the command before, or unknown, with all output lost; the last are controls.

    What stops it comes while the gateway checks whether the next command may start.
    """
    for _ in range(12):
        start, run_id = Start(), new_run()
        task = asyncio.create_task(runner.run(run_id, planned(request(line)), start))
        await start.started.wait()
        await runner.cancel(run_id)
        done = await task
        assert (done.exit_code, done.signal) in {how, (None, 15)}
        assert "supervisor" not in done.output.text
