"""Check what guards the gate: the last proof of each entry point, and the lockdown."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.gate_proof.entry_points import in_order
from bot.gate_proof.prover import Proof, ProofState, Prover
from bot.health.check import Finding, Verdict
from core.gate.guards.lockdown import Lockdown
from core.text.render import redact

_FIRST_S = 30.0
"""Seconds that the first proof may take before its absence is a fault."""
_LATE = 3


def lockdown(kept: Lockdown) -> Finding:
    """Return whether everything is locked down, and why."""
    locked = kept.state()
    if locked is None:
        return Finding(Verdict.OK, "lockdown", "off")
    return Finding(Verdict.FAIL, "lockdown", redact(locked.sentence).text)


@dataclass(slots=True)
class GateProbe:
    """Checks the prover's last round. ``every_s``: the time between rounds, ``None``: only one."""

    prover: Prover
    every_s: float | None
    _since: float = field(default_factory=time.monotonic)

    async def __call__(self) -> Sequence[Finding]:
        """Return one finding for each entry point, and one for the lockdown."""
        names = in_order(one.name for one in self.prover.entry_points)
        return (lockdown(self.prover.guard.lockdown), *map(self._proof, names))

    def _proof(self, name: str) -> Finding:
        subject, proof = f"gate proof {name}", self.prover.last.get(name)
        if proof is None:
            early = time.monotonic() - self._since < _FIRST_S
            return Finding.when(early, subject, "not proved yet")
        ago_s = time.time() - proof.at_ms / 1000
        words = f"{proof.state} {max(0, round(ago_s))} s ago: {redact(proof.detail).text}"
        held = proof.state is ProofState.HELD and not self._is_late(ago_s)
        return Finding.when(held, subject, words)

    def _is_late(self, ago_s: float) -> bool:
        return self.every_s is not None and ago_s > _LATE * self.every_s + _FIRST_S

    def shown(self) -> dict[str, object]:
        """Return the last proofs and the lockdown with their numbers, for programs."""
        locked = self.prover.guard.lockdown.state()
        shut = None
        if locked is not None:
            why = redact(locked.why).text
            by = redact(locked.by).text
            shut = {"sinceMs": locked.at_ms, "why": why, "by": by, "way": locked.entry_point}
        proofs = {name: _proof(self.prover.last[name]) for name in in_order(self.prover.last)}
        return {"gateProofs": proofs, "lockdown": shut}


def _proof(proof: Proof) -> dict[str, object]:
    return {
        "state": proof.state,
        "detail": redact(proof.detail).text,
        "atMs": proof.at_ms,
        "tookMs": proof.took_ms,
    }
