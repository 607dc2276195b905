"""Prove that every entry point holds; one that lets a marked command through is locked down."""

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.client import Client
from bot.gate_proof.entry_points import ProofAnswer
from bot.gate_proof.prover import ProofState
from bot.intake.callers.unix_peer import kernel_session
from channels.memory import MemoryChannel
from core.approvals.ids import new_id
from core.errors import SaysoError
from core.gate.claims import NewRun
from core.gate.guards.lockdown import NAME, Lockdown
from core.gate.guards.marks import FOLDER, SESSION, Mark
from core.model.approval import ApprovalReply
from core.model.decision import DenialReason
from core.model.identity import Intake, Requester, SessionKey
from core.model.policy import AskFallback, ExecAsk, ExecHost, ExecPolicy, ExecSecurity, PolicyLayer
from core.model.result import Denied, Finished, Pending
from core.planning.planner import Refusal
from core.store import approvals, outbox
from core.store.schema.records import RunDraft
from core.store.sessions import events
from tests.bot.gate_proof.proving import Forgetful, Proving, Way, of, proving
from tests.support.chat import say, sending
from tests.support.gate import AGENT, layer, list_patterns, request, says
from tests.support.runs import Start
from tests.support.waiting import until

ALL = {"socket": "held", "tool": "held", "chat": "held"}
FREE = layer(security=ExecSecurity.FULL, ask=ExecAsk.OFF)
PLACES = (
    (ExecHost.GATEWAY, AskFallback.DENY),
    (ExecHost.GATEWAY, AskFallback.FULL),
    (ExecHost.SANDBOX, AskFallback.FULL),
)


async def seen(world: Proving) -> tuple[object, ...]:
    """Return everything that anyone could have noticed."""
    store = world.gate.store
    return (
        await store.read(approvals.pending, 10),
        await store.read(approvals.history, 10),
        await store.read(outbox.open_surfaces),
        [await store.read(events.drain, key, 10, 0) for key in _SESSIONS],
        world.rows()["outbox"],
    )


_SESSIONS = (SESSION, SessionKey("gate-proof:proof"), SessionKey("main"))
NOTHING = ((), (), 0, [(), (), ()], 0)


@pytest.mark.parametrize("security", ExecSecurity)
@pytest.mark.parametrize("ask", ExecAsk)
async def test_every_way_in_holds_under_every_policy(
    tmp_path: Path, security: ExecSecurity, ask: ExecAsk
) -> None:
    """Host and fallback too; the program is even listed, and no one is told of any of it."""
    for host, fallback in PLACES:
        home = tmp_path / f"{host}-{fallback}"
        home.mkdir()
        list_patterns(home, "/usr/bin/touch")
        policy = PolicyLayer("tools.exec", host, security, ask, fallback)
        async with proving(home, policy, reachable=fallback is AskFallback.DENY) as world:
            assert ALL == await world.states()
            assert NOTHING == await seen(world)
            assert not list((home / FOLDER).iterdir())
            assert world.gate.execution.guard.lockdown.state() is None


async def test_proving_leaves_nothing_behind_but_a_line_in_the_journal(tmp_path: Path) -> None:
    """The second proof adds no table row; each round is one record."""
    async with proving(tmp_path) as world:
        await world.states()
        before = world.rows()
        for _ in range(3):
            assert ALL == await world.states()

        assert before == world.rows()
        words = "held: a person would be asked (not_listed)"
        assert [dict.fromkeys(ALL, words)] * 4 == [
            record["ways"] for record in world.journal("proof")
        ]


async def test_nobody_is_prompted(tmp_path: Path) -> None:
    """A running channel, with people who could answer, shows nothing; a real question shows."""
    async with proving(tmp_path) as world:
        channel = MemoryChannel()
        async with sending(world.gate, channel):
            assert ALL == await world.states()
            asked = await world.gate.submit(request("touch made", cwd=tmp_path))
            assert isinstance(asked, Pending)
            await until(lambda: channel.shown)

    (shown,) = channel.shown.values()
    assert asked.run_id in shown.prompts


async def test_a_proof_makes_no_requester_of_the_gateways_terminal(tmp_path: Path) -> None:
    """The process that proves itself has not asked for anything; when it really asks, it has."""
    ours = Requester(Intake.SOCKET, f"uid:{os.getuid()}", kernel_session(os.getpid()))
    async with proving(tmp_path) as world:
        await world.states()
        assert not await world.askers.known(ours)
        await _call(world, "exec.run", {"command": "true", "cwd": "/", "wait": False})
        assert await world.askers.known(ours)


async def _call(world: Proving, method: str, params: dict[str, object]) -> dict[str, object]:
    def call() -> dict[str, object]:
        with Client(str(world.home / "gateway.sock")) as client:
            return client.call(method, params, 5)

    return await asyncio.to_thread(call)


class TestBroken:
    """Break the gate on purpose: one proof later everything is locked down, and nothing runs."""

    async def test_a_gate_that_allows_everything(self, tmp_path: Path) -> None:
        """The marked command itself is stopped before it is spawned."""
        async with proving(tmp_path, broken=True) as world:
            before = await world.gate.submit(request("touch before", cwd=tmp_path))
            assert isinstance(before, Finished)

            assert dict.fromkeys(ALL, "ran") == await world.states()
            await self._nothing_runs(world)
            assert not list((tmp_path / FOLDER).iterdir())
        assert (tmp_path / "before").exists()

    async def test_what_was_allowed_before_is_not_run_any_more(self, tmp_path: Path) -> None:
        """Neither by the queue nor by anything that waits."""
        async with proving(tmp_path) as world:
            asked = await world.gate.submit(request("touch made", cwd=tmp_path))
            assert isinstance(asked, Pending)
            await world.gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
            world.prover.add(Way("leak", _answers(ProofAnswer.RAN)))

            assert ProofState.RAN is of(await world.prover.prove(), "leak").state
            channel = MemoryChannel()
            async with sending(world.gate, channel):
                end = await world.gate.wait(asked.run_id, 5_000)
        assert isinstance(end, Denied)
        assert DenialReason.LOCKED_DOWN is end.reason
        assert not (tmp_path / "made").exists()

    @pytest.mark.parametrize("by", ["execution", "host", "elsewhere", "late"])
    async def test_a_way_that_goes_around_the_gate(self, tmp_path: Path, by: str) -> None:
        """It says that it held, and runs the command on its own, at whatever depth."""
        async with proving(tmp_path) as world:
            world.prover.add(Way("leak", _LEAKS[by](world)))
            state = of(await world.prover.prove(), "leak").state
            if by == "late":
                assert ProofState.INCOMPLETE is state
                await until(lambda: list((tmp_path / FOLDER).iterdir()))
                await world.prover.prove()
            else:
                assert ProofState.RAN is state

            await self._nothing_runs(world)
            assert not list((tmp_path / FOLDER).iterdir())

    @pytest.mark.parametrize("name", ALL)
    async def test_without_any_guard_the_witness_still_tells(
        self, tmp_path: Path, name: str
    ) -> None:
        """With the check before the spawn removed the command runs, and is found out.

        One way at a time: the first that is found out locks before the others have run.
        """
        async with proving(tmp_path, broken=True) as world:
            world.gate.execution.guard.marks._drawn = Forgetful()
            world.prover.entry_points[:] = [
                one for one in world.prover.entry_points if one.name == name
            ]

            assert {name: "ran"} == await world.states()
            await self._nothing_runs(world)

    async def test_a_prover_without_eyes_finds_nothing(self, tmp_path: Path) -> None:
        """The control of the controls: blind to guard, answer and witness, it locks nothing."""
        async with proving(tmp_path, broken=True) as world:

            async def blind(mark: Mark) -> ProofAnswer:
                del world.gate.execution.guard.marks._drawn[mark.nonce]
                await _call(world, "exec.run", {"argv": list(mark.argv), "cwd": "/"})
                Path(mark.witness).unlink()
                return ProofAnswer.HELD

            world.prover.entry_points[:] = [Way("blind", blind)]
            assert {"blind": "incomplete"} == await world.states()
            assert world.gate.execution.guard.lockdown.state() is None

    async def _nothing_runs(self, world: Proving) -> None:
        """Ask by every way, and check that the lock outlives the process."""
        refused = await world.gate.submit(request("touch after", cwd=world.home))
        told = await _call(world, "exec.run", {"command": "touch after", "cwd": str(world.home)})
        said = await say(world.inbox, f"/run touch {world.home}/after")
        state = Lockdown(world.home / NAME).state()

        assert isinstance(refused, Denied)
        assert ("denied", "locked_down") == (told["status"], told["reason"])
        assert "locked_down" in said
        assert state is not None
        assert state.entry_point in {*ALL, "leak"}
        assert not (world.home / "after").exists()
        assert "on" in {record["state"] for record in world.journal("lockdown")}


def _answers(answer: ProofAnswer) -> Callable[[Mark], Awaitable[ProofAnswer]]:
    async def does(_mark: Mark) -> ProofAnswer:
        return answer

    return does


def _by_execution(world: Proving) -> Callable[[Mark], Awaitable[ProofAnswer]]:
    async def does(mark: Mark) -> ProofAnswer:
        gate, run_id = world.gate, new_id()
        plan = gate.planner.plan(request(argv=mark.argv), ExecPolicy(host=ExecHost.GATEWAY))
        assert not isinstance(plan, Refusal)
        draft = RunDraft(id=run_id, plan=plan, requester=AGENT, owner="boot-1", request_key=None)
        claim = NewRun(gate.store, gate.journal, draft, gate.rulebook.judge(plan, ExecPolicy()))
        await gate.execution.run(run_id, plan, claim)
        return ProofAnswer.HELD

    return does


def _by_host(world: Proving) -> Callable[[Mark], Awaitable[ProofAnswer]]:
    async def does(mark: Mark) -> ProofAnswer:
        plan = world.gate.planner.plan(request(argv=mark.argv), ExecPolicy(host=ExecHost.GATEWAY))
        assert not isinstance(plan, Refusal)
        host = world.gate.execution.hosts.get(plan.host)
        assert host is not None
        await host.run(new_id(), plan, Start())
        return ProofAnswer.HELD

    return does


def _elsewhere(_world: Proving) -> Callable[[Mark], Awaitable[ProofAnswer]]:
    async def does(mark: Mark) -> ProofAnswer:
        await asyncio.to_thread(subprocess.run, mark.argv, check=True)
        return ProofAnswer.HELD

    return does


def _late(_world: Proving) -> Callable[[Mark], Awaitable[ProofAnswer]]:
    left = [0.2]  # once: a second time would come after all checks

    async def does(mark: Mark) -> ProofAnswer:
        while left:
            asyncio.get_running_loop().call_later(left.pop(), Path(mark.witness).touch)
        return ProofAnswer.HELD

    return does


_LEAKS = {"execution": _by_execution, "host": _by_host, "elsewhere": _elsewhere, "late": _late}


class TestIncomplete:
    """What cannot be proved is reported, and locks nothing."""

    async def test_people_hear_of_the_third_time_in_a_row(self, tmp_path: Path) -> None:
        """Bounded by the patience; once for each outage."""
        answers = [None, None, None, None, ProofAnswer.HELD, None, None, None]

        async def comes_and_goes(mark: Mark) -> ProofAnswer:
            if answers[0] is None:
                await asyncio.sleep(60)
            await world.gate.submit(request(argv=mark.argv))
            return ProofAnswer.HELD

        async with proving(tmp_path, patience_s=0.5) as world:
            world.prover.entry_points[:] = [Way("slow", comes_and_goes)]
            told = []
            for _ in range(8):
                # Anything that is answered has the time that a busy machine needs for it.
                world.prover.patience_s = 0.05 if answers[0] is None else 30
                (proof,) = await world.prover.prove()
                answers.pop(0)
                told.append((proof.state.value, world.rows()["outbox"]))
            assert world.gate.execution.guard.lockdown.state() is None
            assert "no answer in time" in world.journal("proof")[0]["ways"]["slow"]

        missed = [("incomplete", told) for told in (0, 0, 1, 1)]
        assert [*missed, ("held", 1), *(("incomplete", told) for told in (1, 1, 2))] == told

    @pytest.mark.parametrize("pauses", [1, 2], ids=["one", "control"])
    async def test_a_machine_that_stood_still_once_is_tried_again(
        self, tmp_path: Path, pauses: int
    ) -> None:
        """With another mark; if it fails again, the proof is incomplete."""
        marks: list[Mark] = []

        async def stands_still(mark: Mark) -> ProofAnswer:
            marks.append(mark)
            if len(marks) <= pauses:
                raise TimeoutError
            await world.gate.submit(request(argv=mark.argv))
            return ProofAnswer.HELD

        async with proving(tmp_path) as world:
            world.prover.entry_points[:] = [Way("slow", stands_still)]
            (proof,) = await world.prover.prove()

        assert proof.state is (ProofState.HELD if pauses == 1 else ProofState.INCOMPLETE)
        assert len({mark.nonce for mark in marks}) == 2

    @pytest.mark.parametrize(
        "failure", [OSError("gone"), SaysoError("no"), RuntimeError("a bug"), TimeoutError()]
    )
    async def test_a_way_that_fails_does_not_keep_the_others(
        self, tmp_path: Path, failure: Exception
    ) -> None:
        """Its proof names the failure."""

        async def fails(_mark: Mark) -> ProofAnswer:
            raise failure

        async with proving(tmp_path) as world:
            world.prover.add(Way("bad", fails))
            assert {**ALL, "bad": "incomplete"} == await world.states()

    async def test_a_way_that_drops_the_request_is_not_called_held(self, tmp_path: Path) -> None:
        """An answer alone proves nothing: the policy must have seen the command."""
        async with proving(tmp_path) as world:
            world.prover.add(Way("deaf", _answers(ProofAnswer.HELD)))
            proof = of(await world.prover.prove(), "deaf")

        assert ProofState.INCOMPLETE is proof.state
        assert "did not reach the policy" in proof.detail

    async def test_a_socket_that_is_gone(self, tmp_path: Path) -> None:
        """Nothing answers there: reported, not locked."""
        async with proving(tmp_path) as world:
            (tmp_path / "gateway.sock").unlink()
            assert {**dict.fromkeys(ALL, "incomplete"), "chat": "held"} == await world.states()

    async def test_without_touch_nothing_is_proved(self, tmp_path: Path) -> None:
        """The detail says what to add."""
        async with proving(tmp_path) as world:
            world.prover.search_path = (str(tmp_path),)
            proofs = await world.prover.prove()

        assert {ProofState.INCOMPLETE} == {proof.state for proof in proofs}
        assert all("tools.exec.searchPath" in proof.detail for proof in proofs)


class TestLifting:
    """Only a proof of every way opens again."""

    async def test_it_opens_when_all_hold(self, tmp_path: Path) -> None:
        """People are told of both, once each."""
        async with proving(tmp_path) as world:
            lockdown = world.gate.execution.guard.lockdown
            lockdown.engage("why", by="ana")
            await world.prover.alarm.sound()
            await world.prover.alarm.sound()

            assert "" == await world.prover.lift("uid:0")
            assert lockdown.state() is None
            assert isinstance(await world.gate.submit(request("touch x")), Pending)
            assert ["on", "off"] == [record["state"] for record in world.journal("lockdown")]
            channel = MemoryChannel()
            async with sending(world.gate, channel):
                await until(lambda: len(channel.shown) >= 3)
        words = [shown.notice.text.text for shown in channel.shown.values() if shown.notice]
        assert 2 == len(words)
        assert "locked down" in words[0]
        assert words[0].endswith("It was locked by ana.")
        assert "accepts requests again" in words[1]

    async def test_a_broken_gate_stays_locked(self, tmp_path: Path) -> None:
        """Also after a restart, until it is fixed."""
        async with proving(tmp_path, broken=True) as world:
            await world.states()
            assert "let through" in await world.prover.lift("uid:0")
        async with proving(tmp_path, broken=True) as world:
            assert "let through" in await world.prover.lift("uid:0")
            assert world.gate.execution.guard.lockdown.state() is not None
        async with proving(tmp_path) as world:
            assert isinstance(await world.gate.submit(request("touch x")), Denied)
            assert "" == await world.prover.lift("uid:0")
            assert isinstance(await world.gate.submit(request("touch x")), Pending)

    async def test_what_cannot_be_proved_is_not_opened(self, tmp_path: Path) -> None:
        """The sentence names the way."""
        async with proving(tmp_path) as world:
            world.gate.execution.guard.lockdown.engage("why", by="ana")
            (tmp_path / "gateway.sock").unlink()
            assert (await world.prover.lift("uid:0")).startswith("socket: ")
            world.prover.entry_points.clear()
            assert await world.prover.lift("uid:0")
            assert world.gate.execution.guard.lockdown.state() is not None

    async def test_who_locks_meanwhile_is_heard(self, tmp_path: Path) -> None:
        """A panic button pressed during the proof counts."""
        async with proving(tmp_path) as world:
            lockdown = world.gate.execution.guard.lockdown
            lockdown.engage("first", by="ana")

            async def presses(mark: Mark) -> ProofAnswer:
                lockdown.engage("again", by="bob")
                await world.gate.submit(request(argv=mark.argv))
                return ProofAnswer.HELD

            world.prover.add(Way("slow", presses))
            assert "again in the meantime" in await world.prover.lift("uid:0")
            assert lockdown.state() is not None

    async def test_a_program_may_lock_and_never_lift(self, tmp_path: Path) -> None:
        """Over the socket, without a terminal; the journal names who locked."""
        async with proving(tmp_path) as world:
            engaged = await _call(world, "lockdown.engage", {"why": "runs wild"})
            again = await _call(world, "lockdown.engage", {})
            lifted = await _call(world, "lockdown.lift", {})
            stands = await _call(world, "lockdown.get", {})

        assert (True, False, False) == (engaged["done"], again["done"], lifted["done"])
        assert (True, "runs wild") == (stands["locked"], stands["why"])
        assert ["runs wild"] == [record["why"] for record in world.journal("lockdown")]


async def test_two_rounds_at_once_take_turns(tmp_path: Path) -> None:
    """The clock's round and a person's do not disturb each other."""
    async with proving(tmp_path) as world:
        rounds = await asyncio.gather(*(world.states() for _ in range(4)))

    assert [ALL] * 4 == rounds
