"""Clean up after a gateway that died: withdraw its agents' questions, end their processes."""

import pwd
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.jobs.executor_recovery import WITHDRAWN, ExecutorRecovery
from core.model.approval import ApprovalState
from core.model.result import Finished, Pending
from core.runner.supervisor.processes import procfs
from core.store import approvals
from core.store.engine import replicas
from core.store.schema.records import OrphanedRun
from tests.support.agents import agents_at, workshop
from tests.support.executors import UID, USER
from tests.support.gate import AGENT
from tests.support.runs import new_run
from tests.support.terminals import desk_at


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Yield the agents' folder."""
    with workshop() as found:
        yield found


@pytest.mark.parametrize("dead", [True, False], ids=["a dead gateway's", "the control: our own"])
async def test_questions_of_ended_agents(
    tmp_path: Path, executor_path: str, folder: Path, *, dead: bool
) -> None:
    """No one waits for the answer: they are withdrawn, with the reason; ours continue.

    A power cut ended that gateway: it still seems to beat, and nothing is proven about its process.
    """
    async with agents_at(tmp_path, executor_path, folder, "http://127.0.0.1:9") as bench:
        await bench.gate.store.write(replicas.heartbeat, "of-the-dead", replicas.LEASE_MS)
        bench.agents.tool_calls.owner = "of-the-dead" if dead else bench.gate.execution.owner
        under_way = bench.give(f"write {folder}/work/x")
        question = await bench.question()
        await ExecutorRecovery(bench.gate, bench.world.executors, ())([])
        found = await bench.gate.store.read(approvals.get, question.id)
        assert found is not None
        if found.resolution is None:
            await bench.gate.cancel(question.id, "enough")
        done = await under_way

    assert isinstance(done, Finished)
    assert '"no-1"' in done.output.text
    assert (found.resolution is not None) == dead
    if found.resolution is not None:
        assert found.resolution.state is ApprovalState.CANCELLED
        assert found.resolution.note == WITHDRAWN


async def test_a_question_about_a_terminal_waits_on(tmp_path: Path, executor_path: str) -> None:
    """No agent waits for it: whoever asks for the terminal asks again after a restart."""
    async with desk_at(tmp_path, executor_path) as desk:
        asked = await desk.gate.submit(desk.request(replace(AGENT, process=(4711, 11))))
        assert isinstance(asked, Pending)
        await ExecutorRecovery(desk.gate, desk.world.executors, ())([])
        found = await desk.gate.store.read(approvals.get, asked.run_id)

    assert found is not None
    assert found.resolution is None


def as_other_user(run_id: str) -> "subprocess.Popen[bytes]":
    """Start what an executor might have left of a run."""
    environ = {"SAYSO_RUN": run_id}
    group = pwd.getpwnam(USER).pw_gid
    return subprocess.Popen(
        ["sleep", "60"],
        env=environ,
        user=UID,
        group=group,
        extra_groups=[],
        start_new_session=True,
    )


async def test_processes_of_other_users(tmp_path: Path, executor_path: str, folder: Path) -> None:
    """An executor of their user ends what has a run's mark, and nothing that has another."""
    runs = [new_run(), new_run()]
    left = [as_other_user(one) for one in runs]
    try:
        async with agents_at(tmp_path, executor_path, folder, "http://127.0.0.1:9") as bench:
            recovery = ExecutorRecovery(bench.gate, bench.world.executors, (USER,))
            await recovery([OrphanedRun(runs[0], None, None, None, procfs.boot_id())])
        assert left[0].wait(20) == -9
        assert left[1].poll() is None
    finally:
        for one in left:
            one.kill()
            one.wait()
