"""Make a home with a store that remembers what people answered."""

import json
import os
import subprocess
import sys
from pathlib import Path

from bot.explain.batch_entry import REQUESTER
from core.model.approval import ApprovalReply
from core.model.command import ExecPlan, ExecRequest
from core.model.identity import AgentId
from core.model.policy import ExecHost, ExecPolicy, ExecSecurity
from core.planning.planner import Planner
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from core.store import approvals, open_store
from core.store.runs import runs
from core.store.schema.records import ApprovalDraft, RunDraft
from tests.support.product_process import run as finished
from tests.support.store_records import ALICE, HALF_HOUR, SESSION, new_id

ASKING = ExecPolicy(host=ExecHost.GATEWAY, security=ExecSecurity.ALLOWLIST)
Answered = tuple[str, ApprovalReply | None]


def home(folder: Path, config: object, approvals_file: object = None) -> Path:
    """Make a home with a configuration."""
    state = folder / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    write(state / "config.json5", config)
    if approvals_file is not None:
        write(state / "exec-approvals.json", approvals_file)
    return state


def write(path: Path, content: object) -> Path:
    """Write JSON, or text as it is, readable only by its owner."""
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def planned(line: str, cwd: Path, agent: str = "main") -> ExecPlan:
    """Plan a line as the gateway would."""
    request = ExecRequest(REQUESTER, SESSION, str(cwd), line=line, agent=AgentId(agent))
    plan = Planner().plan(request, ASKING)
    assert isinstance(plan, ExecPlan), plan
    return plan


async def remember(
    url: str, cwd: Path, asked: list[Answered], unasked: tuple[str, ...] = (), agent: str = "main"
) -> None:
    """Let people answer lines in a store, and run others unasked; the store is closed after."""
    store = await open_store(url)
    try:
        for line, reply in asked:
            plan = planned(line, cwd, agent)
            verdict = evaluate(plan, ASKING, Allowlist((), "/home/nobody"))
            draft = ApprovalDraft(new_id(), plan, verdict, REQUESTER, None, HALF_HOUR, local=True)
            await store.write(approvals.create, draft)
            if reply is not None:
                await store.write(
                    approvals.answer, approvals.Ballot(draft.id, reply, ALICE, None, "", None)
                )
        for line in unasked:
            run = RunDraft(new_id(), planned(line, cwd, agent), REQUESTER, "boot")
            await store.write(runs.begin, run)
    finally:
        await store.close()


def sayso(state: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of the program in a home."""
    return finished(
        [sys.executable, "-m", "bot", *words],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd=cwd,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(state.parent),
            "SAYSO_HOME": str(state),
            "PYTHONPATH": os.fspath(Path(__file__).parents[3]),
        },
    )
