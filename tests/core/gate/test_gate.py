"""Send one request through the gate, over real parts."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.approvals.answer import AnswerOutcome
from core.gate.gate import Gate
from core.model.approval import ApprovalReply
from core.model.command import ExecOverrides, ExecRequest, PinnedFile
from core.model.decision import DenialReason
from core.model.identity import SessionKey
from core.model.policy import AskFallback, ExecAsk, ExecHost, ExecSecurity
from core.model.result import Denied, ExecResult, Finished, Pending, Running
from core.planning.paths.search_path import SearchPath
from core.policy.rules.compiled import compiled
from core.settings import CoreSettings
from core.store import outbox
from core.store.sessions import events
from tests.core.policy.configured_rules import rule, settings
from tests.support.gate import gate_at, layer, list_patterns, records, request, says


async def run_what_was_allowed(gate: Gate) -> list[ExecResult | None]:
    """Do the dispatcher's work once."""
    return [await gate.run_approved(run_id, plan) for run_id, plan in await gate.queued()]


async def heard(gate: Gate) -> list[str]:
    """Return the texts of the session's events."""
    drained = await gate.store.read(events.drain, SessionKey("main"))
    return [event.text for event in drained]


async def test_listed_command_runs_at_once(tmp_path: Path) -> None:
    """A listed command runs, and its output and code are returned."""
    list_patterns(tmp_path, "/usr/bin/echo")
    async with gate_at(tmp_path) as gate:
        result = await gate.submit(request("echo one && echo two", cwd=tmp_path))
        texts = await heard(gate)

    assert isinstance(result, Finished)
    assert (0, "one\ntwo\n") == (result.exit_code, result.output.text)
    assert ["Exec started (node=gateway", "Exec finished (node=gateway"] == [
        text.split(",")[0] for text in texts
    ]


async def test_decision_is_on_disk_before_the_command(tmp_path: Path) -> None:
    """The command itself finds its decision in the journal."""
    list_patterns(tmp_path, "/usr/bin/cat")
    async with gate_at(tmp_path) as gate:
        result = await gate.submit(request("cat audit.jsonl", cwd=tmp_path))

    assert isinstance(result, Finished)
    records = [json.loads(line) for line in result.output.text.splitlines()]
    assert ["decision"] == [record["kind"] for record in records]
    assert result.run_id == records[0]["run"]


async def test_unlisted_command_waits_for_a_person_and_runs_once(tmp_path: Path) -> None:
    """What a person allows runs exactly once, however often the queue is checked."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("touch made", cwd=tmp_path))
        assert isinstance(asked, Pending)
        assert [] == await run_what_was_allowed(gate)
        assert not (tmp_path / "made").exists()

        answered = await gate.answer(says(asked.code, ApprovalReply.ALLOW_ONCE))
        first = await run_what_was_allowed(gate)
        second = await run_what_was_allowed(gate)

    assert answered.outcome is AnswerOutcome.ACCEPTED
    assert (tmp_path / "made").exists()
    assert [0] == [result.exit_code for result in first if isinstance(result, Finished)]
    assert [] == second


async def test_approved_run_survives_a_restart(tmp_path: Path) -> None:
    """An answer given before a crash is carried out after it, once."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("touch made", cwd=tmp_path))
        assert isinstance(asked, Pending)
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
    assert not (tmp_path / "made").exists()

    async with gate_at(tmp_path, owner="boot-2") as gate:
        assert isinstance(await gate.wait(asked.run_id, 10), Running)
        await run_what_was_allowed(gate)
        assert isinstance(await gate.wait(asked.run_id), Finished)

    assert (tmp_path / "made").exists()


async def test_allow_always_stores_what_it_promised(tmp_path: Path) -> None:
    """After allow-always the same program runs without asking, and another one still asks."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("seq 3", cwd=tmp_path))
        assert isinstance(asked, Pending)
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ALWAYS))
        await run_what_was_allowed(gate)

        again = await gate.submit(request("seq 5", cwd=tmp_path))
        other = await gate.submit(request("uname", cwd=tmp_path))

    assert isinstance(again, Finished)
    assert isinstance(other, Pending)


async def test_allow_always_of_a_carrier_covers_exactly_what_was_shown(tmp_path: Path) -> None:
    """The same arguments run unasked from then on; others of the same program ask."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("touch made", cwd=tmp_path))
        assert isinstance(asked, Pending)
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ALWAYS))
        await run_what_was_allowed(gate)

        again = await gate.submit(request("touch made", cwd=tmp_path))
        other = await gate.submit(request("touch other", cwd=tmp_path))

    assert isinstance(again, Finished)
    assert isinstance(other, Pending)
    assert not (tmp_path / "other").exists()


async def test_a_rule_denies_with_its_reason_before_anything_runs(tmp_path: Path) -> None:
    """The agent gets the term and the reason; neither allowlist nor approvals file lifts it."""
    list_patterns(tmp_path, "/usr/bin/*")
    forbidden = {**rule("deny", glob="/usr/bin/touch"), "reason": "write through the editor"}
    async with gate_at(tmp_path) as gate:
        gate.rulebook.compiled = compiled(settings(forbidden), str(tmp_path))
        denied = await gate.submit(request("touch made", cwd=tmp_path))

    assert isinstance(denied, Denied)
    assert denied.reason is DenialReason.RULE_DENIED
    assert "write through the editor" in denied.why
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("trusted", "kind"), [(True, Finished), (False, Pending)])
async def test_skill_programs_run_for_agents_that_trust_skills(
    tmp_path: Path, trusted: bool, kind: type[object]
) -> None:
    """S1: `autoAllowSkills` of the approvals file decides whether `skills.bins` count as listed."""
    file = tmp_path / "exec-approvals.json"
    file.write_text(json.dumps({"version": 1, "agents": {"main": {"autoAllowSkills": trusted}}}))
    file.chmod(0o600)
    async with gate_at(tmp_path) as gate:
        pin = SearchPath().find("seq", "/")
        assert isinstance(pin, PinnedFile)
        known = CoreSettings.model_validate({"skills": {"bins": ["seq"]}})
        gate.rulebook.compiled = compiled(known, str(tmp_path), lambda _: pin)
        assert isinstance(await gate.submit(request("seq 3", cwd=tmp_path)), kind)
        assert isinstance(await gate.submit(request("uname", cwd=tmp_path)), Pending)


async def test_shell_is_never_remembered(tmp_path: Path) -> None:
    """A line that only a shell can run is not offered, nor taken, as allow-always."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("echo $HOME > made", cwd=tmp_path))
        assert isinstance(asked, Pending)
        refused = await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ALWAYS))
        assert refused.outcome is AnswerOutcome.NOT_OFFERED
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        (result,) = await run_what_was_allowed(gate)

    assert isinstance(result, Finished)
    assert 0 == result.exit_code
    assert (tmp_path / "made").read_text().strip()


async def test_drift_between_answer_and_run_denies(tmp_path: Path) -> None:
    """A program that was replaced after the prompt does not run (invariant 3)."""
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho shown\n")
    tool.chmod(0o755)
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request(argv=(str(tool),), cwd=tmp_path))
        assert isinstance(asked, Pending)
        tool.write_text(f"#!/bin/sh\ntouch {tmp_path}/made\n")
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        (result,) = await run_what_was_allowed(gate)
        texts = await heard(gate)

    assert isinstance(result, Denied)
    assert DenialReason.PLAN_DRIFT is result.reason
    assert "plan_drift" in texts[-1]
    assert not (tmp_path / "made").exists()


async def test_nobody_reachable_is_denied_at_once(tmp_path: Path) -> None:
    """Without a route the fallback decides when the question is made; deny is the default."""
    async with gate_at(tmp_path, reachable=False) as gate:
        result = await gate.submit(request("touch made", cwd=tmp_path))
        texts = await heard(gate)

    assert isinstance(result, Denied)
    assert DenialReason.NO_ROUTE is result.reason
    assert "no_route" in texts[0]


@pytest.mark.parametrize(
    ("fallback", "ask", "runs"),
    [
        (AskFallback.FULL, ExecAsk.ON_MISS, {"touch a": True, "echo a": True}),
        (AskFallback.ALLOWLIST, ExecAsk.ALWAYS, {"touch a": False, "echo a": True}),
        (AskFallback.DENY, ExecAsk.ALWAYS, {"touch a": False, "echo a": False}),
    ],
)
async def test_fallback(
    tmp_path: Path, fallback: AskFallback, ask: ExecAsk, runs: dict[str, bool]
) -> None:
    """`askFallback` decides without a route: deny, what is listed, or everything (S1)."""
    list_patterns(tmp_path, "/usr/bin/echo")
    policy = layer(fallback=fallback, ask=ask)
    for line, expected in runs.items():
        async with gate_at(tmp_path, policy, reachable=False) as gate:
            result = await gate.submit(request(line, cwd=tmp_path))
            await run_what_was_allowed(gate)
            if expected:
                assert isinstance(await gate.wait(result.run_id), Finished)
            else:
                assert isinstance(result, Denied)


LISTLESS = [
    request("rm -rf gone"),
    request("sh -c 'touch made'"),
    request("python3 -c 1"),
    request("echo a > made"),
    request("echo a; touch made"),
    request(argv=("env", "FOO=1", "touch", "made")),
    replace(request("echo a"), env=(("PAGER", "less"),)),
]


@pytest.mark.parametrize("wish", LISTLESS, ids=lambda wish: wish.line or wish.argv[0])
async def test_fallback_to_the_allowlist_is_not_full_security(
    tmp_path: Path, wish: ExecRequest
) -> None:
    """`askFallback: allowlist` allows what the list matches, never what full security lets pass."""
    list_patterns(tmp_path, "/usr/bin/echo")
    policy = layer(security=ExecSecurity.FULL, ask=ExecAsk.ALWAYS, fallback=AskFallback.ALLOWLIST)
    async with gate_at(tmp_path, policy, reachable=False) as gate:
        result = await gate.submit(replace(wish, cwd=str(tmp_path)))
        assert await gate.queued() == ()
        listed = await gate.submit(request("echo a", cwd=tmp_path))
        assert [run_id for run_id, _ in await gate.queued()] == [listed.run_id]
    assert isinstance(result, Denied)


async def test_same_request_key_is_the_same_request(tmp_path: Path) -> None:
    """A repeated submission neither asks nor runs again."""
    list_patterns(tmp_path, "/usr/bin/echo")
    async with gate_at(tmp_path) as gate:
        first = await gate.submit(request("echo a", key="k1"))
        again = await gate.submit(request("echo a", key="k1"))
        asked = await gate.submit(request("touch a", cwd=tmp_path, key="k2"))
        still = await gate.submit(request("touch a", cwd=tmp_path, key="k2"))

    assert first.run_id == again.run_id
    assert isinstance(again, Finished)
    assert asked.run_id == still.run_id
    assert isinstance(still, Pending)


@pytest.mark.parametrize(
    ("wish", "policy", "reason"),
    [
        (request("echo a"), layer(security=ExecSecurity.DENY), DenialReason.SECURITY_DENY),
        (request("touch a"), layer(ask=ExecAsk.OFF), DenialReason.ALLOWLIST_MISS),
        (request("echo a > b"), layer(ask=ExecAsk.OFF), DenialReason.ALLOWLIST_MISS),
        (request("no-such-program-here"), layer(), DenialReason.EXECUTABLE_NOT_FOUND),
        (request("echo a", cwd=Path("/no/such/folder")), layer(), DenialReason.BAD_CWD),
        (request("echo a", cwd=Path("relative")), layer(), DenialReason.BAD_CWD),
        (request(argv=("echo", "a\0b")), layer(), DenialReason.BAD_REQUEST),
        (request("echo a"), layer(host=ExecHost.SANDBOX), DenialReason.HOST_UNAVAILABLE),
        (request("touch a"), layer(host=ExecHost.NODE), DenialReason.HOST_UNAVAILABLE),
    ],
)
async def test_denials(tmp_path: Path, wish: object, policy: object, reason: DenialReason) -> None:
    """Each refusal is a result with its reason, and the session is told."""
    list_patterns(tmp_path, "/usr/bin/echo")
    async with gate_at(tmp_path, policy) as gate:  # type: ignore[arg-type]
        result = await gate.submit(wish)  # type: ignore[arg-type]
        texts = await heard(gate)

    assert isinstance(result, Denied)
    assert reason is result.reason
    assert result.why
    assert reason.value in texts[0]
    assert 1 == len(texts)


async def test_agent_cannot_widen_its_own_policy(tmp_path: Path) -> None:
    """A call's own settings may harden what was configured, never widen it."""
    wide = ExecOverrides(security=ExecSecurity.FULL, ask=ExecAsk.OFF)
    narrow = ExecOverrides(ask=ExecAsk.ALWAYS)
    list_patterns(tmp_path, "/usr/bin/echo")
    async with gate_at(tmp_path) as gate:
        widened = await gate.submit(request("touch a", cwd=tmp_path, overrides=wide))
        hardened = await gate.submit(request("echo a", overrides=narrow))

    assert isinstance(widened, Pending)
    assert isinstance(hardened, Pending)


async def test_expiry_denies_and_a_late_answer_learns_it(tmp_path: Path) -> None:
    """After the deadline nothing runs, also when the answer comes before any sweep."""
    async with gate_at(tmp_path, timeout_ms=1) as gate:
        asked = await gate.submit(request("touch made", cwd=tmp_path))
        assert isinstance(asked, Pending)
        late = await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        result = await gate.wait(asked.run_id)

    assert late.outcome is AnswerOutcome.ALREADY_ENDED
    assert "expired" in late.sentence
    assert isinstance(result, Denied)
    assert DenialReason.UNDELIVERED is result.reason  # no outbox runs here


async def test_identical_questions_that_end_together_are_all_in_the_journal(tmp_path: Path) -> None:
    """A denial of one ends the others, and the journal names each."""
    async with gate_at(tmp_path) as gate:
        asked = [await gate.submit(request("touch made", cwd=tmp_path)) for _ in range(3)]
        await gate.answer(says(asked[0].run_id, ApprovalReply.DENY))
        others = [await gate.wait(one.run_id, 5_000) for one in asked]

    assert all(isinstance(one, Denied) for one in others)
    ends = [line for line in records(tmp_path) if line["kind"] == "resolve"]
    assert {one.run_id for one in asked} == {line["run"] for line in ends}
    assert 3 == len(ends)


@pytest.mark.parametrize("fault", ["mode", "text", "lost"])
async def test_an_approvals_file_that_cannot_be_used_denies(tmp_path: Path, fault: str) -> None:
    """With the place and the solution, in the journal and for the session; repaired, it counts."""
    list_patterns(tmp_path, "/usr/bin/echo")
    file = tmp_path / "exec-approvals.json"
    good = file.read_bytes()
    async with gate_at(tmp_path) as gate:
        assert isinstance(await gate.submit(request("echo a", cwd=tmp_path)), Finished)
        if fault == "lost":
            file.unlink()
        elif fault == "text":
            file.write_text("{")
        else:
            file.chmod(0o644)
        denied = await gate.submit(request("echo a", cwd=tmp_path))
        file.write_bytes(good)
        file.chmod(0o600)
        again = await gate.submit(request("echo a", cwd=tmp_path))

    assert isinstance(denied, Denied)
    assert DenialReason.SECURITY_DENY is denied.reason
    assert str(file) in denied.why
    assert isinstance(again, Finished)
    assert denied.run_id in {line.get("run") for line in records(tmp_path)}


async def test_last_use_is_noted_beside_the_rule(tmp_path: Path) -> None:
    """A run records when and for what its entry was used; it is written later (S1)."""
    list_patterns(tmp_path, "/usr/bin/ech*")
    before = (tmp_path / "exec-approvals.json").read_bytes()
    async with gate_at(tmp_path) as gate:
        await gate.submit(request("echo --token=abcdef0123456789abcdef", cwd=tmp_path))
        assert before == (tmp_path / "exec-approvals.json").read_bytes()

    file = json.loads((tmp_path / "exec-approvals.json").read_text())
    (noted,) = file["agents"]["main"]["allowlist"]
    assert "/usr/bin/echo" == noted["lastResolvedPath"]
    assert "echo" in noted["lastUsedCommand"]
    assert "abcdef0123456789" not in noted["lastUsedCommand"]


async def test_always_that_cannot_be_stored_is_told(tmp_path: Path) -> None:
    """The allowed run happens; the requester is told that nothing was stored."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("seq 3", cwd=tmp_path))
        assert isinstance(asked, Pending)
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ALWAYS))
        (tmp_path / "exec-approvals.json").write_text("{ broken")
        (tmp_path / "exec-approvals.json").chmod(0o600)
        (result,) = await run_what_was_allowed(gate)
        claimed = await gate.store.write(outbox.claim, 10, 1000, ("memory",))

    assert isinstance(result, Finished)
    (notice,) = [item for item in claimed if item.kind is outbox.OutboxKind.NOTICE]
    assert "could not be stored" in notice.payload


async def test_the_same_request_twice_at_once_runs_once(tmp_path: Path) -> None:
    """Of submissions that race under one key one runs, and all get the same run."""
    list_patterns(tmp_path, "/usr/bin/uname", "/usr/bin/sleep")
    async with gate_at(tmp_path) as gate:
        wishes = [request("sleep 0.2 ; uname", key="k1") for _ in range(5)]
        results = await asyncio.gather(*(gate.submit(wish) for wish in wishes))
        texts = await heard(gate)

    assert 1 == len({result.run_id for result in results})
    assert 1 == sum(text.startswith("Exec started") for text in texts)
    assert 1 == sum(isinstance(result, Finished) for result in results)
