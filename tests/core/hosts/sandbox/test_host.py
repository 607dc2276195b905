"""Test the host sandbox as the gate sees it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import HostUnavailable, PlanDrift, SpawnError
from core.hosts.sandbox.backends.bubblewrap import MOST_WORDS, Bubblewrap
from core.hosts.sandbox.filesystem.mounts import Kind
from core.hosts.sandbox.filesystem.workspace_check import Check
from core.hosts.sandbox.host import SandboxHost
from core.hosts.sandbox.tmp_dir import Scratch
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.stdio import Capture, Stdio
from core.planning.digest import bind
from core.ports import ExecutionHost
from core.runner.enclosure import Enclosure
from tests.support.runs import Start, new_run, request, running, script
from tests.support.sandbox import (
    HomeBeside,
    bwrap,
    over,
    places_for,
    sandbox,
    sandboxed,
)
from tests.support.waiting import until


async def test_a_line_runs_inside(tmp_path: Path) -> None:
    """Connectors, pipes, `cd`, codes and the workspace are as on the gateway."""
    async with sandbox(tmp_path) as house:
        (house.workspace / "sub").mkdir()
        host: ExecutionHost = house.host
        done = await house.run("echo made > sub/file || tee sub/file && cd sub && ls | head -1")
        failed = await house.run("ls nowhere")
        killed = await house.run(("/bin/sh", "-c", "kill -9 $$"))
        told = await house.run("sh -c 'exit 7'; echo '$?' \"a $? $?\"; cat nowhere || echo $?")

        assert host.place == "sandbox"
        assert await house.host.backend() == "bubblewrap"
    assert done.output.text == "file\n"
    assert (house.workspace / "sub/file").read_text() == "made\n"
    assert failed.exit_code == 2
    assert told.output.text.splitlines()[0] == "$? a 7 7"
    assert told.output.text.splitlines()[-1] == "1"
    assert killed.exit_code == 137  # as a shell reports it: bubblewrap has no signals to pass on


async def test_the_commands_of_a_line_share_tmp_and_nobody_else_does(tmp_path: Path) -> None:
    """It is empty at first, one for the whole run, and gone afterwards."""
    async with sandbox(tmp_path) as house:
        shared = await house.run("touch /tmp/mine && ls /tmp/mine")
        later = await house.run("ls /tmp/mine")
    left = list((house.home / "sandbox").iterdir())

    assert shared.output.text == "/tmp/mine\n"
    assert later.exit_code == 2
    assert left == []


async def test_what_a_dead_gateway_left_is_removed(tmp_path: Path) -> None:
    """Its private folders, with everything in them."""
    async with sandbox(tmp_path) as house:
        left = house.home / "sandbox/0dead/deep"
        left.mkdir(parents=True)
        await house.host.start()

    assert not left.exists()


async def test_the_environment_is_the_plans(tmp_path: Path) -> None:
    """The gateway's other variables stay outside; requested ones are there; TMPDIR exists."""
    async with sandbox(tmp_path) as house:
        plan = sandboxed(request("env", cwd=house.workspace, env=(("GREETING", "a b"),)))
        plan = bind(replace(plan, env=(*plan.env, ("TMPDIR", str(tmp_path)))))
        run_id = new_run()
        done = await house.host.run(run_id, plan, Start())

    lines = set(done.output.text.splitlines())
    assert {"GREETING=a b", f"SAYSO_RUN={run_id}", "TMPDIR=/tmp"} <= lines
    assert {line.partition("=")[0] for line in lines} == {
        *(name for name, _ in plan.env),
        *("SAYSO_RUN", "PWD"),
    }


async def test_input_and_separate_streams(tmp_path: Path) -> None:
    """Standard input and both outputs pass through the sandbox unchanged."""
    stdio = Stdio(stdin=b"in", capture=Capture.SEPARATE)
    async with sandbox(tmp_path) as house:
        plan = house.plan(("/bin/sh", "-c", "cat; echo error >&2"))
        done = await house.host.run(new_run(), bind(replace(plan, stdio=stdio)), Start())

    assert done.streams is not None
    assert (done.streams.stdout.data, done.streams.stderr.data) == (b"in", b"error\n")


async def test_what_is_printed_can_be_watched(tmp_path: Path) -> None:
    """The live tail and the watchers' chunks are the runner's; cancelling ends the run."""
    async with sandbox(tmp_path) as house:
        run_id, start = new_run(), Start()
        plan = house.plan(("/bin/sh", "-c", "echo begun; touch begun; sleep 30"))
        task = asyncio.create_task(house.host.run(run_id, plan, start))
        await until((house.workspace / "begun").exists)
        seen = await house.host.tail(run_id)
        chunks = house.host.watch(run_id)
        first = await anext(chunks)
        cancelled = await house.host.cancel(run_id)
        done = await task

    assert seen is not None
    assert (seen.text, first.data) == ("begun\n", b"begun\n")
    assert (cancelled, done.exit_code) == (True, None)


async def test_a_terminal_is_refused(tmp_path: Path) -> None:
    """S0: "PTY supported in non-sandbox mode only"."""
    async with sandbox(tmp_path) as house:
        plan = replace(house.plan(("/bin/sh",)), stdio=Stdio(capture=Capture.PTY))
        with pytest.raises(HostUnavailable, match="no terminal"):
            await house.host.run(new_run(), bind(plan), Start())


async def test_what_cannot_be_seen_is_said_beforehand(tmp_path: Path) -> None:
    """A hidden program or folder: nothing is claimed, and the message names it."""
    async with sandbox(tmp_path) as house:
        tool = script(tmp_path / "tool", "#!/bin/sh\necho ran\n")
        start = Start()
        with pytest.raises(SpawnError, match=r"`.*tool` cannot be seen"):
            await house.run((str(tool),), start=start)
        with pytest.raises(SpawnError, match="the folder"):
            await house.run("ls", house.home, start)

        assert start.identity is None


async def test_many_words(tmp_path: Path) -> None:
    """As many as bubblewrap takes run; more are refused with the number."""
    async with sandbox(tmp_path) as house:
        done = await house.run(("/bin/echo", *["x"] * (MOST_WORDS - 1)))
        with pytest.raises(SpawnError, match="8000 words at most"):
            await house.run(("/bin/echo", *["x"] * MOST_WORDS))

    assert done.output.text.count("x") == MOST_WORDS - 1


async def test_what_was_approved_is_what_runs_inside(tmp_path: Path) -> None:
    """Programs are started by their path inside, so their identity is compared just before."""
    async with sandbox(tmp_path) as house:
        tool = script(house.workspace / "tool", "#!/bin/sh\necho good\n")
        good = await house.run(("./tool",))
        plan = house.plan(("./tool",))
        change = Start(before_claim=lambda: script(tool, "#!/bin/sh\necho evil\n"))
        with pytest.raises(PlanDrift):
            await house.host.run(new_run(), plan, change)

    assert good.output.text == "good\n"


class Faulty(Bubblewrap):
    """Bubblewrap without one of its options, or with one more."""

    def __init__(
        self, house: HomeBeside, without: tuple[str, ...], also: tuple[str, ...] = ()
    ) -> None:
        super().__init__(bwrap(), places_for(house.home), network=False)
        self.without = without
        self.also = also

    def fixed_options(self) -> tuple[str, ...]:
        """Return the options as they would be by mistake."""
        words = " ".join(super().fixed_options()).replace(" ".join(self.without), "").split()
        return (*words, *self.also)


@pytest.mark.parametrize(
    ("without", "also", "told"),
    [
        (("--seccomp", "3"), (), "Seccomp is 0"),
        (("--cap-drop", "ALL"), (), "CapEff is "),
        (("--unshare-net",), (), "network cards"),
        (("--unshare-pid",), (), "no process namespace"),
        ((), ("--no-such-option",), "a first command ended with 1: bwrap: Unknown option"),
    ],
)
async def test_a_backend_that_does_not_enclose_is_not_used(
    without: tuple[str, ...], also: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    """The probe checks what a command inside could do, not what was requested."""
    async with sandbox(tmp_path) as house:
        backend = Faulty(house, without, also)
        async with over(house.runner, backend, house.home) as host:
            with pytest.raises(HostUnavailable, match=told) as refused:
                await host.run(new_run(), house.plan("id"), Start())

    assert "nothing runs without one" in str(refused.value)


async def test_a_backend_that_reveals_the_gateway_is_not_used(tmp_path: Path) -> None:
    """The probe looks for the gateway's own folder."""
    async with sandbox(tmp_path) as house:
        places = places_for(house.home)
        shown = tuple(sorted((*places.fixed, (str(house.home), Kind.SHOWN))))
        backend = Bubblewrap(bwrap(), replace(places, fixed=shown), network=False)
        async with over(house.runner, backend, house.home) as host:
            with pytest.raises(HostUnavailable, match="seen the gateway's own folder"):
                await host.backend()


async def test_without_backends_the_reasons_are_told(tmp_path: Path) -> None:
    """Nothing is run on the gateway instead."""
    async with running() as runner:
        missing = ("bubblewrap: `bwrap` is not installed",)
        host = SandboxHost(runner, (), Scratch(tmp_path / "s"), "/", missing=missing)
        with pytest.raises(HostUnavailable, match=r"nothing runs without one \(bubblewrap: `bwrap"):
            await host.run(new_run(), sandboxed(request("id")), Start())


class Breaking(Bubblewrap):
    """Bubblewrap that fails on demand, and counts how often it is used."""

    breaks = False
    used = 0

    @contextmanager
    def enclose(
        self, run_id: ApprovalId, plan: ExecPlan, scratch: Path, check: Check | None = None
    ) -> Iterator[Enclosure]:
        """Enclose, or fail."""
        self.used += 1
        place = scratch / "gone" if self.breaks else scratch
        with super().enclose(run_id, plan, place, check) as one:
            yield one


async def test_a_backend_that_fails_is_probed_again(tmp_path: Path) -> None:
    """A proof is kept until a run looks as if bubblewrap had failed; then it must be renewed."""
    async with sandbox(tmp_path) as house:
        backend = Breaking(bwrap(), places_for(house.home), network=False)
        async with over(house.runner, backend, house.home) as host:
            for _ in range(3):
                await host.run(new_run(), house.plan("id"), Start())
            proven_once = backend.used
            backend.breaks = True
            broken = await host.run(new_run(), house.plan("id"), Start())
            with pytest.raises(HostUnavailable, match="bwrap: Can't find source path"):
                await host.run(new_run(), house.plan("id"), Start())
            tries = backend.used
            with pytest.raises(HostUnavailable):
                await host.run(new_run(), house.plan("id"), Start())

    assert proven_once == 4  # one probe, three runs
    assert broken.exit_code == 1
    assert backend.used == tries, (
        "a refusal is believed for a moment, so that a burst costs nothing"
    )


async def test_the_sandbox_is_proved_in_a_workspace_that_is_named(tmp_path: Path) -> None:
    """`sandbox.workspace` leaves no other folder to test in; nothing remains in it."""
    home, workspace = tmp_path / "home", tmp_path / "work"
    home.mkdir(mode=0o700)
    workspace.mkdir()
    for named in (workspace, tmp_path / "absent"):
        places = replace(places_for(home), workspace=str(named))
        backend = Bubblewrap(bwrap(), places, network=False)
        async with running() as runner:
            if named.exists():
                async with over(runner, backend, home) as host:
                    assert await host.backend() == "bubblewrap"
            else:
                with pytest.raises(HostUnavailable, match="No such file or directory"):
                    async with over(runner, backend, home) as host:
                        await host.backend()

    assert [*workspace.iterdir()] == []
