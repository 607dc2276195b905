"""Look at what keeps the gate: the last proof of each way in, and the lockdown."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.gate_proof.entry_points import in_order
from bot.gate_proof.prover import Proof, ProofState, Prover
from bot.health.component import Part
from core.text.render import redact

_FIRST_S = 30.0
"""Seconds that the first proof may take before its absence is a fault."""
_LATE = 3


@dataclass(slots=True)
class GateLook:
    """Look at the prover's last round. ``every_s``: the time between rounds, ``None``: one only."""

    prover: Prover
    every_s: float | None
    _since: float = field(default_factory=time.monotonic)

    async def __call__(self) -> Mapping[str, Part]:
        """Return one part for each entry point, and one for the lockdown."""
        ways = in_order(way.name for way in self.prover.ways)
        proofs = {f"gate proof {name}": self._way(name) for name in ways}
        return {"lockdown": self._lockdown(), **proofs}

    def _lockdown(self) -> Part:
        locked = self.prover.guard.lockdown.state()
        return Part(True, "off") if locked is None else Part(False, redact(locked.sentence).text)

    def _way(self, name: str) -> Part:
        proof = self.prover.last.get(name)
        if proof is None:
            early = time.monotonic() - self._since < _FIRST_S
            return Part(early, "not proved yet")
        ago_s = time.time() - proof.at_ms / 1000
        words = f"{proof.state} {max(0, round(ago_s))} s ago: {redact(proof.detail).text}"
        return Part(proof.state is ProofState.HELD and not self._is_late(ago_s), words)

    def _is_late(self, ago_s: float) -> bool:
        return self.every_s is not None and ago_s > _LATE * self.every_s + _FIRST_S

    def shown(self) -> dict[str, object]:
        """Return the last proofs and the lockdown with their numbers, for programs."""
        locked = self.prover.guard.lockdown.state()
        shut = None
        if locked is not None:
            why = redact(locked.why).text
            by = redact(locked.by).text
            shut = {"sinceMs": locked.at_ms, "why": why, "by": by, "way": locked.way}
        proofs = {name: _proof(self.prover.last[name]) for name in in_order(self.prover.last)}
        return {"gateProofs": proofs, "lockdown": shut}


def _proof(proof: Proof) -> dict[str, object]:
    return {
        "state": proof.state,
        "detail": redact(proof.detail).text,
        "atMs": proof.at_ms,
        "tookMs": proof.took_ms,
    }
