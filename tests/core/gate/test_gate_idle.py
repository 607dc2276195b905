"""Ask again for what was not used for long; one answer makes it count again."""

from pathlib import Path

from core.approvals.answer import Answer
from core.approvals.file.idle import Idle
from core.gate.gate import Gate
from core.model.approval import THIS_SESSION, ApprovalReply, GrantTerms
from core.model.result import Finished, Pending
from core.store.engine.clock import wall_ms
from tests.support.gate import ANA, gate_at, list_patterns, request
from tests.support.stores import ManualClock

DAY_MS = 86_400_000


def expiring(gate: Gate, home: Path) -> ManualClock:
    """Let entries end after ten days without use, and return their clock."""
    clock = ManualClock(wall_ms())
    gate.rulebook.idle = Idle.of(home, gate.rulebook.usage, 10)
    gate.rulebook.idle.now_ms = clock
    return clock


async def test_an_idle_entry_asks_and_always_renews_it(tmp_path: Path) -> None:
    """The entry stays in the file all the time; a person's answer makes it count again."""
    list_patterns(tmp_path, "/usr/bin/uname")
    async with gate_at(tmp_path) as gate:
        clock = expiring(gate, tmp_path)
        listed = await gate.submit(request("uname", cwd=tmp_path))
        clock.ms += 11 * DAY_MS
        before = (tmp_path / "exec-approvals.json").read_bytes()
        asked = await gate.submit(request("uname -s", cwd=tmp_path))
        assert before == (tmp_path / "exec-approvals.json").read_bytes()
        assert isinstance(asked, Pending)
        await gate.answer(Answer(asked.run_id, ApprovalReply.ALLOW_ALWAYS, ANA))
        for run_id, plan in await gate.queued():
            await gate.run_approved(run_id, plan)
        again = await gate.submit(request("uname -s", cwd=tmp_path))

    assert isinstance(listed, Finished)
    assert isinstance(again, Finished)
    text = (tmp_path / "exec-approvals.json").read_text()
    assert 1 == text.count('"pattern": "/usr/bin/uname"')


async def test_a_used_entry_stays(tmp_path: Path) -> None:
    """Each run that an entry allows starts its time again."""
    list_patterns(tmp_path, "/usr/bin/uname")
    async with gate_at(tmp_path) as gate:
        clock = expiring(gate, tmp_path)
        await gate.submit(request("true && uname", cwd=tmp_path))
        clock.ms += 9 * DAY_MS
        policy = gate.rulebook.agent_policy(request().agent)
        plan = gate.planner.plan(request("uname", cwd=tmp_path), policy)
        evaluation = gate.rulebook.judge(plan, policy)  # type: ignore[arg-type] # it is a plan
        gate.rulebook.note_uses(plan, evaluation, clock.ms)  # type: ignore[arg-type] # as above
        clock.ms += 9 * DAY_MS
        later = await gate.submit(request("uname", cwd=tmp_path))

    assert isinstance(later, Finished)


async def test_an_idle_grant_asks(tmp_path: Path) -> None:
    """The gate asks the store with the idle time that is set."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("uname", cwd=tmp_path))
        assert isinstance(asked, Pending)
        await gate.answer(Answer(asked.run_id, ApprovalReply.ALLOW_ALWAYS, ANA, terms=THIS_SESSION))
        held = await gate.submit(request("uname", cwd=tmp_path))
        gate.rulebook.idle = Idle(gate.rulebook.usage, after_ms=1)
        over = await gate.submit(request("uname", cwd=tmp_path))

    assert isinstance(held, Finished)
    assert isinstance(over, Pending)


async def test_a_grant_revives_no_idle_entry(tmp_path: Path) -> None:
    """What a limited grant lets run is not a use of the entry that covers the same program."""
    list_patterns(tmp_path, "/usr/bin/uname")
    async with gate_at(tmp_path) as gate:
        clock = expiring(gate, tmp_path)
        await gate.submit(request("uname", cwd=tmp_path))
        clock.ms += 11 * DAY_MS
        asked = await gate.submit(request("uname", cwd=tmp_path))
        assert isinstance(asked, Pending)
        terms = GrantTerms(uses=1)
        await gate.answer(Answer(asked.run_id, ApprovalReply.ALLOW_ALWAYS, ANA, terms=terms))
        granted = await gate.submit(request("uname", cwd=tmp_path))
        gate.rulebook.usage.flush()
        clock.ms += 120_000
        after = await gate.submit(request("uname", cwd=tmp_path))

    assert isinstance(granted, Finished)
    assert isinstance(after, Pending)
