"""`policy explain` knows what people granted and set for a session, and waits behind are told."""

from pathlib import Path

from bot.cli.approve import _CODE
from bot.explain.entry import REQUESTER
from bot.explain.single import explain_one
from bot.intake.results import approval
from core.model.approval import ApprovalReply, GrantTerms
from core.model.command import ExecOverrides
from core.model.decision import Decision, Evaluation
from core.model.identity import CODE_LENGTH
from core.model.policy import ExecHost, ExecSecurity
from core.policy.allowlist import Allowlist
from core.policy.evaluate import evaluate
from core.store import approvals, open_store, session_overrides
from core.store.drafts import ApprovalDraft
from tests.bot.policy_tools.past import ASKING, home, planned
from tests.core.store.making import ALICE, HALF_HOUR, SESSION, new_id

CONFIG = {"tools": {"exec": {"host": "gateway", "security": "allowlist"}}}


async def granted(state: Path, cwd: Path) -> None:
    """Let a person grant `uname -m` in one session, which is given full security as well."""
    store = await open_store(f"sqlite:///{state}/state.db")
    try:
        plan = planned("uname -m", cwd)
        verdict = evaluate(plan, ASKING, Allowlist((), "/home/nobody"))
        draft = ApprovalDraft(new_id(), plan, verdict, REQUESTER, None, HALF_HOUR, local=True)
        await store.write(approvals.create, draft)
        always, terms = ApprovalReply.ALLOW_ALWAYS, GrantTerms(session_only=True)
        await store.write(approvals.answer, draft.id, always, ALICE, None, "", terms)
        full = ExecOverrides(ExecHost.GATEWAY, ExecSecurity.FULL)
        await store.write(session_overrides.put, SESSION, full, ALICE)
    finally:
        await store.close()


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
    assert (None, first.id) == (approval(first)["behind"], approval(second)["behind"])
    assert CODE_LENGTH == _CODE
