"""Run S2's ExecutorPool on real executors of another user."""

import asyncio
import errno
import os
import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import HostUnavailable
from core.isolation import calls, pool, process
from core.isolation.client import TERMINATED, CallFailed
from core.isolation.executor import Executor
from core.isolation.upkeep import Options
from core.runner.supervisor.processes import procfs
from tests.support.executors import BUILD, UID, USER, as_user, executors, order
from tests.support.other_users import doing
from tests.support.runs import alive, new_run
from tests.support.waiting import until

OPTIONS = Options(BUILD)
_OTHER = "games"
"""A user of every machine who is neither us nor the one whose executors are stopped."""


def test_builds_correct_spawn_command() -> None:
    """S2's unit test: sudo without a password, the user, and the one file without arguments."""
    assert process.by_sudo("sayso_alice") == (
        *("/usr/bin/sudo", "-n", "-u", "sayso_alice"),
        "/usr/local/libexec/sayso-executor",
    )


async def test_daemon_spawns_executor_and_sends_ping(executor_path: str) -> None:
    """S2's integration test; and the process is the other user's (according to the kernel)."""
    async with executors(executor_path) as world:
        executor = await world.pool.take(USER)
        answer = await executor.client.call("ping", {}, 5)
        with pytest.raises(CallFailed, match="Unknown method: execute"):
            await executor.client.call("execute", {}, 5)
        owner = Path(f"/proc/{executor.client.pid}/mem").stat().st_uid
        status = Path(f"/proc/{executor.client.pid}/status").read_text()
        environ = procfs.environment_of(executor.client.pid)

    assert answer["pong"] is True
    assert executor.client.uid == UID
    assert f"\nUid:\t{UID}\t{UID}\t{UID}\t{UID}\n" in status
    assert owner == 0  # not dumpable: closed to other processes of this user
    assert b"HOME" not in environ


async def test_a_user_that_is_not_there(executor_path: str) -> None:
    """The message says what to do; nothing is left."""
    async with executors(executor_path) as world:
        with pytest.raises(HostUnavailable, match="no user `sayso_nobody_at_all`"):
            await world.pool.take("sayso_nobody_at_all")

        assert world.pool.live == 0


@pytest.mark.parametrize(
    ("script", "why", "patience_s"),
    [
        ("echo 'sudo: a password is required' >&2; exit 1", "sudo: a password is required", 30),
        ("exit 1", "terminated unexpectedly", 30),
        ("exec sleep 30", "within 300 ms", 0.3),
        ("echo hello >&0; sleep 30", "terminated unexpectedly", 30),
    ],
)
async def test_what_does_not_answer_is_no_executor(
    executor_path: str, script: str, why: str, patience_s: float
) -> None:
    """S2 "Clear error messages when setup incomplete": the reason, and where to look."""
    options = replace(OPTIONS, connection_timeout_s=patience_s)
    words = ("/bin/sh", "-c", script)
    async with executors(executor_path, options=options, command=words) as world:
        with pytest.raises(HostUnavailable) as caught:
            await world.pool.take(USER)
        for executor in tuple(world.pool._live):
            if not executor.process.exited.is_set():
                os.kill(executor.process.pid, signal.SIGKILL)

    assert why in str(caught.value)
    assert "sayso doctor executor" in str(caught.value)


async def test_a_program_that_cannot_be_started(executor_path: str) -> None:
    """As where sudo is not installed."""
    async with executors(executor_path, command=("/usr/bin/sudo-is-missing",)) as world:
        with pytest.raises(HostUnavailable, match="No such file"):
            await world.pool.take(USER)

        assert world.pool.live == 0


@pytest.mark.parametrize("call", ["socket.socketpair", "os.pipe2", "os.pidfd_open"])
async def test_a_start_without_a_free_descriptor_keeps_no_place(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Nor a descriptor, nor a process: as many of them as there are places locked all users out."""

    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async with executors("", command=("/usr/bin/cat",)) as world:
        before = len(list(Path("/proc/self/fd").iterdir()))
        with monkeypatch.context() as patched:
            patched.setattr(f"core.isolation.process.{call}", full)
            with pytest.raises(HostUnavailable, match="Too many open files"):
                await world.pool.take(USER)
        assert world.pool.live == 0
        assert len(list(Path("/proc/self/fd").iterdir())) == before
    await until(lambda: not children())


def children() -> list[str]:
    """Return the processes, dead ones too, that these tests started as `cat`."""
    found = [one for task in Path("/proc/self/task").iterdir() for one in read(task / "children")]
    return [one for one in found if read(Path(f"/proc/{one}/comm")) == ["cat"]]


def read(path: Path) -> list[str]:
    """Return the words in a file of /proc; none if its thread or process is gone."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return path.read_text().split()
    return []


async def test_an_executor_of_the_wrong_user_is_refused(executor_path: str) -> None:
    """A wrong sudo setup runs nothing as root; S2 "runs as correct Unix user"."""
    async with executors(executor_path, command=(executor_path,)) as world:
        with pytest.raises(HostUnavailable, match=f"is of user {os.getuid()}"):
            await world.pool.take(USER)


async def test_never_more_than_max_executors(executor_path: str) -> None:
    """The next one waits for the end of another; spares make room."""
    options = replace(OPTIONS, max_executors=2, warm_spare=True)
    async with executors(executor_path, options=options) as world:
        first = await world.pool.take(USER)
        await until(lambda: len(world.pool._spares) == 1)
        second = await world.pool.take(USER)
        third = asyncio.create_task(world.pool.take(USER))
        await asyncio.sleep(0.2)
        assert not third.done()
        assert world.pool.live == 2
        world.pool.drop(first)
        await third
        assert world.pool.live <= 2
        assert second.client.pid != first.client.pid


async def test_what_does_not_end_keeps_its_place(
    executor_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts until it has ended; a pool that stops does not wait for it."""
    monkeypatch.setattr(pool, "_PATIENCE_S", 0.2)
    options = replace(OPTIONS, max_executors=1, connection_timeout_s=0.3)
    words = ("/bin/sh", "-c", "exec sleep 600")
    async with executors(executor_path, options=options, command=words) as world:
        with pytest.raises(HostUnavailable):
            await world.pool.take(USER)
        await until(lambda: world.pool._stuck)
        (first,) = world.pool._live
        with pytest.raises(HostUnavailable, match="1 of its executors cannot be ended"):
            await world.pool.take(USER)
        assert world.pool._live == {first}
        os.kill(first.process.pid, signal.SIGKILL)
        await until(lambda: not world.pool._live)
        with pytest.raises(HostUnavailable, match="did not answer"):
            await world.pool.take(USER)
        (second,) = world.pool._live
        await until(lambda: world.pool._stuck)
    assert second is not first
    assert alive(second.process.pid)
    os.kill(second.process.pid, signal.SIGKILL)


_STOPS = """
import os, select, signal, sys
print("ready", flush=True)
stopped = set()
while not select.select([sys.stdin], [], [], 0)[0]:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{name}/cmdline", "rb").read()
            if name not in stopped and os.fsencode(sys.argv[1]) in words.split(b"\\0")[1:]:
                if int(name) != os.getpid():
                    os.kill(int(name), signal.SIGSTOP)
                    stopped.add(name)
        except OSError:
            pass
"""
"""Stops each executor of a file as it starts, as a command of its user can."""


async def test_who_stops_its_executors_locks_out_itself_alone(
    executor_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user had to wait forever, and so did each run queued before it."""
    monkeypatch.setattr(pool, "_PATIENCE_S", 0.2)
    options = replace(OPTIONS, max_executors=2, connection_timeout_s=1.5)
    async with executors(executor_path, options=options) as world:
        world.pool._command = lambda user: as_user(executor_path, user)
        with doing(UID, _STOPS, executor_path):
            async with asyncio.timeout(60):
                while len(world.pool._stuck) < options.max_executors:
                    with suppress(
                        HostUnavailable
                    ):  # raised, unless it answers before it is stopped
                        world.pool.drop(await world.pool.take(USER))
            async with asyncio.timeout(1):  # who waits, waits in front of the other users' runs
                with pytest.raises(HostUnavailable, match="2 of its executors cannot be ended"):
                    await world.pool.take(USER)
            for _ in range(3):
                async with asyncio.timeout(10):
                    world.pool.drop(await world.pool.take(_OTHER))
        for one in world.pool._stuck:
            os.kill(one.process.pid, signal.SIGKILL)
        await until(lambda: not world.pool._live)
        async with asyncio.timeout(10):
            world.pool.drop(await world.pool.take(USER))


async def test_a_spare_is_used_once_and_goes_when_nobody_wants_it(executor_path: str) -> None:
    """S2 "Kill idle executors"; it knew nothing before it was taken."""
    async with executors(executor_path, options=replace(OPTIONS, warm_spare=True)) as world:
        pool = world.pool
        first = await pool.take(USER)
        await until(lambda: USER in pool._spares)
        spare = pool._spares[USER]
        assert (spare.token, spare.run_id, spare.holder) == ("", "", None)
        assert await pool.take(USER) is spare
        pool.drop(first)
        pool.drop(spare)
        await until(lambda: USER in pool._spares and pool.live == 1)
        # The time starts when it is there: a busy machine may take long to start it.
        pool._options = replace(pool._options, idle_timeout_s=0.05)
        pool._keep_spare(USER)
        await until(lambda: pool.live == 0)

        assert pool._spares == {}


async def test_stop_ends_everything(executor_path: str) -> None:
    """Executors and what they had started; their processes are gone when it returns."""
    async with executors(executor_path) as world:
        executor = await world.pool.take(USER)
        link = await world.pool.calls.begin(executor, order())
        pids = (executor.client.pid, link.pid, executor.process.pid)
        assert all(map(alive, pids))
        await world.pool.stop()

        link.close()
        assert not any(map(alive, pids))
        assert len(world.tokens) == 0


@pytest.mark.parametrize("victim", ["executor", "supervisor", "both"])
async def test_what_a_crash_leaves_is_ended(executor_path: str, victim: str) -> None:
    """Kill -9 of the executor, of the supervisor, of both: no process is left."""
    async with executors(executor_path) as world:
        executor = await world.pool.take(USER)
        link = await world.pool.calls.begin(executor, order())
        pids = {"executor": [executor.client.pid], "supervisor": [link.pid]}
        pids["both"] = [link.pid, executor.client.pid]
        for pid in pids[victim]:
            os.kill(pid, signal.SIGKILL)
        assert await link.receive() is None
        world.pool.let_go(executor)
        await until(lambda: world.pool.live == 0)

        link.close()
        assert not alive(link.pid)
        assert not alive(executor.client.pid)


async def test_a_stopped_executor_is_ended(executor_path: str) -> None:
    """One that does not read the end of its socket: another of its user kills it."""
    async with executors(executor_path, command=as_user(executor_path)) as world:
        executor = await world.pool.take(USER)
        link = await world.pool.calls.begin(executor, order())
        os.kill(executor.client.pid, signal.SIGSTOP)
        world.pool.drop(executor)
        await until(lambda: world.pool.live == 0, seconds=20)

        link.close()
        assert not alive(executor.client.pid)


async def test_a_cleaner_that_does_not_answer_is_asked_once(
    executor_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the number of runs: a gateway's start waits for this."""
    monkeypatch.setattr(calls, "_CLEAN_S", 0.2)
    pong = '{"jsonrpc":"2.0","id":1,"result":{"pong":true}}'
    script = f"read -r ping; echo '{pong}' >&0; while read -r more; do :; done"
    async with executors(executor_path, command=(*as_user("/bin/sh"), "-c", script)) as world:
        await world.pool.end_left(USER, {new_run(): [] for _ in range(20)})

    results = [one["result"] for one in world.records.kept if one["method"] == "end_run"]
    assert results == ["failed"] + [TERMINATED] * 19


async def test_ten_executors_answer_a_thousand_requests_each(executor_path: str) -> None:
    """S2 "no hanging requests", at load: every one of 10,000 calls has its own answer."""
    async with executors(executor_path) as world:
        made = await asyncio.gather(*(world.pool.take(USER) for _ in range(10)))

        async def asked(executor: Executor) -> int:
            answers = [await executor.client.call("ping", {}, 60) for _ in range(1000)]
            return sum(one["pong"] is True for one in answers)

        assert await asyncio.gather(*(asked(one) for one in made)) == [1000] * 10
        assert len({one.client.pid for one in made}) == 10
        assert world.pool.live == 10
