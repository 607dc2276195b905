"""Overwrite in place between the last check of a file and its opening, with real writers."""

import asyncio
import hashlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from core.errors import PlanDrift, SpawnError
from core.model.command import ExecPlan
from core.runner.runner import Runner
from core.runner.supervisor.pinned_files.file_leases import HOLD_S
from tests.support.runs import (
    PLANNER,
    POLICY,
    Start,
    copy_of,
    new_run,
    planned,
    request,
    running,
    script,
)
from tests.support.waiting import until

# A slow interpreter: it reports by a file that it has started, and its script is opened once it has
# been overwritten, but after this many turns of 20 ms at most.
SLOW = """#!/bin/sh
: > {0}/mark
until [ -e {0}/attempt ]; do sleep 0.01; done
i=0
until [ -e {0}/written ] || [ $i = {1} ]; do i=$((i+1)); sleep 0.02; done
exec /bin/sh "$@"
"""
GOOD, EVIL = "echo good\n", "echo evil\n"
_WRITER = """
import os, sys, time
path, wanted, text = sys.argv[1:]
print("ready", flush=True)
while not os.path.exists(wanted):
    time.sleep(0.001)
time.sleep(0.05)
began = time.monotonic()
open(wanted.replace("mark", "attempt"), "x").close()
fd = os.open(path, os.O_WRONLY)
os.pwrite(fd, text.encode(), os.stat(path).st_size - len(text))
open(wanted.replace("mark", "written"), "x").close()
print(time.monotonic() - began)
"""
_RESTLESS = """
import os, sys, time
while True:
    for text in sys.argv[2:]:
        fd = os.open(sys.argv[1], os.O_WRONLY)
        os.pwrite(fd, text.encode(), 10)
        os.close(fd)
        time.sleep(0.002)
"""


def slow_script(folder: Path, turns: int = 15) -> Path:
    """Make a script that its interpreter opens long after it was started."""
    slow = script(folder / "slow", SLOW.format(folder, turns))
    return script(folder / "tool", f"#!{slow}\n{GOOD}")


def overwriting(tool: Path, mark: Path) -> subprocess.Popen[str]:
    """Start a process that overwrites the tool's last line in place, 50 ms after the mark."""
    writer = subprocess.Popen(
        ["python3", "-c", _WRITER, tool, mark, EVIL], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert "ready\n" == writer.stdout.readline()
    return writer


async def outcome(runner: Runner, plan: ExecPlan, start: Start | None = None) -> str:
    """Run a plan and return what it printed, or why nothing ran."""
    try:
        return (await runner.run(new_run(), plan, start or Start())).output.text
    except (PlanDrift, SpawnError) as failure:
        return f"nothing ran: {failure}"


@pytest.mark.parametrize("line", ["./tool", "timeout 5 ./tool"])
async def test_a_script_is_kept_from_writers_until_it_was_read(tmp_path: Path, line: str) -> None:
    """The writer comes after the last check and before the interpreter, and has to wait."""
    tool, mark = slow_script(tmp_path), tmp_path / "mark"
    with overwriting(tool, mark) as writer:
        async with running() as runner:
            plan = planned(request(line, cwd=tmp_path))
            text = await outcome(runner, plan)
        waited, _ = await asyncio.to_thread(writer.communicate, timeout=30)

    assert text == "good\n"
    assert 0.2 < float(waited) < HOLD_S + 1
    assert tool.read_text().endswith(EVIL)


def test_a_plain_start_falls_for_it(tmp_path: Path) -> None:
    """The control: checked just before, and started by its name, the script is the other one."""
    tool, mark = slow_script(tmp_path, 1000), tmp_path / "mark"
    with overwriting(tool, mark) as writer:
        before = tool.stat()
        assert tool.stat().st_ctime_ns == before.st_ctime_ns
        done = subprocess.run([tool], capture_output=True, text=True, check=False)
        writer.communicate(timeout=30)

    assert done.stdout == "evil\n"


@pytest.mark.parametrize("kind", ["program", "script"])
async def test_what_is_open_for_writing_is_not_started(tmp_path: Path, kind: str) -> None:
    """A process that holds the file open could write at any moment; the check means nothing."""
    tool = tmp_path / "tool"
    if kind == "program":
        copy_of("echo", tool)
    else:
        script(tool, f"#!/bin/sh\n{GOOD}")
    async with running() as runner:
        plan = planned(request("./tool good", cwd=tmp_path))
        with tool.open("r+b"), pytest.raises(PlanDrift, match="is open for writing"):
            await runner.run(new_run(), plan, Start())
        assert "good\n" == (await runner.run(new_run(), plan, Start())).output.text


async def test_writers_go_on_while_a_long_script_runs(tmp_path: Path) -> None:
    """A script is kept from writers while it starts, not while it runs."""
    tool = script(tmp_path / "tool", "#!/bin/sh\n: >here\nsleep 20\n")
    async with running() as runner:
        run_id = new_run()
        plan = planned(request("./tool", cwd=tmp_path))
        run = asyncio.ensure_future(runner.run(run_id, plan, Start()))
        await until((tmp_path / "here").exists)
        began = time.monotonic()
        fd = await asyncio.to_thread(os.open, tool, os.O_WRONLY)
        waited = time.monotonic() - began
        os.close(fd)
        await runner.cancel(run_id)
        await run

    assert 0.5 < waited < HOLD_S + 5


async def test_a_line_may_write_what_it_runs_later(tmp_path: Path) -> None:
    """Only what starts is leased: an earlier command is not delayed, and the change is seen."""
    script(tmp_path / "tool", f"#!/bin/sh\n{GOOD}")
    script(tmp_path / "first", f"#!/bin/sh\nprintf '#!/bin/sh\\n{EVIL[:-1]}\\n' > tool\n")
    began = time.monotonic()
    async with running() as runner:
        text = await outcome(runner, planned(request("./first; ./tool", cwd=tmp_path)))

    assert "is not the file that was approved" in text
    assert "evil" not in text
    assert time.monotonic() - began < HOLD_S


async def test_racing_writers_never_win(tmp_path: Path) -> None:
    """A process that overwrites constantly, back and forth: what was judged runs, or nothing."""
    tool = script(tmp_path / "tool", f"#!/bin/sh\n{GOOD}")
    bytes_of = {f"#!/bin/sh\n{text}".encode(): text.split()[1] for text in (GOOD, EVIL)}
    judged_by = {hashlib.sha256(content).hexdigest(): word for content, word in bytes_of.items()}
    seen: set[str] = set()
    with subprocess.Popen(["python3", "-c", _RESTLESS, tool, EVIL, GOOD]) as writer:  # noqa: ASYNC220 - a short start
        async with running() as runner:
            for _ in range(60):
                plan = PLANNER.plan(request("./tool", cwd=tmp_path), POLICY)
                program = plan.commands[0].executable if isinstance(plan, ExecPlan) else None
                if isinstance(plan, ExecPlan) and program is not None:
                    text = await outcome(runner, plan)
                    seen.add("as judged" if text.strip() == judged_by[program.sha256] else text)
        writer.kill()

    assert "as judged" in seen
    assert all(text == "as judged" or text.startswith("nothing ran") for text in seen), seen
