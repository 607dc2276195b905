"""Run what was approved, whatever happens to the files in between."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.runner.runner import Runner
from tests.support.runs import (
    Start,
    copy_of,
    new_run,
    planned,
    request,
    running,
    script,
)

GOOD, EVIL = "#!/bin/sh\necho good\n", "#!/bin/sh\necho evil\n"


def program(path: Path) -> None:
    """Make a real ELF program that prints its words."""
    copy_of("echo", path)


def swap_program(path: Path) -> None:
    """Put another program under the same name with one rename."""
    copy_of("env", path.with_name("new")).rename(path)


def overwrite_program(path: Path) -> None:
    """Write another program's bytes into the same inode."""
    other = shutil.which("env")
    assert other is not None
    path.write_bytes(Path(other).read_bytes())


def shell_script(path: Path) -> None:
    """Make a script that prints `good`."""
    script(path, GOOD)


def swap_script(path: Path) -> None:
    """Put another script under the same name with one rename."""
    script(path.with_name("new"), EVIL).rename(path)


def overwrite_script(path: Path) -> None:
    """Write another script's bytes into the same inode, and restore mtime."""
    before = path.stat()
    path.write_text(EVIL)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CASES = [
    (program, swap_program),
    (program, overwrite_program),
    (shell_script, swap_script),
    (shell_script, overwrite_script),
]
Change = Callable[[Path], None]


async def outcome(runner: Runner, tool: Path, change: Change, *, when: str) -> str:
    """Approve, change and run a tool; return what it printed, or ``drift``."""
    start = Start()
    plan = planned(request("./tool good", cwd=tool.parent))
    if when == "before verifying":
        change(tool)
    else:
        start.before_claim = lambda: change(tool)
    try:
        return (await runner.run(new_run(), plan, start)).output.text
    except PlanDrift:
        return "drift"


@pytest.mark.parametrize(("make", "change"), CASES)
async def test_a_change_between_approval_and_run_denies(
    tmp_path: Path, make: Change, change: Change
) -> None:
    """Another inode or other bytes under the approved name: nothing runs."""
    make(tmp_path / "tool")
    async with running() as runner:
        printed = await outcome(runner, tmp_path / "tool", change, when="before verifying")

    assert printed == "drift"


@pytest.mark.parametrize(("make", "change"), CASES)
async def test_a_change_between_verifying_and_start_never_runs(
    tmp_path: Path, make: Change, change: Change
) -> None:
    """Even a rename shows in the old inode's ctime, so each change denies, and is not started."""
    make(tmp_path / "tool")
    async with running() as runner:
        printed = await outcome(runner, tmp_path / "tool", change, when="after verifying")

    assert printed == "drift"


@pytest.mark.parametrize(("make", "expected"), [(program, "good\n"), (shell_script, "drift")])
async def test_a_folder_swapped_after_verifying_changes_nothing(
    tmp_path: Path, make: Change, expected: str
) -> None:
    """A program runs by its descriptor, so it is the approved one; a script's name is checked."""
    place = tmp_path / "place"
    place.mkdir()
    make(place / "tool")

    def swap(_tool: Path) -> None:
        place.rename(tmp_path / "old")
        place.mkdir()
        script(place / "tool", EVIL)

    async with running() as runner:
        printed = await outcome(runner, place / "tool", swap, when="after verifying")

    assert printed == expected


@pytest.mark.parametrize(("make", "change"), CASES)
async def test_a_start_by_name_would_run_what_was_put_there(
    tmp_path: Path, make: Change, change: Change
) -> None:
    """The control: each change is one that a plain start falls for."""
    tool = tmp_path / "tool"
    make(tool)
    before = subprocess.run([tool, "good"], capture_output=True, check=False).stdout  # noqa: ASYNC221 - the control is a plain start
    change(tool)
    after = subprocess.run([tool, "good"], capture_output=True, check=False).stdout  # noqa: ASYNC221 - the control is a plain start

    assert before == b"good\n"
    assert after != before


async def test_a_change_in_the_middle_of_a_chain_stops_it(tmp_path: Path) -> None:
    """A line whose later part was changed by an earlier one ends there, whatever joins them."""
    script(tmp_path / "first", "#!/bin/sh\nprintf '#!/bin/sh\\necho evil\\n' > tool\necho first\n")
    script(tmp_path / "tool", GOOD)
    plan = planned(request("./first ; ./tool || echo after", cwd=tmp_path))
    async with running() as runner:
        done = await runner.run(new_run(), plan, Start())

    assert done.output.text.startswith("first\nsayso: ")
    assert "is not the file that was approved" in done.output.text
    assert "evil" not in done.output.text
    assert "after\n" not in done.output.text
    assert done.exit_code == 126


async def test_a_working_directory_swapped_after_verifying_is_not_entered(tmp_path: Path) -> None:
    """The run starts in the directory that was verified, by its descriptor."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "mark").write_text("approved")

    def swap() -> None:
        place.rename(tmp_path / "old")
        place.mkdir()
        (place / "mark").write_text("other")

    plan = planned(request("cat mark", cwd=place))
    async with running() as runner:
        done = await runner.run(new_run(), plan, Start(before_claim=swap))

    assert done.output.text == "approved"
