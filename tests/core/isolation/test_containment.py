"""Run executors in cgroups of their own: real ones, of cgroup version 2, made by root.

The hierarchy is mounted again if this machine has it in no writable place.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.errors import HostUnavailable
from core.isolation import incoming
from core.isolation import pool as pools
from core.isolation.containment import Containment, delegated
from core.isolation.upkeep import Options, warn_of_loose
from tests.support.executors import BUILD, UID, USER, executors
from tests.support.runs import Start, alive, new_run, planned, request
from tests.support.waiting import until

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    """Yield a cgroup that belongs to the test."""
    mount = Path(tempfile.mkdtemp())
    subprocess.run(["mount", "-t", "cgroup2", "none", str(mount)], check=True)
    own = mount / f"sayso-test-{os.getpid()}"
    own.mkdir()
    try:
        yield own
        (own / "cgroup.kill").write_text("1")
        for one in own.iterdir():
            if one.is_dir():
                one.rmdir()
        own.rmdir()
    finally:
        # At once, whatever still uses it: rmtree would close the machine's hierarchy to its users.
        subprocess.run(["umount", "--lazy", str(mount)], check=True)
        mount.rmdir()


@contextmanager
def workplace() -> Iterator[Path]:
    """Yield a folder owned by the executors' user."""
    with tempfile.TemporaryDirectory(prefix="sayso-work-") as made:
        os.chown(made, UID, UID)
        yield Path(made)


@pytest.mark.parametrize("contained", [True, False], ids=["", "the control: without a cgroup"])
async def test_what_no_mark_and_no_family_leads_to_is_ended(
    executor_path: str, top: Path, *, contained: bool
) -> None:
    """It left its session, cleaned its environment, and killed its supervisor and executor."""
    containment = Containment(top if contained else None)
    with workplace() as work:
        note = work / "pid"
        escape = f"setsid --fork env -i /bin/sh -c 'echo $$ > {note}; exec sleep 600'; sleep 600"
        async with executors(executor_path, containment=containment) as world:
            runner = world.executors.runner(USER)
            plan = planned(request(argv=("/bin/sh", "-c", escape)))
            under_way = asyncio.ensure_future(runner.run(new_run(), plan, Start()))
            await until(lambda: note.exists() and note.read_text().endswith("\n"))
            (executor,) = world.pool._live
            leaders = [pid for pid, _ in incoming.identities(executor.leaders)]
            for number in (signal.SIGSTOP, signal.SIGKILL):  # so that none ends the others
                for pid in leaders:
                    os.kill(pid, number)
            await asyncio.gather(under_way, return_exceptions=True)
            await until(lambda: world.pool.live == 0)
        escaped = int(note.read_text())
        lives = alive(escaped)
        if lives:
            os.kill(escaped, signal.SIGKILL)

    assert lives is not contained
    assert [one.name for one in top.iterdir() if one.is_dir()] == []


@contextmanager
def asleep() -> Iterator["subprocess.Popen[bytes]"]:
    """Yield a process, and end it."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def covered(file: Path) -> Iterator[Callable[[], object]]:
    """Mount something else over a file; yield a function that unmounts it."""
    subprocess.run(["mount", "--bind", "/dev/null", str(file)], check=True)
    try:
        yield lambda: subprocess.run(["umount", str(file)], check=True)
    finally:
        subprocess.run(["umount", "--quiet", str(file)], check=False)


async def test_what_cannot_be_killed_keeps_its_place(
    executor_path: str, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like a process that waits for a device: no executor replaces it until it has ended.

    Here the kernel is never told to kill it, because something else is mounted over that file.
    """
    monkeypatch.setattr(pools, "_PATIENCE_S", 0.3)
    options = Options(BUILD, max_executors=1)
    async with executors(executor_path, options=options, containment=Containment(top)) as world:
        executor = await world.pool.take(USER)
        assert executor.cgroup is not None
        switch = executor.cgroup.folder / "cgroup.kill"
        with asleep() as stuck, covered(switch) as uncover:
            (executor.cgroup.folder / "cgroup.procs").write_text(str(stuck.pid))
            world.pool.drop(executor)
            await until(lambda: world.pool._stuck)
            with pytest.raises(HostUnavailable, match="1 of its executors cannot be ended"):
                await world.pool.take(USER)
            assert world.pool.live == 1
            uncover()
            assert await asyncio.to_thread(stuck.wait, 60) == -signal.SIGKILL
            await until(lambda: world.pool.live == 0)
            await world.pool.take(USER)
        assert world.pool.live == 1


async def test_one_outside_its_cgroup_is_reported(
    executor_path: str, top: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And none that is in it: whoever reads the log would look for a fault that is not there."""
    async with executors(executor_path, containment=Containment(top)) as world:
        executor = await world.pool.take(USER)
        assert "cgroup" not in caplog.text
        assert executor.cgroup is not None
        (top / "cgroup.procs").write_text(str(executor.client.pid))
        warn_of_loose(executor)

    assert f"executor {executor.id} of {USER} is in no cgroup of its own" in caplog.text


_GATEWAY = """
import asyncio, subprocess, sys
from pathlib import Path
from core.isolation.containment import Containment
left = subprocess.Popen(["sleep", "600"], start_new_session=True)
cgroup = Containment(Path(sys.argv[1])).of("one")
asyncio.run(cgroup.hold(left.pid, asyncio.Event()))
print(left.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def other_gateway(top: Path) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """Yield another gateway, and what one of its executors would leave."""
    words = [sys.executable, "-c", _GATEWAY, str(top)]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())


async def test_what_a_dead_gateways_executors_left_is_ended(top: Path) -> None:
    """And nothing of a living gateway."""
    with other_gateway(top) as (gateway, left):
        await Containment(top).end_left(30)
        assert alive(left)
        gateway.kill()
        gateway.wait()
        await Containment(top).end_left(30)
    assert not alive(left)
    assert [one.name for one in top.iterdir() if one.is_dir()] == []


def test_where_the_gateway_may_make_them(tmp_path: Path, top: Path) -> None:
    """Below its own cgroup, if version 2 is mounted and the folder is writable for it."""
    (tmp_path / "self").mkdir()

    def found(cgroup: str, mounts: str) -> Path | None:
        (tmp_path / "self/cgroup").write_text(cgroup)
        (tmp_path / "self/mountinfo").write_text(mounts)
        return delegated(proc=tmp_path)

    name, above = top.name, top.parent
    mount = f"30 23 0:26 / {above} rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
    mounts = f"29 23 0:25 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n{mount}"
    assert found(f"4:memory:/x\n0::/{name}\n", mounts) == top
    assert found(f"0::/outer/{name}\n", mount.replace(" / ", " /outer ")) == top
    assert found(f"4:memory:/x\n0::/{name}\n", "") is None
    assert found(f"4:memory:/{name}\n", mounts) is None
    assert found("0::/../other\n", mount.replace(" / ", " /outer ")) is None
    os.setreuid(UID, 0)  # access(2) uses the real user
    try:
        assert found(f"0::/{name}\n", mounts) is None
    finally:
        os.setreuid(0, 0)
    assert delegated(-1) is None
