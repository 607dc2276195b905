"""Run `sayso policy backtest` on real stores, with and without a gateway holding them."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.policy_tools.backtest import Change, changes_of
from bot.policy_tools.judge import present_judge
from bot.policy_tools.past_commands import replayed, span_ms
from core.errors import BadRequest
from core.model.approval import ApprovalReply
from core.model.decision import Decision
from core.model.identity import AgentId
from core.store import open_store
from core.store.views.past_commands import PastCommand
from tests.bot.policy_tools.past import home, planned, remember, sayso, write
from tests.support.postgres import PostgresServer
from tests.support.store_records import SESSION, new_id
from tests.support.tables import rows

ONCE, DENY = ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY
ALLOW_LIST = {"tools": {"exec": {"host": "gateway", "security": "allowlist"}}}
HISTORY = [
    ("cat README.md", ONCE),
    ("cat README.md", ONCE),
    ("rm notes.md", DENY),
    ("ls -la", None),
    ("cat secret > x", DENY),
]


def policy(*rules: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return a configuration with these rules."""
    return {"tools": {"exec": {**ALLOW_LIST["tools"]["exec"], **settings, "rules": list(rules)}}}


def about(decide: str, *argv: str) -> dict[str, Any]:
    """Return a rule about one vector."""
    return {"match": {"argv": list(argv)}, "decide": decide}


async def compared(state: Path, new: dict[str, Any], *more: str) -> dict[str, Any]:
    """Run the command with ``--json``."""
    file = write(state.parent / "new.json5", new)
    done = sayso(state, "policy", "backtest", "--json", *more, str(file), cwd=state.parent)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def changed(found: dict[str, Any]) -> dict[str, list[str]]:
    """Return the changes of each command."""
    return {one["command"]: one["changes"] for one in found["differences"]}


@pytest.fixture(params=["sqlite", "postgres"])
async def state(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a home whose store, on either engine, holds the history."""
    config: dict[str, Any] = dict(ALLOW_LIST)
    url = f"sqlite:///{tmp_path}/state/state.db"
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = await asyncio.to_thread(server.create)
        config["store"] = {"url": url}
    made = home(tmp_path, config)
    await remember(url, tmp_path, HISTORY, ("head -5",))
    return made


async def test_what_a_person_denied_and_would_run_stands_first(state: Path) -> None:
    """An allow for rm is found although nothing else about it changed."""
    found = await compared(state, policy(about("allow", "rm", "notes.md")))

    assert "rm notes.md" == found["differences"][0]["command"]
    assert ["runsDenied", "runs", "noMoreAsks"] == found["differences"][0]["changes"]
    assert {"before": 5, "after": 4} == found["prompts"]
    assert (1, 1) == (found["counts"]["runsDenied"], found["counts"]["runs"])
    assert "ask" == found["differences"][0]["before"]["decision"]


async def test_prompts_added_and_removed_are_counted_for_each_command(state: Path) -> None:
    """Two equal commands are one line, two times; a stricter rule adds prompts and denials."""
    rules = (
        about("allow", "cat", "README.md"),
        about("ask", "head", "-5"),
        about("deny", "ls", "-la"),
    )
    found = await compared(state, policy(*rules))

    assert {
        "cat README.md": ["runs", "noMoreAsks"],
        "head -5": ["asks"],
        "ls -la": ["noMoreAsks", "denies"],
    } == changed(found)
    assert 2 == next(one["times"] for one in found["differences"] if "cat" in one["command"])
    assert {"before": 5, "after": 3} == found["prompts"]
    assert (6, 1) == (found["judged"], found["plannedAnew"])


async def test_the_same_policy_differs_in_nothing(state: Path) -> None:
    """Negative control: the present configuration against itself."""
    found = await compared(state, dict(ALLOW_LIST))

    assert [] == found["differences"]
    assert found["prompts"]["before"] == found["prompts"]["after"] == 5


async def test_what_is_older_is_left_out(state: Path) -> None:
    """The span counts back from now; everything was asked within the last minute."""
    assert 6 == (await compared(state, dict(ALLOW_LIST), "--since", "1m"))["judged"]
    done = sayso(state, "policy", "backtest", "--since", "soon", str(state / "config.json5"))

    assert 2 == done.returncode
    assert "is not a duration" in done.stderr


async def test_another_allowlist_can_be_tried(state: Path) -> None:
    """--approvals replaces the home's own file."""
    listed = {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/cat"}]}}}
    file = write(state.parent / "approvals.json", listed)
    found = await compared(state, dict(ALLOW_LIST), "--approvals", str(file))

    assert {"cat README.md": ["runs", "noMoreAsks"]} == changed(found)


async def test_a_store_that_a_gateway_holds_is_read_beside_it(tmp_path: Path) -> None:
    """The lock of a running gateway blocks nothing, and nothing is written."""
    url = f"sqlite:///{tmp_path}/state/state.db"
    state = home(tmp_path, ALLOW_LIST)
    await remember(url, tmp_path, HISTORY)
    holder = await open_store(url)
    try:
        assert 5 == (await compared(state, dict(ALLOW_LIST)))["judged"]
    finally:
        await holder.close()
    before = (state / "state.db").read_bytes()
    await compared(state, dict(ALLOW_LIST))

    assert before == (state / "state.db").read_bytes()
    assert not (state / "state.db-wal").exists()


async def test_people_read_the_gravest_first(tmp_path: Path) -> None:
    """The text names counts, verdicts and what could not be judged."""
    state = home(tmp_path, ALLOW_LIST)
    gone = tmp_path / "tool"
    gone.write_text("#!/bin/sh\n", encoding="utf-8")
    gone.chmod(0o755)
    await remember(f"sqlite:///{state}/state.db", tmp_path, HISTORY, ("./tool",))
    gone.unlink()
    file = write(tmp_path / "new.json5", policy(about("allow", "rm", "notes.md")))
    done = sayso(state, "policy", "backtest", str(file), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert "5 commands judged: 5 prompts now, 4 under the new policy" == first
    assert "runs although a person denied it: 1" == rest[1]
    assert "main  ask -> allow  rm notes.md" in done.stdout
    assert "cannot be judged: 1" in done.stdout
    assert "'./tool' is not found" in done.stdout


def test_what_a_node_ran_unasked_is_not_judged_here(tmp_path: Path) -> None:
    """A node has its own programs; a question to it kept its plan and is judged."""
    state = home(tmp_path, ALLOW_LIST)
    judge = present_judge({"SAYSO_HOME": str(state), "HOME": str(tmp_path)})
    command = PastCommand(new_id(), 1, AgentId("main"), SESSION, "pi", "ls", asked=False)

    assert "it was for the node pi" in str(replayed(command, judge, str(tmp_path)).plan)
    kept = replace(command, asked=True, plan=planned("ls", tmp_path))
    assert kept.plan is replayed(kept, judge, str(tmp_path)).plan
    lost = replayed(replace(command, asked=True), judge, str(tmp_path))
    assert "another version of Sayso" in str(lost.plan)


def test_without_a_store_it_says_so(tmp_path: Path) -> None:
    """A home that never ran a gateway has no history; none is made."""
    state = home(tmp_path, ALLOW_LIST)
    done = sayso(state, "policy", "backtest", str(state / "config.json5"))

    assert 1 == done.returncode
    assert "There is no store at" in done.stderr
    assert not (state / "state.db").exists()


def test_a_new_configuration_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """Its mistakes are reported as at a start, and a missing file by its path."""
    state = home(tmp_path, ALLOW_LIST)
    bad = write(tmp_path / "bad.json5", "{ tools: { exec: { askk: 1 } } }")

    for file, words in ((bad, "askk"), (tmp_path / "none.json5", "none.json5 cannot be read")):
        done = sayso(state, "policy", "backtest", str(file))
        assert 2 == done.returncode
        assert words in done.stderr


@rows(
    "before, after, reply, expected",
    [
        (
            Decision.ASK,
            Decision.ALLOW,
            DENY,
            (Change.RUNS_DENIED, Change.RUNS, Change.NO_MORE_ASKS),
        ),
        (Decision.ASK, Decision.ALLOW, ONCE, (Change.RUNS, Change.NO_MORE_ASKS)),
        (Decision.ALLOW, Decision.ALLOW, DENY, (Change.RUNS_DENIED,)),
        (Decision.DENY, Decision.ALLOW, None, (Change.RUNS,)),
        (Decision.DENY, Decision.ASK, None, (Change.ASKS,)),
        (Decision.ASK, Decision.DENY, ONCE, (Change.NO_MORE_ASKS, Change.DENIES)),
        (Decision.ASK, Decision.ASK, DENY, ()),
        (Decision.DENY, Decision.DENY, DENY, ()),
    ],
)
def test_each_change_has_its_names(
    before: Decision, after: Decision, reply: ApprovalReply | None, expected: tuple[Change, ...]
) -> None:
    """The names follow from both verdicts and from what the person said."""
    assert expected == changes_of(before, after, reply)


def test_spans_have_units() -> None:
    """Minutes, hours, days and weeks; anything else is refused."""
    assert [90 * 60_000, 43_200_000, 2_592_000_000, 1_209_600_000] == [
        span_ms(text) for text in ("90m", "12h", "30d", "2w")
    ]
    for text in ("", "d", "0d", "-1d", "1.5d", "30", "30 d", "30D"):
        with pytest.raises(BadRequest):
            span_ms(text)
