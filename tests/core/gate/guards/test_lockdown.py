"""Run nothing while the lockdown file exists, whatever is in it and whoever allowed what."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from core.approvals.ids import new_id
from core.errors import LockedDown, StateError
from core.gate.guards.lockdown import NAME, Lockdown, Locked
from core.gate.guards.marks import SESSION, Marks
from core.gate.guards.spawn_guard import Guard
from core.model.approval import ApprovalReply
from core.model.command import ExecOverrides, ExecRequest
from core.model.decision import Decision, DenialReason
from core.model.identity import SessionKey
from core.model.policy import ExecAsk, ExecSecurity
from core.model.result import Denied, Finished, Pending
from core.runner.runner import Runner
from core.store import approvals
from core.store.sessions import events
from tests.support.gate import AGENT, gate_at, layer, list_patterns, request, says
from tests.support.runs import Start, planned
from tests.support.waiting import until

FREE = layer(security=ExecSecurity.FULL, ask=ExecAsk.OFF)


def at(home: Path) -> Lockdown:
    """Return the lock of a home, as a fresh process sees it."""
    return Lockdown(home / NAME)


def locked(lockdown: Lockdown) -> Locked:
    """Return how it is locked; it must be locked."""
    state = lockdown.state()
    assert state is not None
    return state


def test_the_file_says_when_why_and_by_whom(tmp_path: Path) -> None:
    """It is private, and the next process reads the same from it."""
    done = at(tmp_path).engage("the proof failed.", by="gate proof", entry_point="socket")
    file = tmp_path / NAME

    assert 0o600 == file.stat().st_mode & 0o777
    assert {"when", "why", "by", "way"} == set(json.loads(file.read_text()))
    assert done == locked(at(tmp_path))
    assert "`sayso lockdown off`" in done.sentence
    assert "the proof failed. " in done.sentence


def test_without_a_file_nothing_is_locked(tmp_path: Path) -> None:
    """Before, and after it was lifted."""
    lockdown = at(tmp_path)

    assert lockdown.state() is None
    lockdown.engage("why", by="ana")
    lockdown.lift()
    assert lockdown.state() is None
    assert at(tmp_path).state() is None


SPOILT: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.touch(0o600),
    "half": lambda path: (path.touch(0o600), path.write_text('{"when": "2025-')),
    "no json": lambda path: (path.touch(0o600), path.write_bytes(b"\xff\xfe\x00")),
    "a list": lambda path: (path.touch(0o600), path.write_text("[]")),
    "a number as reason": lambda path: (
        path.touch(0o600),
        path.write_text('{"when": "2025-01-01T00:00:00+00:00", "why": 1, "by": "", "way": ""}'),
    ),
    "no such time": lambda path: (
        path.touch(0o600),
        path.write_text('{"when": "soon", "why": "", "by": "", "way": ""}'),
    ),
    "too open": lambda path: (path.touch(0o644), path.chmod(0o644)),
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to("/nowhere/at/all"),
    "deep": lambda path: (path.touch(0o600), path.write_text("[" * 100_000)),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
def test_what_cannot_be_read_is_locked(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    """That the file exists is enough."""
    spoil(tmp_path / NAME)

    assert "cannot be read" in locked(at(tmp_path)).why


def test_a_home_that_cannot_be_looked_into_is_locked(tmp_path: Path) -> None:
    """If the check itself fails, nothing is known, so nothing runs."""
    (tmp_path / "file").touch()

    assert "cannot be read" in locked(Lockdown(tmp_path / "file" / NAME)).why


def test_the_first_reason_stays_and_each_alarm_counts(tmp_path: Path) -> None:
    """What is locked is not locked again."""
    lockdown = at(tmp_path)
    first = lockdown.engage("first", by="ana")

    assert first == lockdown.engage("second", by="bob")
    assert 2 == lockdown.alarms
    assert "first" == locked(at(tmp_path)).why


def test_a_file_that_vanishes_is_written_again(tmp_path: Path) -> None:
    """Removing it under a running gateway opens nothing."""
    lockdown = at(tmp_path)
    lockdown.engage("why", by="ana")
    (tmp_path / NAME).unlink()

    assert "why" == locked(lockdown).why
    assert lockdown.keep()
    assert "why" == locked(at(tmp_path)).why


def test_a_disk_that_takes_no_file_locks_in_memory(tmp_path: Path) -> None:
    """Then it cannot outlive the process, and says so."""
    lockdown = Lockdown(tmp_path / "missing" / NAME)
    lockdown.engage("why", by="ana")

    assert "why" == locked(lockdown).why
    assert not lockdown.keep()


def test_what_cannot_be_removed_stays_locked(tmp_path: Path) -> None:
    """Lifting says what to repair, and nothing is open in the meantime."""
    (tmp_path / NAME).mkdir()
    lockdown = at(tmp_path)
    before = locked(lockdown)

    with pytest.raises(StateError, match="lockdown"):
        lockdown.lift()
    assert before == locked(lockdown)


async def test_everything_is_refused_and_told(tmp_path: Path) -> None:
    """The freest policy, a listed program and an unreadable line: one answer for all."""
    list_patterns(tmp_path, "/usr/bin/true")
    async with gate_at(tmp_path, FREE) as gate:
        assert isinstance(await gate.submit(request("true")), Finished)
        (tmp_path / NAME).touch(0o600)
        ends = [
            await gate.submit(request(line, cwd=tmp_path))
            for line in ("true", "touch made", "if :; then touch made; fi")
        ]
        told = await gate.store.read(events.drain, SessionKey("main"), 100, 0)

    assert {DenialReason.LOCKED_DOWN} == {
        end.reason if isinstance(end, Denied) else None for end in ends
    }
    assert not (tmp_path / "made").exists()
    assert 3 == sum("locked_down" in event.text for event in told)
    assert 3 == (tmp_path / "audit.jsonl").read_text().count('"reason":"locked_down"')


async def test_a_request_that_ended_before_is_still_told(tmp_path: Path) -> None:
    """A lost answer is requested again under its key, and nothing runs for it."""
    async with gate_at(tmp_path, FREE) as gate:
        before = await gate.submit(request("true", key="k"))
        gate.execution.guard.lockdown.engage("why", by="ana")

        assert before.run_id == (await gate.submit(request("true", key="k"))).run_id


async def test_what_people_allowed_does_not_run_either(tmp_path: Path) -> None:
    """The queue of allowed runs is denied, reported, and not run after the lockdown."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("touch made", cwd=tmp_path))
        assert isinstance(asked, Pending)
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        ((run_id, plan),) = await gate.queued()
        lockdown = gate.execution.guard.lockdown
        lockdown.engage("why", by="ana")
        end = await gate.run_approved(run_id, plan)
        lockdown.lift()

        assert isinstance(end, Denied)
        assert DenialReason.LOCKED_DOWN is end.reason
        assert () == await gate.queued()
        assert end == await gate.wait(run_id, 0)
    assert not (tmp_path / "made").exists()


async def test_what_waits_for_its_turn_does_not_run(tmp_path: Path) -> None:
    """A run that was admitted before the lockdown is checked again before it is spawned."""
    guard = Guard(at(tmp_path))
    runner = Runner(most_runs=1, guard=guard)
    await runner.start()
    try:
        going, gate = Start(), "sh -c 'until [ -e go ]; do sleep 0.02; done'"
        early = planned(request(gate, cwd=tmp_path))
        first = asyncio.create_task(runner.run(new_id(), early, going))
        await going.started.wait()
        late, start, run_id = planned(request(f"touch {tmp_path}/made")), Start(), new_id()
        second = asyncio.create_task(runner.run(run_id, late, start))
        await until(lambda: runner.has(run_id))
        guard.lockdown.engage("why", by="ana")
        (tmp_path / "go").touch()

        with pytest.raises(LockedDown):
            await second
        assert 0 == (await first).exit_code
        assert not (tmp_path / "made").exists()
        # What ends a container, or proves a sandbox, was not requested by anyone.
        ours = planned(request("true"))
        assert 0 == (await runner.run(new_id(), ours, Start(), own=True)).exit_code
        guard.lockdown.lift()
        assert 0 == (await runner.run(new_id(), late, Start())).exit_code
    finally:
        await runner.stop()
    assert (tmp_path / "made").exists()


class TestMarks:
    """A mark is one exact command, once; its names mean nothing."""

    def test_only_the_exact_command_is_marked(self) -> None:
        """Its number in any other command, or another number, marks nothing."""
        marks = Marks()
        mark = marks.draw("socket", "/usr/bin/touch", "/home/x/gate-proof")
        exact = request(argv=mark.argv)

        assert marks.of(exact) is mark
        assert marks.of(request(mark.line)) is mark
        for other in (
            request(f"{mark.line}; rm -rf x"),
            request(f"rm -rf {mark.witness}"),
            request(argv=(*mark.argv, "more")),
            request(argv=("/usr/bin/touch", "/tmp/gate-proof/" + mark.nonce)),
            request(argv=(mark.argv[0], mark.witness[:-1] + "x")),
            request("true"),
        ):
            assert marks.of(other) is None

    async def test_a_mark_is_judged_once(self, tmp_path: Path) -> None:
        """Sent again it is a request like any other, and people are asked."""
        async with gate_at(tmp_path) as gate:
            mark = gate.execution.guard.marks.draw("socket", "/usr/bin/touch", str(tmp_path))
            first = await gate.submit(request(argv=mark.argv))
            again = await gate.submit(request(argv=mark.argv))

            assert isinstance(first, Denied)
            assert DenialReason.CANCELLED is first.reason
            assert Decision.ASK is mark.judged
            assert isinstance(again, Pending)
            assert 1 == len(await gate.store.read(approvals.pending, 10))

    async def test_reserved_names_gain_nothing(self, tmp_path: Path) -> None:
        """A caller that names the session and its own number must ask, and is refused locked."""
        forged = f"{tmp_path}/gate-proof/{'0' * 32}"
        wish = ExecRequest(
            requester=AGENT,
            session=SESSION,
            cwd="/",
            argv=("/usr/bin/touch", forged),
            overrides=ExecOverrides(ask=ExecAsk.ALWAYS),
        )
        async with gate_at(tmp_path) as gate:
            gate.execution.guard.marks.draw("socket", "/usr/bin/touch", f"{tmp_path}/gate-proof")
            asked = await gate.submit(wish)
            gate.execution.guard.lockdown.engage("why", by="ana")
            refused = await gate.submit(wish)

        assert isinstance(asked, Pending)
        assert isinstance(refused, Denied)
        assert DenialReason.LOCKED_DOWN is refused.reason

    def test_old_marks_are_forgotten(self) -> None:
        """Proving for years takes no more memory than for a day."""
        marks = Marks()
        first = marks.draw("socket", "touch", "/x")
        for _ in range(2_000):
            last = marks.draw("socket", "touch", "/x")

        assert marks.by_number(first.nonce) is None
        assert marks.by_number(last.nonce) is last
