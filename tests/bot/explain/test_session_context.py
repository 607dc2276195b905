"""Know in `policy explain` what people granted and set for a session, and show waits behind."""

import json
import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bot.app import gateway
from bot.cli.listings import _CODE
from bot.explain.batch_entry import REQUESTER
from bot.explain.explain_one import explain_one, shown, to_json
from bot.intake.callers.caller import Admitted, of_peer
from bot.intake.results.questions import ApprovalAnswer
from bot.intake.results.rules import ExplainAnswer
from bot.settings import load
from core.ipc.peer import Peer
from core.model.approval import ApprovalReply, GrantTerms
from core.model.command import ExecOverrides
from core.model.decision import Decision, Evaluation
from core.model.identity import CODE_LENGTH, AgentId, TaskId
from core.model.policy import ExecHost, ExecSecurity
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from core.store import approvals, open_store
from core.store.approvals import grants
from core.store.schema.records import ApprovalDraft
from core.store.sessions import overrides
from tests.bot.policy_tools.past import ASKING, home, planned
from tests.support.api_tokens import ASK, LOOK, Api
from tests.support.store_records import ALICE, HALF_HOUR, SESSION, new_id

CONFIG = {"tools": {"exec": {"host": "gateway", "security": "allowlist"}}}


FULL = ExecOverrides(ExecHost.GATEWAY, ExecSecurity.FULL)
ASKS = {"tier": "routine", "quorum": 2, "timeoutMs": 90_000}
IN_SESSION = GrantTerms(session_only=True)


async def granted(
    state: Path, cwd: Path, terms: GrantTerms = IN_SESSION, task: TaskId | None = None
) -> None:
    """Let a person grant `uname -m` in one session, which is also given full security."""
    store = await open_store(f"sqlite:///{state}/state.db")
    try:
        plan = replace(planned("uname -m", cwd), task=task)
        verdict = evaluate(plan, ASKING, Allowlist((), "/home/nobody"))
        draft = ApprovalDraft(new_id(), plan, verdict, REQUESTER, None, HALF_HOUR, local=True)
        await store.write(approvals.create, draft)
        always = ApprovalReply.ALLOW_ALWAYS
        await store.write(
            approvals.answer, approvals.Ballot(draft.id, always, ALICE, None, "", terms)
        )
        await store.write(overrides.put, SESSION, FULL, ALICE)
    finally:
        await store.close()


def test_what_could_not_be_looked_up_is_said_below_the_verdict(tmp_path: Path) -> None:
    """Without a store there is nothing to look up, and no line about it."""
    state = home(tmp_path, CONFIG)
    words = (None, ("uname", "-m"), "main", str(tmp_path), {"SAYSO_HOME": str(state)})

    none = shown(explain_one(*words))
    (state / "state.db").write_bytes(b"no database" * 1_000)
    broken = explain_one(*words)

    assert "Cannot read grants and the session's settings." in broken.unread
    assert f"\n\n{broken.unread}\n" in shown(broken)
    assert none == shown(broken).replace(f"\n\n{broken.unread}", "")
    assert "\n\n\n" not in none


async def test_a_grant_and_a_sessions_settings_count(tmp_path: Path) -> None:
    """In their session only; full security of a session needs tools.elevated."""
    state = home(tmp_path, CONFIG)
    environ = {"SAYSO_HOME": str(state)}
    words = (("uname", "-m"), "main", str(tmp_path), environ)

    before = explain_one(None, *words, session=SESSION)
    await granted(state, tmp_path)
    after = explain_one(None, *words, session=SESSION)
    other = explain_one(None, *words, session="another")

    assert "" == after.unread
    assert [Decision.ASK, Decision.ALLOW, Decision.ASK] == [
        one.verdict.decision
        for one in (before, after, other)
        if isinstance(one.verdict, Evaluation)
    ]
    assert "granted in this session by" in after.verdict.why
    assert ExecSecurity.ALLOWLIST is after.policy.security
    assert "session" == after.policy.sources["host"]
    assert "session" != other.policy.sources["host"]


async def test_what_waits_behind_another_question_is_told(tmp_path: Path) -> None:
    """The row names the question that is asked first."""
    store = await open_store(f"sqlite:///{home(tmp_path, CONFIG)}/state.db")
    try:
        plan = planned("uname -m", tmp_path)
        verdict = evaluate(plan, ASKING, Allowlist((), "/home/nobody"))
        for _ in range(2):
            draft = ApprovalDraft(new_id(), plan, verdict, REQUESTER, None, HALF_HOUR, local=True)
            await store.write(approvals.create, draft)
        waiting = await store.read(approvals.pending, 10, None, None)
    finally:
        await store.close()

    first, second = sorted(waiting, key=lambda one: one.behind is not None)
    assert (None, first.id) == (ApprovalAnswer.of(first).behind, ApprovalAnswer.of(second).behind)
    assert CODE_LENGTH == _CODE


async def test_the_method_and_the_command_answer_the_same(tmp_path: Path) -> None:
    """Whether a grant covers the command, none does, or none in that session; time and quorum."""
    state = home(tmp_path, {**CONFIG, "approvals": {"exec": {"quorum": 2, "timeout": 90}}})
    environ = {"SAYSO_HOME": str(state)}
    await granted(state, tmp_path)
    socket = of_peer(Peer(1, 0, 0))
    async with gateway(load(state, environ=environ)) as running:
        api = Api.of(running.gate)
        await running.store.write(overrides.put, SESSION, FULL, ALICE)
        for words, session, decision in (
            (("uname", "-m"), SESSION, "allow"),
            (("id", "-u"), SESSION, "ask"),
            (("uname", "-m"), "main", "ask"),
            (("no-such-program",), SESSION, "deny"),
        ):
            wish = {"argv": words, "cwd": str(tmp_path), "session": session}
            answered = await api.call(socket, "policy.explain", **wish)
            typed = explain_one(None, words, "main", str(tmp_path), environ, session=session)

            assert answered == ExplainAnswer.model_validate(to_json(typed)).as_json()
            assert decision == answered["decision"]
            assert ("tools.exec" if session == "main" else "session") == host_of(answered)
            assert (ASKS if decision == "ask" else None) == answered["asks"]
        uses = await running.store.read(grants.listed)

    assert [None] == [one.used_ms for one in uses]


async def test_a_node_that_cannot_be_is_denied(tmp_path: Path) -> None:
    """As `run` does; the control: the same command without a node asks here."""
    state = home(tmp_path, CONFIG)
    socket = of_peer(Peer(1, 0, 0))
    wish = {"argv": ("uname", "-m"), "cwd": str(tmp_path), "session": "main"}
    async with gateway(load(state, environ={"SAYSO_HOME": str(state)})) as running:
        api = Api.of(running.gate)
        there = await api.call(socket, "policy.explain", **wish, host="node", node="web")
        here = await api.call(socket, "policy.explain", **wish)

    assert ("deny", "host_unavailable") == (there["decision"], there["reason"])
    assert "ask" == here["decision"]


async def test_a_grant_of_a_task_counts_for_that_task(tmp_path: Path) -> None:
    """In the method and in the command, and for no other task."""
    state, task = home(tmp_path, CONFIG), TaskId("fix-login")
    environ = {"SAYSO_HOME": str(state)}
    await granted(state, tmp_path, GrantTerms(task_only=True), task)
    words, wish = ("uname", "-m"), {"argv": ["uname", "-m"], "cwd": str(tmp_path)}
    async with gateway(load(state, environ=environ)) as running:
        api, socket = Api.of(running.gate), of_peer(Peer(1, 0, 0))
        told = {
            one: await api.call(socket, "policy.explain", **wish, task=one)
            for one in (task, TaskId("other"), None)
        }
    typed = {
        one: ExplainAnswer.model_validate(
            to_json(explain_one(None, words, "main", str(tmp_path), environ, task=one))
        ).as_json()
        for one in told
    }

    assert typed == told
    assert ["allow", "ask", "ask"] == [one["decision"] for one in told.values()]


def test_whoever_looks_beside_the_gateway_starts_no_entrys_time(tmp_path: Path) -> None:
    """When an entry was first seen is for the gateway to say."""
    listed = {"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/usr/bin/uname"}]}}}
    idle = {**CONFIG, "approvals": {"exec": {"allowAlwaysIdle": 30}}}
    state = home(tmp_path, idle, listed)
    found = explain_one(None, ("uname",), "main", str(tmp_path), {"SAYSO_HOME": str(state)})

    assert isinstance(found.verdict, Evaluation)
    assert Decision.ALLOW is found.verdict.decision
    assert not (state / "exec-approvals.seen.json").exists()


def host_of(answer: dict[str, Any]) -> str:
    """Return where an answer says that the host was set."""
    source: str = answer["policy"]["host"]["source"]
    return source


async def test_only_who_may_read_learns_who_granted(tmp_path: Path) -> None:
    """A token that may ask learns that a grant counts; its owner is in `grants.list`."""
    state = home(tmp_path, CONFIG)
    await granted(state, tmp_path, GrantTerms(uses=5))
    wish = {"argv": ["uname", "-m"], "cwd": str(tmp_path)}
    async with gateway(load(state, environ={})) as running:
        api = Api.of(running.gate)
        asker = await api.caller("asker", ASK, agent="main")
        agent = await api.caller("agent", ASK, LOOK, agent="main")
        other = await api.caller("other", ASK, LOOK, agent="other")
        asked, looked, others = [
            await api.call(caller, "policy.explain", **wish) for caller in (asker, agent, other)
        ]
        (grant,) = await running.store.read(grants.listed)

    assert ["allow", "allow", "ask"] == [one["decision"] for one in (asked, looked, others)]
    for word in (grant.code, ALICE.name, ALICE.channel):
        assert word in json.dumps(looked)
        assert word not in json.dumps((asked, others))
    assert "granted for a while" in str(asked["why"])


async def test_no_session_but_its_own_counts_for_a_bound_token(tmp_path: Path) -> None:
    """Merely knowing a session's name reveals nothing of what was granted in it."""
    state = home(tmp_path, CONFIG)
    await granted(state, tmp_path)
    wish = {"argv": ["uname", "-m"], "cwd": str(tmp_path), "session": SESSION}
    async with gateway(load(state, environ={})) as running:
        api = Api.of(running.gate)
        await running.store.write(overrides.put, SESSION, FULL, ALICE)
        agent = await api.caller("agent", ASK, LOOK, agent="main")
        theirs = await api.call(agent, "policy.explain", **wish)
        ours = await api.call(of_peer(Peer(1, 0, 0)), "policy.explain", **wish)

    assert ("ask", "tools.exec") == (theirs["decision"], host_of(theirs))
    assert ("allow", "session") == (ours["decision"], host_of(ours))


@pytest.mark.parametrize("mode", [0o700, 0o777])
async def test_a_folder_that_is_withheld_is_explained_as_it_is_refused(
    tmp_path: Path, mode: int
) -> None:
    """Another user gets the run's own reason; the owner, or one who may write there, none."""
    sandboxed = {"tools": {"exec": {"host": "sandbox"}}, "proof": {"every": 3600}}
    settings = load(home(tmp_path, sandboxed), environ={})
    with TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(mode)
        wish = {"argv": ["uname", "-m"], "cwd": folder}
        async with gateway(settings) as running:
            api = Api.of(running.gate)
            bound = Admitted(frozenset({AgentId("main")}), frozenset({ASK}))
            theirs, ours = bound.caller(Peer(1, 61234, 61235)), of_peer(Peer(1, os.geteuid(), 0))
            ran = await api.call(theirs, "exec.run", **wish)
            told = await api.call(theirs, "policy.explain", **wish)
            owner = await api.call(ours, "policy.explain", **wish)

    withheld = mode == 0o700
    assert ("bad_cwd" in (ran.get("reason"), told["reason"])) is withheld
    assert owner["decision"] == "allow"
    if withheld:
        assert (ran["status"], told["decision"]) == ("denied", "deny")
        assert ran["reason"] == told["reason"]
        assert "uid 61234, which asks, may not change it itself" in str(told["why"])
        assert str(told["why"]) in str(ran)
    else:
        assert told["decision"] == "allow"
