import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import ExecPlan, PlannedCommand
from core.planning.digest import digest_of
from core.planning.planner import Planner
from core.planning.verify import verify
from core.store.schema.json_columns import dump, load
from tests.support.runs import Start, copy_of, new_run, planned, request, running, script

WRAPPED = [
    ("env", "A=b", "./tool", "good"),
    ("timeout", "9", "nice", "./tool", "good"),
    ("sh", "-c", "./tool 'good'"),
    ("xargs", "./tool", "good"),
]


def only(plan: ExecPlan) -> PlannedCommand:
    """Return the one command of a plan."""
    (command,) = plan.commands
    return command


@pytest.mark.parametrize("argv", WRAPPED)
def test_what_a_wrapper_starts_is_pinned(tmp_path: Path, argv: tuple[str, ...]) -> None:
    """The inner program is resolved, named by path in what runs, and hashed like an outer one."""
    tool = copy_of("echo", tmp_path / "tool")
    command = only(planned(request(argv=argv, cwd=tmp_path)))
    (leaf,) = command.effective

    assert leaf.executable is not None
    assert leaf.executable.path == str(tool)
    assert leaf.executable in command.operands
    assert str(tool) in " ".join(command.vector)
    assert command.argv == argv


def test_the_script_and_interpreter_of_an_inner_program_are_pinned(tmp_path: Path) -> None:
    """`env ./x` runs a script with its interpreter, and `nice sh x.sh` reads a script."""
    script(tmp_path / "x", "#!/bin/sh\n")
    (tmp_path / "x.sh").write_text("true")

    by_line = only(planned(request(argv=("env", "./x"), cwd=tmp_path))).operands
    by_word = only(planned(request(argv=("nice", "sh", "x.sh"), cwd=tmp_path))).operands

    shell = os.path.realpath("/bin/sh")
    assert {pin.realpath for pin in by_line} == {str(tmp_path / "x"), shell}
    assert {pin.realpath for pin in by_word} == {str(tmp_path / "x.sh"), shell}


ENTERING = [
    "env -C sub sh x.sh",
    "env --chdir=sub sh x.sh",
    "env --chdir sub sh ./x.sh",
    "sh -c 'cd sub && sh x.sh'",
    "sh -c 'cd sub; . ./x.sh; true $(true)'",
    "cd sub; sh x.sh $(true)",
    "unshare --wd=sub sh x.sh",
    "chroot / sh $PWD/sub/x.sh",
    "taskset 1 sh sub/x.sh",
]


@pytest.mark.parametrize("line", ENTERING)
async def test_a_script_in_a_folder_that_is_entered_first_is_bound(
    tmp_path: Path, line: str
) -> None:
    """By a wrapper of any kind, or in a text that is not read; another folder's is not."""
    for name in ("sub", "other"):
        (tmp_path / name).mkdir()
        script(tmp_path / name / "x.sh", "echo good\n")

    plan = planned(request(line.replace("$PWD", str(tmp_path)), cwd=tmp_path))

    def swap() -> None:
        script(tmp_path / "sub" / "new", "echo evil\n").rename(tmp_path / "sub" / "x.sh")

    bound = {pin.realpath for pin in plan.commands[-1].operands}
    assert str(tmp_path / "sub" / "x.sh") in bound
    assert str(tmp_path / "other" / "x.sh") not in bound
    async with running() as runner:
        with pytest.raises(PlanDrift):
            await runner.run(new_run(), plan, Start(before_claim=swap))


def test_a_link_on_the_search_path_does_not_choose_the_inner_program(tmp_path: Path) -> None:
    """The wrapper is given the resolved path, not the name."""
    (tmp_path / "bin").mkdir()
    copy_of("echo", tmp_path / "bin" / "tool")
    planner = Planner((str(tmp_path / "bin"), "/usr/bin"))

    command = only(planned(request("nice env tool x", cwd=tmp_path), planner))

    assert command.vector == ("nice", "/usr/bin/env", str(tmp_path / "bin" / "tool"), "x")


def test_a_missing_inner_program_is_said(tmp_path: Path) -> None:
    """The wrapper exists, what it should run does not."""
    command = only(planned(request("env no-such-program", cwd=tmp_path)))

    assert command.executable is not None
    assert command.inner[0].executable is None
    assert "no-such-program" in command.inner[0].problem


def test_what_is_bound_inside_changes_the_digest() -> None:
    """Neither the inner commands nor the vector that runs can be replaced under a digest."""
    plan = planned(request("env ls"))
    command = only(plan)
    others = [
        replace(command, inner=()),
        replace(command, bound=()),
        replace(command, bound=("env", "/usr/bin/id")),
        replace(command, inner=(replace(command.inner[0], argv=("id",)),)),
    ]

    digests = {digest_of(replace(plan, commands=(other,))) for other in others}

    assert len(digests) == len(others)
    assert plan.digest not in digests


def test_a_plan_with_inner_commands_is_stored_whole() -> None:
    """What waits for a person returns from the database unchanged."""
    plan = planned(request(argv=("sh", "-c", "ls | env LANG=C wc -l")))

    assert load(ExecPlan, dump(plan)) == plan


@pytest.mark.parametrize("argv", WRAPPED)
def test_a_swapped_inner_program_is_seen(tmp_path: Path, argv: tuple[str, ...]) -> None:
    """Another file under the inner program's name is drift before the wrapper starts."""
    copy_of("echo", tmp_path / "tool")
    plan = planned(request(argv=argv, cwd=tmp_path))
    with verify(plan):
        copy_of("true", tmp_path / "new").rename(tmp_path / "tool")

    with pytest.raises(PlanDrift, match="tool"), verify(plan):
        pytest.fail("it was opened")


@pytest.mark.parametrize("argv", WRAPPED)
async def test_a_swap_between_verifying_and_start_never_runs(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    """The supervisor checks once more what a wrapper is about to start."""
    copy_of("echo", tmp_path / "tool")
    wish = request(argv=argv, cwd=tmp_path)

    def swap() -> None:
        script(tmp_path / "new", "#!/bin/sh\necho evil\n").rename(tmp_path / "tool")

    async with running() as runner:
        good = await runner.run(new_run(), planned(wish), Start())
        with pytest.raises(PlanDrift):
            await runner.run(new_run(), planned(wish), Start(before_claim=swap))

    assert good.output.text == "good\n"


async def test_a_program_put_earlier_on_the_search_path_is_not_started(tmp_path: Path) -> None:
    """The control runs the same words with a wrapper that looks the name up itself."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    script(second / "tool", "#!/bin/sh\necho good\n")
    planner = Planner((str(first), str(second), "/usr/bin"))
    plan = planned(request("env tool", cwd=tmp_path), planner)
    script(first / "tool", "#!/bin/sh\necho evil\n")

    async with running() as runner:
        done = await runner.run(new_run(), plan, Start())
    control = await asyncio.create_subprocess_exec(
        *("env", "tool"), env=dict(plan.env), stdout=asyncio.subprocess.PIPE
    )
    fooled, _ = await control.communicate()

    assert (done.output.text, fooled) == ("good\n", b"evil\n")
