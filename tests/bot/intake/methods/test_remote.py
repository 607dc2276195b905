"""Carry the output of remote runs in pieces that a frame can hold, and keep the rest for a while.

The other machine is a stand-in here; ``tests/core/remote`` runs commands for real.
"""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from bot.factories.remote_exec import RemoteExec
from bot.intake.callers.caller import Caller
from bot.intake.methods import remote
from bot.intake.methods.remote import INLINE, PAGE, RemoteMethods
from bot.intake.registry.params import NoParams
from bot.intake.results.remote_bodies import OutputBody, RunBody
from core.audit.journal import AuditJournal
from core.errors import BadRequest
from core.gate.guards.lockdown import NAME, Lockdown
from core.model.access import EVERY_SCOPE
from core.model.identity import Intake, Requester
from core.remote.client.client import Client
from core.remote.denials import Notice, RemoteDenial
from core.remote.result import RemoteResult

BODY = RunBody(agent_id="ab" * 32, argv=("/usr/bin/id",))
KEPT = 8


@dataclass
class Machine:
    """Another machine that prints so much; ``asked`` are the requests that it got."""

    stdout: bytes = b""
    stderr: bytes = b""
    asked: list[str] = field(default_factory=list)

    async def run(self, _agent: str, _order: object, request_id: str) -> RemoteResult:
        """Return the result of a run."""
        self.asked.append(request_id)
        return RemoteResult(request_id, 0, stdout=self.stdout, stderr=self.stderr)

    def __iter__(self) -> Iterator[object]:
        """Return what is under way: nothing, as each run has ended."""
        return iter(())


def caller(intake: Intake = Intake.SOCKET) -> Caller:
    """Return a caller at an entry point."""
    return Caller(Requester(intake, "uid:0"), None, EVERY_SCOPE)


@asynccontextmanager
async def methods(home: Path, machine: Machine) -> AsyncIterator[RemoteMethods]:
    """Yield the methods before another machine."""
    home.chmod(0o700)
    both = RemoteExec(home, None, _client=cast("Client", machine))
    with AuditJournal(home / "audit.jsonl") as journal:
        yield RemoteMethods(both, journal, Lockdown(home / NAME))


@pytest.mark.parametrize(
    ("intake", "size", "whole"),
    [
        (Intake.SOCKET, INLINE, True),
        (Intake.SOCKET, INLINE + 1, False),
        (Intake.WEBSOCKET, INLINE + 1, False),
        (Intake.HTTP, INLINE + 1, True),
    ],
)
async def test_an_answer_carries_what_a_frame_holds(
    tmp_path: Path, intake: Intake, size: int, *, whole: bool
) -> None:
    """Of both streams together; the rest is read page by page, and nothing is missing then."""
    machine = Machine(b"o" * (size - 10), b"e" * 10)
    async with methods(tmp_path, machine) as served:
        answer = await served.run(BODY, caller(intake))
        out = base64.b64decode(answer.stdout_b64)
        assert answer.truncated is (Notice.ANSWER_TRIMMED in answer.warnings) is not whole
        assert (out == machine.stdout) is whole
        assert base64.b64decode(answer.stderr_b64) == machine.stderr
        if whole:
            with pytest.raises(BadRequest, match="was not truncated"):
                await served.output(_rest(answer.request_id, len(out)), caller())
        else:
            assert out + await _pages(served, answer.request_id, len(out)) == machine.stdout


def _rest(request_id: str, offset: int) -> OutputBody:
    return OutputBody(request_id=request_id, stream="stdout", offset=offset)


async def _pages(served: RemoteMethods, request_id: str, offset: int) -> bytes:
    """Return what follows a place in a run's standard output."""
    found, more = b"", True
    while more:
        page = await served.output(_rest(request_id, offset + len(found)), caller())
        found, more = found + base64.b64decode(page.data_b64), page.more
    return found


async def test_a_page_is_the_last_one_where_nothing_follows(tmp_path: Path) -> None:
    """A stream that ends with a page has no empty one after it."""
    async with methods(tmp_path, Machine(b"o" * 2 * PAGE)) as served:
        request_id = (await served.run(BODY, caller())).request_id
        pages = [await served.output(_rest(request_id, one), caller()) for one in (0, PAGE)]
        past = OutputBody(request_id=request_id, stream="stderr", offset=0)

        assert [len(base64.b64decode(one.data_b64)) for one in pages] == [PAGE, PAGE]
        assert [one.more for one in pages] == [True, False]
        assert (await served.output(past, caller())).data_b64 == ""


async def test_the_rest_of_the_latest_runs_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of so many, and for a time; then there is no rest of any."""
    async with methods(tmp_path, Machine(b"o" * (INLINE + 1))) as served:
        ids = [(await served.run(BODY, caller())).request_id for _ in range(KEPT + 1)]
        with pytest.raises(BadRequest, match="is not available"):
            await served.output(_rest(ids[0], 0), caller())
        assert all([(await served.output(_rest(one, 0), caller())).more for one in ids[1:]])
        monkeypatch.setattr(remote, "_KEPT_S", 0.0)
        gone = (await served.run(BODY, caller())).request_id
        with pytest.raises(BadRequest, match="is not available"):
            await served.output(_rest(gone, 0), caller())


async def test_a_lockdown_sends_nothing(tmp_path: Path) -> None:
    """What was asked for is in the journal before anything is sent, with how it ended."""
    machine = Machine()
    async with methods(tmp_path, machine) as served:
        ran = await served.run(BODY, caller())
        served.lockdown.engage("a test", by="uid:0")
        denied = await served.run(BODY, caller())
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]

    assert machine.asked == [ran.request_id]
    assert (ran.ok, ran.denial_reason) == (True, None)
    assert (denied.ok, denied.denial_reason) == (False, RemoteDenial.LOCKED_DOWN)
    assert [one.get("argv", one.get("denial")) for one in records] == [
        *(["/usr/bin/id"], None),
        *(["/usr/bin/id"], RemoteDenial.LOCKED_DOWN),
    ]


async def test_a_gateway_that_serves_nobody_says_so(tmp_path: Path) -> None:
    """Nothing runs, nothing was counted, and there is no list of which to give a summary."""
    async with methods(tmp_path, Machine()) as served:
        found = await served.diagnostics(NoParams(), caller())

    assert (found.enabled, found.listening, found.denied, found.acl) == (False, [], {}, None)
