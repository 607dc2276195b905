"""Run what people allowed for a while without another question, and nothing beyond it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.gate.apply_grants import rule_of
from core.model.approval import HALF_HOUR, THIS_SESSION, GrantTerms
from core.model.command import ExecOverrides
from core.model.decision import Promise
from core.model.identity import Actor, AgentId, ApprovalId, SessionKey, TaskId
from core.model.policy import ExecAsk, ExecSecurity
from core.model.result import Denied, Finished, Pending
from core.store.approvals import grants
from core.store.approvals.grants import Grant
from core.store.people import people
from tests.support.gate import gate_at, granted, layer, list_patterns, request


def journal(home: Path, kind: str) -> list[dict[str, Any]]:
    """Return the journal's records of one kind."""
    lines = (home / "audit.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


async def test_a_grant_lets_the_program_run_and_the_journal_names_it(tmp_path: Path) -> None:
    """The same program runs unasked, another one asks, and the file stores nothing."""
    async with gate_at(tmp_path) as gate:
        asked = await granted(gate, request("seq 3", cwd=tmp_path), HALF_HOUR)
        again = await gate.submit(request("seq 5", cwd=tmp_path))
        other = await gate.submit(request("seq 5 && uname", cwd=tmp_path))

    assert isinstance(again, Finished)
    assert "5" in again.output.text
    assert isinstance(other, Pending)
    (rule,) = journal(tmp_path, "decision")[0]["rules"]
    assert rule.startswith("granted until ")
    assert f"by Ana (memory), grant {asked.code}" in rule
    (resolved,) = journal(tmp_path, "resolve")
    assert "for 30 minutes" == resolved["terms"]
    assert not (tmp_path / "exec-approvals.json").exists()


async def test_uses_are_used_up(tmp_path: Path) -> None:
    """After the last use people are asked again."""
    async with gate_at(tmp_path) as gate:
        await granted(gate, request("seq 3", cwd=tmp_path), GrantTerms(uses=2))
        results = [await gate.submit(request("seq 1", cwd=tmp_path)) for _ in range(3)]

    assert [Finished, Finished, Pending] == [type(result) for result in results]


async def test_a_grant_of_a_session_stays_there(tmp_path: Path) -> None:
    """Another session of the agent asks."""
    async with gate_at(tmp_path) as gate:
        await granted(gate, request("seq 3", cwd=tmp_path), THIS_SESSION)
        here = await gate.submit(request("seq 1", cwd=tmp_path))
        there = replace(request("seq 1", cwd=tmp_path), session=SessionKey("other"))
        elsewhere = await gate.submit(there)

    assert isinstance(here, Finished)
    assert isinstance(elsewhere, Pending)


async def test_a_grant_beside_the_allowlist(tmp_path: Path) -> None:
    """A line of a listed and a granted program runs; only the granted one uses the grant."""
    list_patterns(tmp_path, "/usr/bin/echo")
    async with gate_at(tmp_path) as gate:
        await granted(gate, request("seq 3", cwd=tmp_path), GrantTerms(uses=1))
        listed = await gate.submit(request("echo a", cwd=tmp_path))
        mixed = await gate.submit(request("echo a && seq 1", cwd=tmp_path))
        spent = await gate.submit(request("echo a && seq 1", cwd=tmp_path))

    assert [Finished, Finished, Pending] == [type(result) for result in (listed, mixed, spent)]
    rules = journal(tmp_path, "decision")[-1]["rules"]
    assert "/usr/bin/echo" == rules[0]
    assert rules[1].startswith("granted for 1 more run")


@pytest.mark.parametrize(
    ("line", "overrides"),
    [
        ("seq 1", ExecOverrides(ask=ExecAsk.ALWAYS)),
        ("seq $(id -u)", ExecOverrides()),
        ("bash -c 'seq 1; uname'", ExecOverrides()),
        ("seq 1 | tee made", ExecOverrides()),
        ("git push", ExecOverrides()),
    ],
)
async def test_a_grant_lifts_no_more_than_allow_always(
    tmp_path: Path, line: str, overrides: ExecOverrides
) -> None:
    """`ask: always` keeps asking, and so does what no allow-always could store."""
    async with gate_at(tmp_path) as gate:
        await granted(gate, request("seq 3", cwd=tmp_path), HALF_HOUR)
        result = await gate.submit(request(line, cwd=tmp_path, overrides=overrides))

    assert isinstance(result, Pending)


async def test_only_the_grants_that_are_needed_are_used(tmp_path: Path) -> None:
    """A counted grant is spared if another one suffices, and two serve one line together."""
    async with gate_at(tmp_path) as gate:
        await granted(gate, request("seq 3", cwd=tmp_path), GrantTerms(uses=1))
        await granted(gate, request("uname", cwd=tmp_path), GrantTerms(uses=2))
        await gate.submit(request("uname -r", cwd=tmp_path))
        left = {g.promise[0].pattern: g.uses_left for g in await gate.store.read(grants.listed)}
        both = await gate.submit(request("seq 1 && uname", cwd=tmp_path))
        spent = await gate.store.read(grants.listed)

    assert {"/usr/bin/seq": 1, "/usr/bin/uname": 1} == left
    assert isinstance(both, Finished)
    assert () == spent
    assert 2 == journal(tmp_path, "decision")[-1]["rules"][0].count("granted for 1 more run")


async def test_a_grant_lifts_no_denial(tmp_path: Path) -> None:
    """`security: deny` denies, and if asking is off a miss remains a denial."""
    async with gate_at(tmp_path) as gate:
        await granted(gate, request("seq 3", cwd=tmp_path), HALF_HOUR)
        shut = ExecOverrides(security=ExecSecurity.DENY)
        denied = await gate.submit(request("seq 1", cwd=tmp_path, overrides=shut))
    async with gate_at(tmp_path, layer(ask=ExecAsk.OFF)) as gate:
        missed = await gate.submit(request("seq 1", cwd=tmp_path))

    assert isinstance(denied, Denied)
    assert isinstance(missed, Denied)


async def test_revoking_grant_or_giver_asks_again_at_once(tmp_path: Path) -> None:
    """The next request asks."""
    async with gate_at(tmp_path) as gate:
        await granted(gate, request("seq 3", cwd=tmp_path), HALF_HOUR)
        await gate.store.write(people.revoke, "memory:ana")
        giver = await gate.submit(request("seq 1", cwd=tmp_path))
        await gate.store.write(people.restore, "memory:ana")
        restored = await gate.submit(request("seq 1", cwd=tmp_path))
        (grant,) = await gate.store.read(grants.listed)
        await gate.store.write(grants.revoke, grant.code)
        revoked = await gate.submit(request("seq 2", cwd=tmp_path))

    assert [Pending, Finished, Pending] == [type(one) for one in (giver, restored, revoked)]


def test_a_grant_is_worded_with_all_its_limits() -> None:
    """Until when, how often, where, by whom, and which one."""
    grant = Grant(
        id=ApprovalId("7k3f9q" + "0" * 20),
        agent=AgentId("main"),
        session=SessionKey("main"),
        promise=(Promise("/usr/bin/seq"),),
        by=Actor("slack", "U1", "Ana"),
        created_ms=1_790_000_000_000,
        expires_ms=1_790_000_000_000,
        uses_left=2,
        task=TaskId("fix-login"),
    )

    assert (
        "granted until 14:13 UTC for 2 more runs in this session in task fix-login by Ana (slack), "
        "grant 7K3F9Q" == rule_of(grant)
    )
