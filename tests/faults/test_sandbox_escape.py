"""Attack the sandbox for real: 0 successes inside, while each attack succeeds outside of it."""

import asyncio
import os
import secrets
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.faults import sandbox_attacks as attacks
from tests.faults.sandbox_escapes import (
    AGAINST_FILES,
    AGAINST_THE_KERNEL,
    a_victim,
    all_escapes,
    escapes,
    vector,
)
from tests.support.runs import Start, marked, new_run
from tests.support.sandbox import (
    PYTHON,
    bwrap,
    sandbox,
)
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def as_root() -> None:
    """Without root the controls fail for lack of rights, and then prove nothing."""
    assert os.geteuid() == 0, "run as root: the controls mount, trace and make devices"


async def test_no_file_outside_is_reached(tmp_path: Path) -> None:
    """The gateway's home cannot be read, and nothing but the workspace can be changed."""
    outside = Path(f"/opt/sayso-{secrets.token_hex(4)}")
    outside.mkdir()
    try:
        async with sandbox(tmp_path) as house:
            home = str(house.home)
            found = await all_escapes(house, AGAINST_FILES, HOME=home, OUTSIDE=str(outside))
    finally:
        shutil.rmtree(outside)

    assert found == dict.fromkeys(AGAINST_FILES, (False, True))


async def test_what_is_written_beside_the_workspace_stays_inside(tmp_path: Path) -> None:
    """A folder above the workspace does not exist; what replaces it is the run's own."""
    async with sandbox(tmp_path) as house:
        attack = vector(attacks.WRITES_OUTSIDE, OUTSIDE=str(tmp_path))
        inside = await house.run(attack)
        left = (tmp_path / "planted").exists()
        outside = await house.run_outside(attack)

    assert ("ESCAPED" in inside.output.text, left) == (True, False)
    assert ("ESCAPED" in outside.output.text, (tmp_path / "planted").exists()) == (True, True)


async def test_the_kernel_gives_nothing(tmp_path: Path) -> None:
    """No mount, no trace, no namespace, no device, no key, no terminal of others."""
    async with sandbox(tmp_path) as house:
        found = await all_escapes(house, AGAINST_THE_KERNEL)

    assert found == dict.fromkeys(AGAINST_THE_KERNEL, (False, True))


WORKS = """
set -e
git init -q r && cd r && echo x > f && git add f
git -c user.name=a -c user.email=a@b commit -qm x
cp -a f g && install -m 755 g h && mkdir -m 1777 d && tar cf t.tar f g h && tar xpf t.tar -C d
python3 -c 'import shutil; shutil.copytree("d", "e")'
chmod 600 f && chmod u+x g && touch z && mv z y && ln -s y l
test "$(stat -c %a f g h d)" = "600
744
755
1777"
echo WORKED
"""


async def test_everyday_work_needs_no_such_bit(tmp_path: Path) -> None:
    """What the filter refuses is not missed by git, cp, install, tar, Python and chmod."""
    async with sandbox(tmp_path) as house:
        done = await house.run(("/bin/sh", "-c", WORKS))

    assert done.output.text.endswith("WORKED\n"), done.output.text


@pytest.mark.parametrize("open_network", [False, True])
async def test_the_network_is_not_reached(open_network: bool, tmp_path: Path) -> None:
    """Not even the loopback of the machine, unless the network was granted."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        async with sandbox(tmp_path, network=open_network) as house:
            loopback = await escapes(house, attacks.REACHES_LOOPBACK, PORT=port)

    assert loopback == (open_network, True)


async def test_other_processes_are_neither_seen_nor_signalled(tmp_path: Path) -> None:
    """The gateway and everything else is outside of the namespace."""
    mark = secrets.token_hex(8)
    async with sandbox(tmp_path) as house:
        with a_victim(mark) as victim:
            seen = await escapes(house, attacks.SEES_PROCESSES, MARK=mark[::-1])
            await house.run(vector(attacks.SIGNALS, VICTIM=victim.pid))
            spared = victim.poll() is None
            await house.run_outside(vector(attacks.SIGNALS, VICTIM=victim.pid))
            killed = victim.wait(10)

    assert seen == (False, True)
    assert (spared, killed) == (True, -15)


async def test_no_program_gives_another_users_rights(tmp_path: Path) -> None:
    """A set-user-id program runs as its caller: mounted nosuid, and no new privileges."""
    async with sandbox(tmp_path) as house:
        program = house.workspace / "becomes"
        shutil.copy("/usr/bin/id", program)
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        house.workspace.chmod(0o755)
        tmp_path.chmod(0o755)
        inside = await house.run(vector(attacks.GAINS_A_USER))
        outside = await house.run_outside(vector(attacks.GAINS_A_USER))

    assert (inside.output.text, outside.output.text) == ("0\n", "65534\n")


async def test_a_wrong_architecture_is_killed(tmp_path: Path) -> None:
    """A call by the numbers of x32 would be another one, so it ends the process."""
    attack = 'call(0x40000000 + 39); escaped() if os.uname().machine == "x86_64" else sys.exit(159)'
    async with sandbox(tmp_path) as house:
        inside = await house.run(vector(attack))
        outside = await house.run_outside(vector(attack))

    assert (inside.exit_code, "ESCAPED" in inside.output.text) == (159, False)  # 128 + SIGSYS
    assert outside.exit_code in {0, 159}


@pytest.mark.parametrize("end", ["by itself", "cancelled", "out of time"])
async def test_nothing_outlives_a_run(end: str, tmp_path: Path) -> None:
    """A process that forks twice, leaves its session and ignores TERM ends with the run."""
    async with sandbox(tmp_path) as house:
        ready, go = house.workspace / "ready", house.workspace / "go"
        attack = vector(attacks.OUTLIVES, READY=str(ready), GO=str(go))
        run_id = new_run()
        plan = house.plan(attack, timeout_ms=3000 if end == "out of time" else None)
        task = asyncio.create_task(house.host.run(run_id, plan, Start()))
        await until(ready.exists)
        lived = len(marked(run_id))
        if end == "by itself":
            go.touch()
        if end == "cancelled":
            await house.host.cancel(run_id)
        done = await task

        assert (lived > 0, done.timed_out) == (True, end == "out of time")
        assert marked(run_id) == []


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
async def test_nothing_outlives_a_killed_supervisor(held: bool, tmp_path: Path) -> None:
    """Even if only bubblewrap's outer process is killed; without its two flags one survives."""
    ready, mark = tmp_path / "ready", secrets.token_hex(8)
    flags = ("--unshare-pid", "--die-with-parent") if held else ()
    attack = attacks.program(attacks.OUTLIVES, READY=str(ready), GO=str(tmp_path / "never"))
    environ = {"SAYSO_RUN": mark}
    words = (bwrap(), *flags, "--bind", "/", "/", "--", PYTHON, "-I", "-S", "-c", attack)
    with subprocess.Popen(words, env=environ) as outer:  # noqa: ASYNC220 - it has to be killed
        await until(ready.exists)
        outer.kill()
    if held:
        await until(lambda: marked(mark) == [])
    left = marked(mark)
    for pid in left:
        os.kill(pid, 9)

    assert (len(left) > 0) is not held
