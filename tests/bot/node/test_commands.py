"""Test what a node does for its gateway besides running commands."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from bot.node.commands import RUNS, NodeCommands
from bot.node.judge import Judge
from core.audit.journal import AuditJournal
from core.model.command import ExecRequest
from core.model.decision import Decision
from core.model.identity import Intake, Requester, SessionKey
from core.nodes.frames import Fault, Invoke, Invoked, NotInvoked, Prepare, Prepared
from core.planning.planner import Planner

GATEWAY, ID = "c" * 64, "1" * 32
SOCKET = {"path": "/tmp/x.sock", "token": "t" * 32}


class Bench:
    """A node's commands over a home."""

    def __init__(self, home: Path, *, remote_approvals: bool = True) -> None:
        self.path = home / "exec-approvals.json"
        self.log = home / "node-audit.jsonl"
        self.journal = AuditJournal(self.log)
        self.judge = Judge.of(home, "a" * 64, Planner())
        self.commands = NodeCommands(
            GATEWAY, self.judge, self.journal, remote_approvals=remote_approvals
        )

    def write(self, **settings: object) -> None:
        """Write the node's file for the agent main."""
        text = {"version": 1, "socket": SOCKET, "agents": {"main": settings}}
        self.path.write_text(json.dumps(text))
        self.path.chmod(0o600)

    async def says(self, command: str, **params: Any) -> Invoked | NotInvoked:
        """Invoke a command."""
        return await self.commands.answer(Invoke(id=ID, command=command, params=params))

    async def file(self) -> dict[str, Any]:
        """Return what system.execApprovals.get answers."""
        found = await self.says("system.execApprovals.get")
        assert isinstance(found, Invoked), found
        return found.result


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Return a node with a file."""
    made = Bench(tmp_path)
    made.write(security="allowlist", ask="on-miss")
    return made


async def test_programs_are_looked_up(bench: Bench) -> None:
    """Names only; a missing one is left out; another shape is refused."""
    found = await bench.says("system.which", bins=["echo", "no-such", "/bin/sh", "e\0cho"])
    assert isinstance(found, Invoked)
    assert found.result == {"bins": {"echo": "/usr/bin/echo"}}
    for wrong in ({}, {"bins": "echo"}, {"bins": ["echo"], "more": 1}, {"bins": [""] * 3}):
        refused = await bench.says("system.which", **wrong)
        assert isinstance(refused, NotInvoked)
        assert refused.error is Fault.BAD_REQUEST


async def test_countless_wrong_keys_are_refused_at_once(bench: Bench) -> None:
    """Each mistake was compared with every other one, while the node did nothing else."""
    began = time.process_time()
    refused = await bench.says("system.which", bins=[], **{f"k{one}": 1 for one in range(10_000)})
    assert isinstance(refused, NotInvoked)
    assert "10000 values cannot be used" in refused.why
    assert time.process_time() - began < 0.5


async def test_the_file_is_replaced_by_its_hash_and_keeps_its_socket(bench: Bench) -> None:
    """The actor and the action are in the node's own journal; the token was never sent."""
    found = await bench.file()
    assert "socket" not in found["file"]
    new = {**found["file"], "agents": {"main": {"security": "deny"}}}
    done = await bench.says("system.execApprovals.set", file=new, baseHash=found["hash"])
    assert isinstance(done, Invoked), done
    kept = json.loads(bench.path.read_text())
    assert (kept["agents"]["main"]["security"], kept["socket"]) == ("deny", SOCKET)
    assert f"gateway:{GATEWAY}" in bench.log.read_text()


async def test_a_file_that_changed_or_is_wrong_is_not_replaced(bench: Bench) -> None:
    """An old hash, a content with a socket, an invalid one; the control replaces it."""
    old = await bench.file()
    bench.write(security="full")
    before = bench.path.read_text()
    late = await bench.says("system.execApprovals.set", file=old["file"], baseHash=old["hash"])
    assert isinstance(late, NotInvoked)
    assert late.error is Fault.CONFLICT

    now = await bench.file()
    for file in (
        {**now["file"], "socket": {"token": "mine"}},
        {**now["file"], "defaults": {"security": "lax"}},
        {"version": 2},
    ):
        refused = await bench.says("system.execApprovals.set", file=file, baseHash=now["hash"])
        assert isinstance(refused, NotInvoked), file
        assert refused.error is Fault.BAD_REQUEST
        assert bench.path.read_text() == before
    done = await bench.says("system.execApprovals.set", file=now["file"], baseHash=now["hash"])
    assert isinstance(done, Invoked)


async def test_two_writers_of_one_hash_change_it_once(bench: Bench) -> None:
    """The hash is compared again under the lock of the file."""
    found = await bench.file()
    one, two = ({**found["file"], "defaults": {"ask": ask}} for ask in ("always", "off"))
    both = await asyncio.gather(
        *(
            bench.says("system.execApprovals.set", file=file, baseHash=found["hash"])
            for file in (one, two)
        )
    )
    assert sorted(type(answer).__name__ for answer in both) == ["Invoked", "NotInvoked"]


async def test_what_is_not_advertised_is_not_done(tmp_path: Path) -> None:
    """`node.remoteApprovals: false`; a run is never invoked, it is ordered."""
    closed = Bench(tmp_path, remote_approvals=False)
    closed.write(security="full")
    assert closed.commands.names == (*RUNS, "system.which")
    for command in ("system.execApprovals.get", "system.run", "system.exec"):
        refused = await closed.says(command)
        assert isinstance(refused, NotInvoked)
        assert refused.error is Fault.BAD_REQUEST


@pytest.mark.parametrize(("skilled", "decision"), [(True, Decision.ALLOW), (False, Decision.ASK)])
async def test_skills_programs_count_where_the_nodes_file_says_so(
    bench: Bench, skilled: bool, decision: Decision
) -> None:
    """S1 "Auto-allow skill CLIs": the gateway names them, the node looks them up and decides."""
    bench.write(security="allowlist", ask="on-miss", autoAllowSkills=skilled)
    request = ExecRequest(Requester(Intake.SOCKET, "uid:0"), SessionKey("main"), "/", "uptime")
    asked = Prepare(id=ID, name="web", request=request, timeout_ms=1_000)

    before = await bench.judge.prepare(asked)
    assert isinstance(before, Prepared)
    assert before.verdict.decision is Decision.ASK
    bench.judge.learn(["uptime", "no-such-program"])
    after = await bench.judge.prepare(asked)
    assert isinstance(after, Prepared)
    assert after.verdict.decision is decision
    bench.judge.learn([])
    again = await bench.judge.prepare(asked)
    assert isinstance(again, Prepared)
    assert again.verdict.decision is Decision.ASK
