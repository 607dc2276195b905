"""Test the backend docker: its vectors word by word, and podman for real."""

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from core.errors import SpawnError
from core.hosts.sandbox.backends.docker import Container, Docker
from core.hosts.sandbox.filesystem.layout import Places, places_of
from core.hosts.sandbox.filesystem.mounts import Kind
from core.hosts.sandbox.host import SandboxHost
from core.model.identity import ApprovalId
from core.model.result import Finished
from core.runner.limits import Limits
from core.runner.runner import Runner
from tests.faults import sandbox_attacks as attacks
from tests.support.podman import OPTIONS, Podman, a_podman
from tests.support.runs import Start, new_run, request, running
from tests.support.sandbox import PROTECTED, PYTHON, over, sandboxed, wished
from tests.support.waiting import until

RUN = ApprovalId("0run")
OfDocker = TypeVar("OfDocker", bound=Docker)


def vectors(line: str, container: Container, places: Places, cwd: Path) -> list[tuple[str, ...]]:
    """Return the vectors of a line's commands, as an engine gets them."""
    backend = Docker(Runner(), "/usr/bin/docker", places, container, "/home/alice/.sayso")
    plan = sandboxed(wished(line, cwd))
    with backend.enclose(RUN, plan, Path("/scratch/0run")) as enclosure:
        return [enclosure.vector(at, one, str(cwd)) for at, one in enumerate(plan.commands)]


def fixed() -> list[str]:
    """Return the recorded words that every container is started with."""
    return [
        *("/usr/bin/docker", "run", "--rm", "--interactive", "--read-only"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--env-file", "/proc/self/fd/3", "--security-opt", "seccomp=/proc/self/fd/4"),
        *("--label", "sayso=4d41459230f9e31d", "--label", "sayso-run=0run"),
        *("--user", f"{os.geteuid()}:{os.getegid()}"),
        *("--ulimit", "cpu=60:65", "--ulimit", "data=536870912:536870912"),
        *("--ulimit", "fsize=67108864:67108864", "--ulimit", "nofile=256:256"),
        *("--ulimit", "core=0:0"),
    ]


PRIVATE = (("/home/alice", Kind.PRIVATE), ("/tmp", Kind.PRIVATE))
MOUNTS = ["--tmpfs", "/home/alice:nosuid,nodev,size=512m", "--volume", "/scratch/0run:/tmp"]


def test_a_container_without_a_workspace() -> None:
    """Nothing is granted: no network, no capability, nothing that can be changed."""
    places = Places(PRIVATE, ())
    container = Container(image="debian:12", memory_mb=512, pids=256)
    (found,) = vectors("/usr/bin/id -u", container, places, Path("/"))

    assert list(found) == [
        *fixed(),
        *("--network", "none", "--memory", "512m", "--pids-limit", "256", "--pull", "never"),
        *MOUNTS,
        *("--name", "sayso-0run-0", "--workdir", "/", "--entrypoint", "/usr/bin/id"),
        *("debian:12", "-u"),
    ]


def test_a_container_with_a_workspace(tmp_path: Path) -> None:
    """Only the workspace is mounted writable, and compared before the command starts."""
    places = Places((*PRIVATE, ("/usr", Kind.SYSTEM)), (), workspace=str(tmp_path))
    container = Container(rootfs="/srv/root", options=("--cgroups=disabled",), network=True)
    first, second = vectors("cat a | /usr/bin/head -1", container, places, tmp_path)

    assert list(first[: len(fixed())]) == fixed()
    rest = list(first[len(fixed()) :])
    guard = rest.index("-c") + 1
    assert "changed while the container was made" in rest.pop(guard)
    assert rest == [
        *MOUNTS,
        *("--volume", f"{tmp_path}:{tmp_path}", "--cgroups=disabled"),
        *("--name", "sayso-0run-0", "--workdir", str(tmp_path), "--entrypoint", "/bin/sh"),
        *("--rootfs", "/srv/root", "-c", "/bin/sh", str(tmp_path), str(tmp_path.stat().st_ino)),
        *("--", "/usr/bin/cat", "a"),
    ]
    assert "sayso-0run-1" in second
    assert second[-2:] == ("/usr/bin/head", "-1")


def test_no_value_of_the_environment_is_in_a_vector(tmp_path: Path) -> None:
    """Others can read a command line; the engine reads the values from memory."""
    places = Places(PRIVATE, (), workspace=str(tmp_path))
    backend = Docker(Runner(), "/usr/bin/docker", places, Container("x"), "owner")
    plan = sandboxed(request("id", cwd=tmp_path, env=(("TOKEN", "hush-hush"),)))
    with backend.enclose(RUN, plan, tmp_path) as enclosure:
        words = enclosure.vector(0, plan.commands[0], str(tmp_path))
        handed = os.read(os.open(f"/proc/self/fd/{enclosure.inherit[0]}", os.O_RDONLY), 65536)

    assert "hush-hush" not in " ".join(words)
    assert "TOKEN" not in enclosure.environ
    assert b"\nTOKEN=hush-hush\n" in handed


@pytest.mark.parametrize("value", ["two\nlines", "x\nLD_PRELOAD=/evil"])
def test_a_value_that_would_become_another_is_refused(value: str, tmp_path: Path) -> None:
    """An environment file has one line per name."""
    backend = Docker(Runner(), "/usr/bin/docker", Places(PRIVATE, ()), Container("x"), "owner")
    plan = sandboxed(request("id", cwd=tmp_path, env=(("NAME", value),)))

    with pytest.raises(SpawnError), backend.enclose(RUN, plan, tmp_path):
        pass


def host_of(runner: Runner, podman: Podman, home: Path, kind: Callable[..., OfDocker]) -> OfDocker:
    """Return the backend over podman; nothing of this machine's Python is shown."""
    container = Container(None, podman.rootfs, OPTIONS, memory_mb=256, pids=64)
    places = places_of([home], str(Path.home()))
    return kind(runner, podman.binary, places, container, str(home))


async def ran(host: SandboxHost, line: str, cwd: Path) -> str:
    """Run a line in a container; return what it printed."""
    done = await host.run(new_run(), sandboxed(wished(line, cwd)), Start())
    assert done.exit_code is not None, done
    return done.output.text


@pytest.fixture
def podman() -> Iterator[Podman]:
    """Yield a real podman."""
    with a_podman() as one:
        yield one


async def test_podman_encloses(podman: Podman, tmp_path: Path) -> None:
    """For real: proven, only the workspace changed, all rights dropped, nothing left."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(mode=0o700)
    work.mkdir()
    (home / "state.db").write_text("secret")
    async with (
        running() as runner,
        over(runner, host_of(runner, podman, home, Docker), home) as host,
    ):
        assert await host.backend() == "docker"
        said = await ran(host, "touch made && cat /proc/self/status && cat /proc/net/dev", work)
        hidden = await ran(host, f"cat {home}/state.db", work)
        outside = await ran(host, "touch /etc/made", work)
        left = podman.containers()

    assert (work / "made").exists()
    assert "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000" in said
    assert "NoNewPrivs:\t1" in said
    assert "eth0" not in said
    assert "secret" not in hidden
    assert "Read-only file system" in outside
    assert left == []


ATTACK = """
cp /bin/busybox x; chmod 4755 x; ls -l x
echo evil > .git/hooks/post-checkout; echo evil >> .git/config; mv .git y; echo evil > .envrc
"""
UNCONFINED = ("--security-opt", "seccomp=unconfined")


@pytest.mark.parametrize("held", [True, False], ids=["held", "control"])
async def test_a_container_leaves_nothing_that_lends_rights(
    held: bool, podman: Podman, tmp_path: Path
) -> None:
    """No bit by any system call, and what is protected is unchanged; else (control) both work."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(mode=0o700)
    (hooks := work / ".git" / "hooks").mkdir(parents=True)
    (config := work / ".git" / "config").write_text("[core]\n")
    options = OPTIONS if held else (*OPTIONS, *UNCONFINED)
    protect = PROTECTED if held else ()
    container = Container(None, podman.rootfs, options, memory_mb=512, pids=64)
    system = tuple((one, Kind.SHOWN) for one in ("/lib", "/lib64", sys.base_prefix, "/usr"))
    places = places_of([home], str(Path.home()), protected=protect)
    places = replace(places, fixed=tuple(sorted((*places.fixed, *system))))
    python = (PYTHON, "-I", "-S", "-c", attacks.program(attacks.SETS_IDS))
    async with running() as runner:
        backend = Docker(runner, podman.binary, places, container, str(home))
        async with over(runner, backend, home, protect=protect) as host:
            host._choice._proven = backend
            plan = sandboxed(wished(python, work))
            by_call = await host.run(new_run(), plan, Start())
            said = await ran(host, f"/bin/sh -c {shlex.quote(ATTACK)}", work)

    assert by_call.exit_code == 0, by_call
    assert ("ESCAPED" in by_call.output.text) is not held, by_call.output.text
    assert ("-rws" in said) is not held, said
    moved = work / "y"
    assert moved.exists() is not held
    assert (hooks / "post-checkout").exists() is False
    assert ((moved / "hooks" / "post-checkout").exists(), config.exists()) == (not held, held)
    assert (work / ".envrc").exists() is not held


class Late(Docker):
    """Records what is to be swept instead of sweeping, so that the test sees why it is needed."""

    asked: tuple[ApprovalId | None, Finished | None] | None = None

    async def sweep(self, run_id: ApprovalId | None, done: Finished | None) -> None:
        """Record it."""
        self.asked = (run_id, done)


async def test_a_stopped_run_leaves_no_container(podman: Podman, tmp_path: Path) -> None:
    """The end of the command line alone leaves a container (the control); its name ends it."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(mode=0o700)
    work.mkdir()
    async with running(Limits(grace_ms=100)) as runner:
        backend = host_of(runner, podman, home, Late)
        async with over(runner, backend, home) as host:
            run_id = new_run()
            plan = sandboxed(wished(("/bin/sh", "-c", "touch begun; sleep 30"), work))
            task = asyncio.create_task(host.run(run_id, plan, Start()))
            await until(lambda: task.done() or (work / "begun").exists(), 30)
            await host.cancel(run_id)
            done = await task
            unswept = podman.containers()
            asked = backend.asked
            assert asked is not None
            await Docker.sweep(backend, *asked)
            left = podman.containers()

    assert asked == (run_id, done)
    assert (len(unswept), left) == (1, []), done


POLITE = """#!/bin/sh
[ "$1" = run ] || exec {podman} "$@"
trap 'exit 0' TERM
{podman} "$@" &
wait
"""


@pytest.mark.parametrize("ends", ["cancelled", "timed out"])
async def test_an_engine_that_says_0_when_it_is_stopped_leaves_none(
    ends: str, podman: Podman, tmp_path: Path
) -> None:
    """As with a podman that has started the container and does not yet pass signals on."""
    home, work, engine = tmp_path / "home", tmp_path / "work", tmp_path / "engine.sh"
    home.mkdir(mode=0o700)
    work.mkdir()
    engine.write_text(POLITE.format(podman=podman.binary))
    engine.chmod(0o755)
    polite = Podman(str(engine), podman.rootfs)
    async with running(Limits(grace_ms=2_000)) as runner:
        backend = host_of(runner, polite, home, Late)
        async with over(runner, backend, home) as host:
            run_id, patience_ms = new_run(), 8_000 if ends == "timed out" else 30_000
            words = ("/bin/sh", "-c", "touch begun; sleep 60")
            plan = sandboxed(wished(words, work, patience_ms))
            task = asyncio.create_task(host.run(run_id, plan, Start()))
            await until(lambda: task.done() or (work / "begun").exists(), 30)
            if ends == "cancelled":
                await host.cancel(run_id)
            done = await task
            unswept = podman.containers()
            await Docker.sweep(backend, run_id, done)
            left = podman.containers()

    assert (done.exit_code, done.cancelled, done.timed_out) == (
        *(0, ends == "cancelled", ends == "timed out"),
    )
    assert (len(unswept), left) == (1, [])


async def test_the_next_gateway_ends_what_a_dead_one_left(podman: Podman, tmp_path: Path) -> None:
    """Only containers with this gateway's own mark; foreign ones stay (the control)."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    async with running() as runner:
        backend = host_of(runner, podman, home, Docker)
        for name, label in (("ours", backend.label), ("theirs", "sayso=0000000000000000")):
            options = ("--network", "none", "--label", label, "--name", name, *OPTIONS)
            made = podman("create", *options, "--rootfs", podman.rootfs, "/bin/sleep", "30")
            assert made.returncode == 0, made.stderr
        async with over(runner, backend, home) as host:
            await host.settled()
            left = podman("ps", "--all", "--format", "{{.Names}}").stdout.split()

    assert left == ["theirs"]
