"""Prove the listener for other machines by a signed request that must be denied."""

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.factories.remote_exec import LOG_NAME, RemoteExec, remote_exec
from bot.gate_proof.entry_points import ProofAnswer
from bot.gate_proof.prover import ProofState
from bot.gate_proof.remote import RemoteEntryPoint, watched
from bot.settings import load
from core.gate.guards.lockdown import NAME, Lockdown
from core.gate.guards.marks import FOLDER, Mark
from core.remote.denials import RemoteDenial
from core.remote.host.admission import ORDER, SENDER, AdmissionContext, Condition, matches
from core.remote.host.service import Service
from core.remote.trust.contacts import FILE
from core.remote.trust.envelope import Opened
from core.runner.runner import Runner
from tests.bot.gate_proof.proving import Forgetful, Proving, proving


@dataclass
class Listener:
    """A gate that serves other machines, and proves only that way."""

    world: Proving
    remote: RemoteExec

    @property
    def service(self) -> Service:
        """Return the part that serves them."""
        assert self.remote.service is not None
        return self.remote.service

    @property
    def entry_point(self) -> RemoteEntryPoint:
        """Return the first listener's entry point."""
        found = self.world.prover.entry_points[0]
        assert isinstance(found, RemoteEntryPoint)
        return found

    def log(self) -> list[dict[str, Any]]:
        """Return the exec log."""
        lines = (self.world.home / LOG_NAME).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


@asynccontextmanager
async def listener(
    home: Path, *listen: str, acl: str = "[exec]\nenabled = true\n"
) -> AsyncIterator[Listener]:
    """Open the listeners of a host."""
    (home / "acl.toml").write_text(acl)
    config = {"remote": {"acl": "acl.toml", "listen": listen or ["127.0.0.1:0"]}}
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)
    async with proving(home) as world:
        runner = Runner(guard=world.gate.execution.guard)
        await runner.start()
        world.prover.entry_points.clear()
        planner, settings = world.gate.planner, load(home, environ={})
        try:
            async with remote_exec(settings, runner, planner, world.prover) as remote:
                yield Listener(world, remote)
        finally:
            await runner.stop()


@pytest.mark.parametrize(
    ("acl", "denial"),
    [
        ("[exec]\nenabled = true\n", "argv_not_allowed"),
        ("[exec]\nenabled = false\n", "exec_disabled"),
    ],
)
async def test_every_listener_denies_the_marked_vector(
    tmp_path: Path, acl: str, denial: str
) -> None:
    """By TLS and on a Unix socket, past signature, trust and pair, where the list is read."""
    async with listener(tmp_path, "127.0.0.1:0", f"unix:{tmp_path}/exec.sock", acl=acl) as host:
        proofs = await host.world.prover.prove()
        names = [f"remote {address}" for address in host.remote.listening]

    assert [(name, ProofState.HELD, f"denied ({denial})") for name in names] == [
        (proof.entry_point, proof.state, proof.detail) for proof in proofs
    ]
    assert Lockdown(tmp_path / NAME).state() is None


async def test_the_proof_is_a_machine_that_nobody_stores_and_that_may_run_nothing(
    tmp_path: Path,
) -> None:
    """No contact, key or pair of it is left; the exec log has its denials."""
    async with listener(tmp_path) as host:
        before = {path.name for path in tmp_path.iterdir()}
        await host.world.states()
        other = await host.entry_point.submit(Mark("remote", "0" * 32, ("true",)))
        pairs = host.remote.acl.entries if host.remote.acl else None
        kinds = [record["kind"] for record in host.log()]
        counted = host.remote.counters

    assert ProofAnswer.HELD is other
    assert {} == pairs
    assert {FOLDER} == {path.name for path in tmp_path.iterdir()} - before
    assert not (tmp_path / FILE).exists()
    assert ["requested", "denied"] * 2 == kinds
    assert (0, {RemoteDenial.ARGV_NOT_ALLOWED: 2}) == (counted.started, counted.denied)


async def test_a_lockdown_is_lifted_when_the_listener_holds(tmp_path: Path) -> None:
    """The lock itself keeps no proof from being judged."""
    async with listener(tmp_path) as host:
        lockdown = host.world.gate.execution.guard.lockdown
        lockdown.engage("why", by="ana")
        assert "" == await host.world.prover.lift("uid:0")
        assert lockdown.state() is None


class TestBroken:
    """Break the listener on purpose: one proof later all is locked down, and people are told."""

    @pytest.mark.parametrize("without", ["the list", "caps and list", "any condition"])
    async def test_a_listener_that_lets_through(self, tmp_path: Path, without: str) -> None:
        """A list that is shown and not enforced; the guard stops the marked vector itself."""
        async with listener(tmp_path) as host:
            rest: dict[str, tuple[Condition, ...]] = {
                "the list": tuple(one for one in ORDER if one is not matches)
            }
            marks = host.world.gate.execution.guard.marks
            host.service.order = watched(marks, rest.get(without, ()))
            if without == "any condition":
                host.service.sender = ()
            await self._is_found(host)
            assert "started" not in {record["kind"] for record in host.log()}

    async def test_without_any_guard_the_first_frame_tells(self, tmp_path: Path) -> None:
        """That the run was accepted is enough."""
        async with listener(tmp_path) as host:
            host.service.order = ()
            host.world.gate.execution.guard.marks._drawn = Forgetful()
            await self._is_found(host)

    async def test_a_listener_that_let_it_through_and_could_not_start_it(
        self, tmp_path: Path
    ) -> None:
        """That it ran into a missing folder is luck, and not a gate."""
        acl = f'[exec]\nenabled = true\ndefault_cwd = "{tmp_path}/absent"\n'
        async with listener(tmp_path, acl=acl) as host:
            host.service.order = ()
            await self._is_found(host)

    async def test_a_listener_that_runs_it_and_says_that_it_was_denied(
        self, tmp_path: Path
    ) -> None:
        """The witness on disk shows it."""

        def lies(_: AdmissionContext, request: Opened) -> RemoteDenial:
            assert request.payload.run is not None
            subprocess.run(request.payload.run.argv, check=True)
            return RemoteDenial.ARGV_NOT_ALLOWED

        async with listener(tmp_path) as host:
            host.service.order = watched(host.world.gate.execution.guard.marks, (lies,))
            await self._is_found(host)
            assert not list((tmp_path / FOLDER).iterdir())

    async def _is_found(self, host: Listener) -> None:
        way = host.entry_point.name
        assert {way: "ran"} == await host.world.states()
        locked = Lockdown(host.world.home / NAME).state()
        assert locked is not None
        assert way == locked.entry_point
        told = [(one["state"], one["way"]) for one in host.world.journal("lockdown")]
        assert [("on", way)] == told
        assert 1 == host.world.rows()["outbox"]


class TestIncomplete:
    """What proves nothing is reported, and locks nothing."""

    async def test_a_listener_that_denies_everybody_unread(self, tmp_path: Path) -> None:
        """An answer alone proves nothing: the listener's conditions must have judged the vector."""
        async with listener(tmp_path) as host:
            host.service.sender = (lambda *_: RemoteDenial.UNTRUSTED,)
            (proof,) = await host.world.prover.prove()
        self._is_told(proof.state, proof.detail, "did not reach", tmp_path)

    async def test_a_listener_that_is_shut(self, tmp_path: Path) -> None:
        """Nothing answers there."""
        async with listener(tmp_path, f"unix:{tmp_path}/exec.sock") as host:
            (tmp_path / "exec.sock").unlink()
            (proof,) = await host.world.prover.prove()
        self._is_told(proof.state, proof.detail, "Cannot connect", tmp_path)

    async def test_contacts_that_cannot_be_read(self, tmp_path: Path) -> None:
        """Then no one is trusted, which holds as well."""
        async with listener(tmp_path) as host:
            (tmp_path / FILE).write_text("{")
            (proof,) = await host.world.prover.prove()
        assert (ProofState.HELD, "denied (untrusted)") == (proof.state, proof.detail)

    async def test_a_listener_whose_log_cannot_be_written(self, tmp_path: Path) -> None:
        """Nothing is judged there; the detail says why."""
        async with listener(tmp_path) as host:
            host.service.log.close()
            (proof,) = await host.world.prover.prove()
        self._is_told(proof.state, proof.detail, "cannot write its exec log", tmp_path)

    @staticmethod
    def _is_told(state: ProofState, detail: str, words: str, home: Path) -> None:
        assert ProofState.INCOMPLETE is state
        assert words in detail
        assert Lockdown(home / NAME).state() is None


async def test_a_request_of_anybody_else_leaves_the_marks_alone(tmp_path: Path) -> None:
    """The watched conditions decide as before."""
    async with listener(tmp_path) as host:
        marks = host.world.gate.execution.guard.marks
        assert len(SENDER) == len(host.service.sender)
        mark = marks.draw("remote", "/usr/bin/touch", str(tmp_path))
        near = Mark("remote", mark.nonce, (*mark.argv, mark.argv[-1]))
        assert ProofAnswer.HELD is await host.entry_point.submit(near)
        assert mark.judged is None
        assert ProofAnswer.HELD is await host.entry_point.submit(mark)
        assert (RemoteDenial.ARGV_NOT_ALLOWED, False) == (mark.reason, mark.started)
