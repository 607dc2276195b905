"""Make what people allow agents in executors happen, and nothing else; judge by the file."""

import asyncio
import json
import os
import pwd
import sqlite3
from contextlib import closing
from pathlib import Path

from core.errors import SaysoError, StoreError
from core.model.decision import DenialReason
from core.model.identity import ApprovalId, SessionKey
from core.model.policy import ExecSecurity
from core.model.result import Denied, Finished
from core.store import approvals
from core.store.sessions import events
from tests.support.agents import KEY, Bench, Model, agents_at
from tests.support.executors import USER
from tests.support.gate import layer
from tests.support.waiting import until

_REFUSES = """
CREATE TRIGGER refuses BEFORE UPDATE ON approvals BEGIN SELECT RAISE(ABORT, 'not now'); END
"""


async def test_answers_a_prompt(bench: Bench) -> None:
    """The agent's words are the run's output and its session's event; its tokens are counted."""
    done = await bench.give("hello there")

    assert isinstance(done, Finished)
    assert (done.exit_code, done.output.text) == (0, "you said: hello there")
    assert dict(done.token_usage) == {"inputTokens": 11, "outputTokens": 5}
    told = await bench.gate.store.read(events.drain, SessionKey("main"))
    assert ("agent.message", "you said: hello there") in [(one.kind, one.text) for one in told]


async def test_an_executor_that_dies_fails_the_prompt(bench: Bench) -> None:
    """The run fails with S2's words, its question is withdrawn with them, the gate continues."""
    file = bench.work / "killed"
    under_way = bench.give(f"write {file}")
    question = await bench.question()
    (executor,) = bench.world.pool._live
    assert executor.adopter is not None
    assert executor.adopter[0] == executor.client.pid  # what it started is found from it
    assert executor.leader != executor.adopter

    os.kill(executor.client.pid, 9)
    done = await under_way
    ended = await bench.gate.store.read(approvals.get, question.id)

    assert isinstance(done, Finished)
    assert (done.exit_code, done.cancelled) == (1, False)
    assert done.output.text.endswith("sayso: Executor terminated unexpectedly\n")
    assert ended is not None
    assert ended.resolution is not None
    assert ended.resolution.note == "Executor terminated unexpectedly"
    assert not file.exists()
    again = await bench.give("still there")
    assert isinstance(again, Finished)
    assert again.exit_code == 0


async def test_an_agent_that_dies_fails_the_prompt(bench: Bench) -> None:
    """The run says how the agent ended and what it printed last."""
    done = await bench.give("die")

    assert isinstance(done, Finished)
    assert done.exit_code == 1
    assert "the agent ended (3) before it had answered: it is dead" in done.output.text


async def test_an_agent_that_hears_no_cancel_is_killed(bench: Bench) -> None:
    """After its grace period the agent, and a child in another session, are gone."""
    under_way = bench.give("hang")
    (run_id,) = await _running(bench)
    while "hanging" not in getattr(await bench.gate.tail(run_id), "text", ""):
        await asyncio.sleep(0.02)

    await bench.gate.cancel(run_id, "enough")
    done = await under_way

    assert isinstance(done, Finished)
    assert done.cancelled
    assert not _marked(run_id)


async def test_stopped_while_the_store_refuses(bench: Bench, tmp_path: Path) -> None:
    """The agent is stopped even if the question that it waits for cannot be withdrawn."""
    under_way = bench.give(f"write {bench.work}/asked")
    question = await bench.question()
    (run_id,) = bench.gate.running
    await until(lambda: bench.agents._runs[run_id].questions.open)
    with closing(sqlite3.connect(tmp_path / "state.db")) as other:
        other.execute(_REFUSES)
        assert await bench.agents.cancel(run_id)
        ended, _ = await asyncio.wait({under_way}, timeout=10)
        other.execute("DROP TRIGGER refuses")

    assert ended, "the agent goes on"
    assert isinstance(under_way.exception(), StoreError | None)
    assert not _marked(run_id)
    assert not await bench.agents.cancel(run_id)  # it runs no more
    await bench.gate.cancel(question.id, "over")


async def test_the_model_gets_the_key_and_the_agent_does_not(
    bench: Bench, the_model: Model
) -> None:
    """It is fetched for each request, and is in nothing that the agent sees or that is kept."""
    before = len(the_model.asked)
    answered = await bench.give("model")
    seen = await bench.give("show")

    assert isinstance(answered, Finished)
    assert isinstance(seen, Finished)
    assert answered.output.text == "the model's answer"
    (asked,) = the_model.asked[before:]
    assert (asked["x-api-key"], asked["path"]) == (KEY, "/base/v1/messages")
    assert bench.keys == [("anthropic", "uid:0")]
    shown = json.loads(seen.output.text)
    assert shown["uid"] == pwd.getpwnam(USER).pw_uid
    assert shown["env"]["ANTHROPIC_API_KEY"] not in {"", KEY}
    for text in (json.dumps(shown), answered.output.text, json.dumps(bench.world.records.kept)):
        assert KEY not in text
    calls = [(one["method"], one["result"]) for one in bench.world.records.kept]
    assert ("get_api_key", "ok") in calls


async def test_where_there_is_no_key_the_model_is_not_asked(bench: Bench, the_model: Model) -> None:
    """The agent gets an error, and the journal says why."""
    before = len(the_model.asked)
    under_way = bench.give("model")
    bench.agents.key_of = _none
    done = await under_way

    assert isinstance(done, Finished)
    assert done.exit_code == 1
    assert "503" in done.output.text
    assert len(the_model.asked) == before


async def test_without_security_nothing_starts(
    tmp_path: Path, executor_path: str, folder: Path, the_model: Model
) -> None:
    """security=deny refuses the prompt itself; full lets an agent's tools pass unasked."""
    deny, full = ExecSecurity.DENY, ExecSecurity.FULL
    file = folder / "work" / "full"
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    home = tmp_path / "one"
    async with agents_at(home, executor_path, folder, the_model.url, layer(security=deny)) as bench:
        refused = await bench.give("hello")
    home = tmp_path / "two"
    async with agents_at(home, executor_path, folder, the_model.url, layer(security=full)) as bench:
        await bench.give(f"write {file}")

    assert isinstance(refused, Denied)
    assert refused.reason is DenialReason.SECURITY_DENY
    assert file.exists()
    file.unlink()


async def _none(service: str, account: str) -> str:
    del service, account
    raise SaysoError("there is none")


async def _running(bench: Bench) -> frozenset[ApprovalId]:
    await until(lambda: bench.gate.running)
    return frozenset(bench.gate.running)


def _marked(run_id: str) -> list[str]:
    """Return the processes that a run left."""
    mark = f"SAYSO_RUN={run_id}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in place.read_bytes().split(b"\0"):
                found.append(place.parent.name)
        except OSError:
            continue
    return found
