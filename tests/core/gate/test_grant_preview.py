"""Take previews from the gateway's own store, without delaying anything."""

import time
from pathlib import Path

import pytest

from bot.intake.callers.caller import of_peer
from bot.intake.methods.grants import GrantMethods
from bot.intake.registry.params import AgentParams
from core.approvals.answer import Answer
from core.errors import StoreError
from core.gate.gate import Gate
from core.gate.grant_preview import Previews, words_of
from core.ipc.peer import Peer
from core.model.approval import HALF_HOUR, ApprovalReply
from core.model.pending_limits import PendingLimits
from core.model.policy import ExecAsk, ExecSecurity
from core.model.result import Pending
from core.policy.judge.preview import Preview
from core.store import approvals
from core.store.approvals import grants
from tests.support.gate import ANA, gate_at, layer, request

SELF = Peer(1, 0, 0)


async def answered(gate: Gate, line: str, cwd: Path, reply: ApprovalReply) -> Pending:
    """Ask for a line, answer it and run what was allowed."""
    asked = await gate.submit(request(line, cwd=cwd))
    assert isinstance(asked, Pending)
    terms = HALF_HOUR if reply is ApprovalReply.ALLOW_ALWAYS else None
    await gate.answer(Answer(asked.run_id, reply, ANA, terms=terms))
    for run_id, plan in await gate.queued():
        await gate.run_approved(run_id, plan)
    return asked


async def test_grants_are_listed_with_what_they_match(tmp_path: Path) -> None:
    """Questions count, and so do the runs that the grant itself allowed."""
    async with gate_at(tmp_path) as gate:
        await answered(gate, "seq 9", tmp_path, ApprovalReply.DENY)
        await answered(gate, "uname", tmp_path, ApprovalReply.ALLOW_ONCE)
        await answered(gate, "seq 3", tmp_path, ApprovalReply.ALLOW_ALWAYS)
        for number in range(4):
            await gate.submit(request(f"seq {number}", cwd=tmp_path))
        listed = await GrantMethods(gate.store, gate.rulebook, gate.journal).listed(
            AgentParams(), of_peer(SELF)
        )

    (grant,) = listed.grants
    assert grant.preview is not None
    assert {
        "looked": 7,
        "matched": 6,
        "denied": ["seq 9"],
        "sentence": "would have matched 6 of the last 7 commands, 1 of them denied: seq 9",
    } == grant.preview.as_json()


async def test_knobs_change_no_preview(tmp_path: Path) -> None:
    """A session set to ask about everything, or a laxer one, says what lists cover."""
    async with gate_at(tmp_path) as gate:
        asked = await answered(gate, "seq 3", tmp_path, ApprovalReply.ALLOW_ALWAYS)
        held = await gate.store.read(grants.listed)
    strict = layer(security=ExecSecurity.DENY, ask=ExecAsk.ALWAYS)
    async with gate_at(tmp_path, strict) as gate:
        found = await Previews(gate.store, gate.rulebook).of_grants(held)

    assert Preview(1, 1, ()) == found[asked.run_id]


@pytest.mark.benchmark
async def test_a_preview_of_five_hundred_comes_in_time(tmp_path: Path) -> None:
    """Well within the 3 s that a platform gives a press; only 500 are checked."""
    async with gate_at(tmp_path, limits=PendingLimits(per_agent=1_000)) as gate:
        for number in range(510):
            await gate.submit(request(f"uname -{'s' * (number + 1)}", cwd=tmp_path))
        asked = await gate.submit(request("uname", cwd=tmp_path))
        assert isinstance(asked, Pending)
        approval = await gate.store.read(approvals.get, asked.run_id)
        assert approval is not None
        begin = time.monotonic()
        found = await Previews(gate.store, gate.rulebook).of_question(approval)
        took = time.monotonic() - begin

    assert Preview(500, 500, ()) == found
    assert took < 1.5


async def test_what_cannot_be_made_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A broken approvals file or a closed store costs the preview, never the choice or the list."""
    async with gate_at(tmp_path) as gate:
        asked = await answered(gate, "seq 3", tmp_path, ApprovalReply.ALLOW_ALWAYS)
        approval = await gate.store.read(approvals.get, asked.run_id)
        held = await gate.store.read(grants.listed)
        previews = Previews(gate.store, gate.rulebook)
        assert approval is not None
        (tmp_path / "exec-approvals.json").write_text("{")
        broken = await previews.of_question(approval), await previews.of_grants(held)
        (tmp_path / "exec-approvals.json").unlink()
        await gate.store.close()
        closed = await previews.of_question(approval), await previews.of_grants(held)
        with pytest.raises(StoreError):
            await gate.store.read(grants.listed)

    assert 1 == len(held)
    assert (None, {}) == broken
    assert (None, {}) == closed
    assert f"cannot tell what allow-always of {approval.code} would have let run" in caplog.text
    assert "cannot tell what the grants listed would have let run" in caplog.text


@pytest.mark.parametrize(
    ("preview", "words"),
    [
        (Preview(0, 0, ()), "would have matched nothing: this agent has no"),
        (Preview(1, 1, ()), "would have matched 1 of the last command"),
        (Preview(500, 14, ()), "would have matched 14 of the last 500 commands"),
        (Preview(9, 3, ("a", "a")), "commands, 2 of them denied: a"),
        (Preview(9, 4, ("a", "b", "c", "d")), "4 of them denied: a, b, c, …"),
        (Preview(9, 1, ("x" * 300,)), "denied: " + "x" * 160 + "…"),
    ],
)
def test_a_preview_in_words(preview: Preview, words: str) -> None:
    """Denied texts are named once each, three at most, and never at length."""
    assert words in words_of(preview).text


def test_secrets_in_denied_commands_are_masked() -> None:
    """Only masked text leaves."""
    line = "curl -H 'Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345' x"

    assert "ghp_0123456789" not in words_of(Preview(1, 1, (line,))).text


@pytest.mark.parametrize("denied", [("a", "b", "c"), ("x" * 160,)])
def test_an_ellipsis_stands_for_something_left_out(denied: tuple[str, ...]) -> None:
    """Three texts, and 160 characters, are shown whole."""
    preview = Preview(9, len(denied), denied)

    assert words_of(preview).text.endswith(f"denied: {', '.join(denied)}")
