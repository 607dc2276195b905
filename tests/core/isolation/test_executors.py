"""Run bound plans as another Unix user, with the supervisor that runs everything."""

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import HostUnavailable, PlanDrift, SpawnError
from core.isolation import pool
from core.isolation.upkeep import Options
from core.model.identity import SessionKey
from core.model.stdio import Capture, Stdio
from core.planning.digest import bind
from core.runner.limits import Limits
from tests.support.executors import BUILD, UID, USER, World, as_user, executors
from tests.support.runs import Start, marked, new_run, planned, request
from tests.support.waiting import until

LEAVING = "setsid sleep 300 & (setsid setsid sleep 301 &) ; sleep 302"
"""A command whose children leave its group, its session and its process tree."""


@pytest.fixture
def work(executor_path: str) -> Path:
    """Return a folder of the other user's that we may enter."""
    folder = Path(executor_path).parent / new_run()
    folder.mkdir(mode=0o755)
    os.chown(folder, UID, UID)
    return folder


async def out(world: World, line: str, cwd: Path | str = "/tmp", **more: Stdio) -> str:
    """Run a line as the other user; return its status and output."""
    plan = planned(request(line, cwd=cwd, **more))  # type: ignore[arg-type]
    done = await world.executors.runner(USER).run(new_run(), plan, Start())
    return f"{done.exit_code} {done.output.text}"


async def test_whoami_is_the_other_user(executor_path: str) -> None:
    """Pipelines, connectors, statuses: the plan runs as it does here, as another user."""
    async with executors(executor_path) as world:
        assert await out(world, "id -un | tr n N") == "0 Nobody\n"
        assert await out(world, "false && echo a || echo b") == "0 b\n"
        assert await out(world, "cat /etc/shadow") == "1 cat: /etc/shadow: Permission denied\n"
        assert world.executors.running(new_run()) is None


async def test_files_that_the_run_makes_are_the_other_users(executor_path: str, work: Path) -> None:
    """Ownership is the kernel's, not a matter of names."""
    async with executors(executor_path) as world:
        await out(world, "touch made", work)

    assert (work / "made").stat().st_uid == UID


async def test_pins_hold_across_the_wall(executor_path: str, work: Path) -> None:
    """A script that changed after it was approved does not run; the control does."""
    script = work / "s.sh"
    script.write_text("#!/bin/sh\necho one\n")
    script.chmod(0o755)
    os.chown(script, UID, UID)
    async with executors(executor_path) as world:
        runner = world.executors.runner(USER)
        plan = planned(request("./s.sh", cwd=work))
        ran = await runner.run(new_run(), plan, Start())
        script.write_text("#!/bin/sh\necho two\n")
        with pytest.raises(PlanDrift):
            await runner.run(new_run(), plan, Start())
        late = planned(request("./s.sh", cwd=work))
        start = Start(before_claim=lambda: script.write_text("#!/bin/sh\necho six\n"))
        with pytest.raises(PlanDrift):
            await runner.run(new_run(), late, start)

    assert ran.output.text == "one\n"


@pytest.mark.parametrize("rest_s", [0, 0.2])
async def test_a_program_that_is_closed_to_the_other_user_says_so(
    executor_path: str, work: Path, rest_s: float
) -> None:
    """It did not change: its reader is another. Its content is compared if it was just written."""
    script = work / "mine.sh"
    script.write_text("#!/bin/sh\necho one\n")
    script.chmod(0o700)
    async with executors(executor_path) as world:
        plan = planned(request("./mine.sh", cwd=work))
        await asyncio.sleep(rest_s)
        with pytest.raises(PlanDrift, match="cannot be read by the user"):
            await world.executors.runner(USER).run(new_run(), plan, Start())


async def test_limits_output_caps_and_time_hold(executor_path: str) -> None:
    """The same as for the gateway's own runs, because it is the same supervisor."""
    limits = Limits(file_bytes=4096, open_files=32, grace_ms=200)
    async with executors(executor_path, limits) as world:
        runner = world.executors.runner(USER)
        shown = planned(request(argv=("/bin/sh", "-c", "ulimit -n; ulimit -c; ulimit -f")))
        seen = await runner.run(new_run(), shown, Start())
        flood = planned(request("head -c 3000000 /dev/zero"))
        flooded = await runner.run(new_run(), flood, Start())
        slow = planned(request(argv=("/bin/sh", "-c", LEAVING), timeout_ms=1_500))
        late = await runner.run(slow_id := new_run(), slow, Start())

    assert seen.output.text.split() == ["32", "0", "8"]
    assert (flooded.output.truncated, flooded.output.total_bytes) == (True, 3_000_000)
    assert late.timed_out
    assert marked(slow_id) == []


async def test_separate_streams_input_and_live_output(executor_path: str, work: Path) -> None:
    """Descriptors go both ways: standard input in a sealed memory, output on shelves."""
    async with executors(executor_path) as world:
        runner, run_id = world.executors.runner(USER), new_run()
        stdio = Stdio(stdin=b"hello", capture=Capture.SEPARATE)
        plan = planned(request(argv=("/bin/sh", "-c", "cat; echo no >&2"), stdio=stdio))
        done = await runner.run(new_run(), plan, Start())
        gated = f"echo a; until [ -e {work}/go ]; do sleep 0.02; done; echo b"
        watched = planned(request(argv=("/bin/sh", "-c", gated)))
        task = asyncio.create_task(runner.run(run_id, watched, Start()))
        await until(lambda: runner.has(run_id))
        found = world.executors.running(run_id)
        chunks = []
        async for chunk in runner.watch(run_id):
            chunks.append(chunk.data)
            (work / "go").touch()
        await task

    assert done.streams is not None
    assert (done.streams.stdout.data, done.streams.stderr.data) == (b"hello", b"no\n")
    assert b"".join(chunks) == b"a\nb\n"
    assert found is runner


@pytest.mark.parametrize("victim", ["executor", "supervisor", "both", "cancel"])
async def test_no_process_outlives_its_run(executor_path: str, victim: str) -> None:
    """S2 Q3: a crash is "Executor terminated unexpectedly"; what it started ends with it."""
    async with executors(executor_path, Limits(grace_ms=200)) as world:
        runner, start, run_id = world.executors.runner(USER), Start(), new_run()
        plan = planned(request(argv=("/bin/sh", "-c", LEAVING)))
        task = asyncio.create_task(runner.run(run_id, plan, start))
        await start.started.wait()
        await until(lambda: len(marked(run_id)) >= 4)
        (executor,) = world.pool._live
        assert start.identity is not None
        leaders = {"executor": [executor.client.pid], "supervisor": [start.identity[0]]}
        leaders["both"] = [start.identity[0], executor.client.pid]
        for pid in leaders.get(victim, ()):
            os.kill(pid, signal.SIGKILL)
        if victim == "cancel":
            assert await runner.cancel(run_id)
        async with asyncio.timeout(20):
            done = await task
        await until(lambda: world.pool.live == 0, seconds=20)

        assert marked(run_id) == []
    if victim == "cancel":
        assert (done.cancelled, done.signal) == (True, signal.SIGTERM)
    else:
        assert (done.exit_code, done.signal) == (None, None)
        assert "Executor terminated unexpectedly" in done.output.text


async def test_a_refused_claim_runs_nothing(executor_path: str, work: Path) -> None:
    """At most once: the executor existed, the command never did."""
    async with executors(executor_path) as world:
        plan = planned(request("touch ran", cwd=work))
        with pytest.raises(SpawnError, match="could not be claimed"):
            await world.executors.runner(USER).run(new_run(), plan, Start(grants=False))
        await until(lambda: world.pool.live == 0)

    assert not (work / "ran").exists()


async def test_sessions_share_the_executors_fairly(executor_path: str) -> None:
    """Ten runs over two executors; never more than two at a time; none is lost."""
    options = Options(BUILD, max_executors=2)
    async with executors(executor_path, options=options) as world:
        runner = world.executors.runner(USER)
        most = 0

        async def run(number: int) -> int | None:
            nonlocal most
            plan = planned(replace(request(f"echo {number}"), session=f"s{number % 3}"))  # type: ignore[arg-type]
            done = await runner.run(new_run(), plan, Start())
            most = max(most, world.pool.live)
            return done.exit_code

        assert await asyncio.gather(*map(run, range(10))) == [0] * 10
        assert most <= 2


async def _ended(world: World, user: str, session: int, line: str) -> str:
    """Run a line as a user; return its status, or why nothing ran."""
    plan = replace(planned(request(line)), session=SessionKey(f"agent:{user}:{session}"))
    try:
        done = await world.executors.runner(user).run(new_run(), bind(plan), Start())
    except HostUnavailable as refusal:
        return str(refusal)
    return str(done.exit_code)


async def test_who_has_one_executor_that_cannot_be_ended_uses_the_other_places(
    executor_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run that met a full house was refused, although a place was free a moment later."""
    monkeypatch.setattr(pool, "_PATIENCE_S", 0.2)
    options = replace(Options(BUILD), max_executors=3, connection_timeout_s=1.5)
    words = ("/bin/sh", "-c", "exec sleep 600")
    async with executors(executor_path, options=options, command=words) as world:
        assert "did not answer" in await _ended(world, USER, 0, "true")
        await until(lambda: world.pool._stuck)
        world.pool._command = lambda user: as_user(executor_path, user)
        own = (_ended(world, USER, number, "sleep 0.3") for number in range(6))
        others = (_ended(world, "games", number, "sleep 0.3") for number in range(6))
        assert await asyncio.gather(*own, *others) == ["0"] * 12
        for one in world.pool._stuck:
            os.kill(one.process.pid, signal.SIGKILL)


async def test_a_user_with_many_sessions_holds_up_no_other_user(executor_path: str) -> None:
    """One of 24 sessions each waited for eight rounds; another user waits for one."""
    options = replace(Options(BUILD), max_executors=3)
    async with executors(executor_path, options=options) as world:
        world.pool._command = lambda user: as_user(executor_path, user)
        many = [asyncio.ensure_future(_ended(world, USER, one, "sleep 0.5")) for one in range(24)]
        await until(lambda: world.pool.live == options.max_executors)
        assert await _ended(world, "games", 0, "true") == "0"
        ended = sum(one.done() for one in many)
        assert await asyncio.gather(*many) == ["0"] * 24
    assert ended < 12
