"""Prove every entry point: create a mark, send it, check that it is held; else lock down."""

import asyncio
import logging
import os
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from bot.gate_proof.alarm import Alarm
from bot.gate_proof.entry_points import EntryPoint, ProofAnswer
from core.errors import SaysoError
from core.gate.guards.marks import FOLDER, Mark, is_number
from core.gate.guards.spawn_guard import Guard
from core.model.command import PinnedFile
from core.model.decision import Decision, Reason
from core.planning.paths.search_path import SearchPath
from core.ports import Journal

_log = logging.getLogger(__name__)
_PROGRAM = "touch"
_MISSES = 3
"""Number of rounds in which an entry point may fail to answer before people are notified."""
_HELD = {Decision.ASK: "a person would be asked", Decision.DENY: "denied"}


class ProofState(StrEnum):
    """How one proof of one entry point ended."""

    HELD = "held"
    RAN = "ran"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Proof:
    """One proof of one entry point: how it ended, when (epoch ms), after how long, and why."""

    entry_point: str
    state: ProofState
    detail: str
    at_ms: int
    took_ms: int


@dataclass(slots=True)
class Prover:
    """Proves the entry points of one gateway, one round at a time.

    ``home`` is where the witnesses would be; ``patience_s`` limits each proof, and so the round.
    """

    guard: Guard
    journal: Journal
    alarm: Alarm
    home: Path
    search_path: tuple[str, ...]
    patience_s: float
    entry_points: list[EntryPoint] = field(default_factory=list)
    last: dict[str, Proof] = field(default_factory=dict)
    _misses: dict[str, int] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def add(self, entry: EntryPoint) -> None:
        """Add an entry point to prove from the next round on."""
        self.entry_points.append(entry)

    async def by_time(self) -> None:
        """Prove once more; a failed round is logged, and the next one comes all the same."""
        try:
            await self.prove()
        except Exception:  # noqa: BLE001 - logged whole; a proof that dies must not end the others
            _log.exception("the gate proof failed")

    async def prove(self) -> tuple[Proof, ...]:
        """Prove every entry point once and return how it ended; what ran locks everything down.

        Raises:
            SaysoError: the round, or the lockdown that it caused, could not be recorded.
        """
        async with self._turn:
            proofs = await self._round()
        self.last.update((proof.entry_point, proof) for proof in proofs)
        await self.alarm.sound()
        await self._report_misses(proofs)
        ended = {proof.entry_point: f"{proof.state}: {proof.detail}" for proof in proofs}
        await self.journal.append("proof", {"ways": ended})
        return proofs

    async def lift(self, by: str) -> str:
        """Lift the lockdown if the proof of every entry point now passes; return the result.

        Raises:
            SaysoError: it could not be proved, lifted or recorded; it stays locked.
        """
        lockdown = self.guard.lockdown
        if lockdown.state() is None:
            return ""
        alarms = lockdown.alarms
        proofs = await self.prove()
        failed = [
            f"{one.entry_point}: {one.detail}" for one in proofs if one.state is not ProofState.HELD
        ]
        if failed or not proofs or lockdown.alarms != alarms:
            return "; ".join(failed) or "it was locked down again in the meantime"
        lockdown.lift()
        await self.alarm.lifted(by)
        return ""

    async def _round(self) -> tuple[Proof, ...]:
        entries = tuple(self.entry_points)
        try:
            program, folder = self._prepared()
            self._look_for_late()
        except (SaysoError, OSError) as failure:
            return tuple(
                _proof(entry.name, ProofState.INCOMPLETE, str(failure)) for entry in entries
            )
        return tuple(
            await asyncio.gather(*(self._one(entry, program, folder) for entry in entries))
        )

    def _prepared(self) -> tuple[str, str]:
        found = SearchPath(self.search_path).find(_PROGRAM, "/")
        if not isinstance(found, PinnedFile):
            raise SaysoError(f"`{_PROGRAM}` {found.why}; add its folder to tools.exec.searchPath")
        folder = self.home / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        return found.path, str(folder)

    def _look_for_late(self) -> None:
        """Find the witness of a mark that ran after its proof was over."""
        with os.scandir(self.home / FOLDER) as entries:
            names = [one.name for one in entries if is_number(one.name) and one.is_file()]
        for name in names:
            mark = self.guard.marks.by_number(name) or Mark("unknown", name, (_PROGRAM, name))
            self.guard.trip(mark)
            (self.home / FOLDER / name).unlink()

    async def _one(self, entry: EntryPoint, program: str, folder: str) -> Proof:
        """Prove an entry point; if the machine may only have been suspended, do so once more.

        Use another mark, because to the gate a known one is an ordinary command.
        """
        proof = await self._tried(entry, program, folder)
        if proof.state is ProofState.INCOMPLETE:
            return await self._tried(entry, program, folder)
        return proof

    async def _tried(self, entry: EntryPoint, program: str, folder: str) -> Proof:
        mark = self.guard.marks.draw(entry.name, program, folder)
        began = time.monotonic()
        answer, why = await self._submitted(entry, mark)
        took_ms = round((time.monotonic() - began) * 1000)
        return self._seen(mark, answer, why, took_ms)

    async def _submitted(self, entry: EntryPoint, mark: Mark) -> tuple[ProofAnswer | None, str]:
        try:
            async with asyncio.timeout(self.patience_s):
                return await entry.submit(mark), ""
        except TimeoutError:
            return None, "no answer in time"
        except Exception as failure:  # noqa: BLE001 - whatever one does, the others are proved
            return None, str(failure) or type(failure).__name__

    def _seen(self, mark: Mark, answer: ProofAnswer | None, why: str, took_ms: int) -> Proof:
        """Return how a proof ended, by the worst of what gate, answer and witness report."""
        ran = answer is ProofAnswer.RAN or os.path.lexists(mark.witness)
        if ran:
            self.guard.trip(mark)
            Path(mark.witness).unlink(missing_ok=True)
        if mark.started:
            return _proof(
                mark.entry_point, ProofState.RAN, "the marked command was let through", took_ms
            )
        if answer is None or mark.judged is None or mark.reason is Reason.EXECUTABLE_NOT_FOUND:
            detail = why or "the marked command did not reach the policy"
            return _proof(mark.entry_point, ProofState.INCOMPLETE, detail, took_ms)
        detail = f"{_HELD[mark.judged]} ({mark.reason})"
        return _proof(mark.entry_point, ProofState.HELD, detail, took_ms)

    async def _report_misses(self, proofs: tuple[Proof, ...]) -> None:
        """Notify people of an entry point that could not be proved three times in a row, once."""
        for proof in proofs:
            missed = proof.state is ProofState.INCOMPLETE
            misses = self._misses.get(proof.entry_point, 0) + 1 if missed else 0
            self._misses[proof.entry_point] = misses
            if misses == _MISSES:
                words = (
                    f"The gate proof of the entry point {proof.entry_point!r} failed {_MISSES} "
                    f"times in a row: {proof.detail}. Run `sayso doctor`."
                )
                _log.error("%s", words)
                await self.alarm.announcer.tell(words, f"proof:{proof.entry_point}:{proof.at_ms}")


def _proof(entry_point: str, state: ProofState, detail: str, took_ms: int = 0) -> Proof:
    return Proof(entry_point, state, detail, time.time_ns() // 1_000_000, took_ms)
