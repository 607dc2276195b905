"""Show, engage and lift the lockdown.

Everybody may engage it: it can only make Sayso stricter. Only a person at a terminal of this
machine may lift it (docs/decisions/0009), and only if a proof of every way in holds then.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from bot.gate_proof.prover import Prover
from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.people import CHANGE, PERSON, RULES
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import NoParams, Params
from bot.intake.results import results
from core.errors import SaysoError
from core.gate import Gate
from core.gate.guards.lockdown import Lockdown, Locked
from core.model.access import PEOPLES_SCOPES, Scope

_log = logging.getLogger(__name__)
_LONGEST_WHY = 500
_LOOKS = frozenset({Scope.READ, *PEOPLES_SCOPES})


class EngageParams(Params):
    """``lockdown.engage``: why, in the words of whoever does it."""

    why: str = Field(
        default="", max_length=_LONGEST_WHY, description="the reason, shown with every denial"
    )


@dataclass(frozen=True, slots=True)
class LockdownMethods:
    """The methods about the lockdown; ``prover`` proves the gate before it is lifted."""

    gate: Gate
    askers: Askers
    prover: Prover | None

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="lockdown.get",
                params=NoParams,
                scopes=_LOOKS,
                handler=self.get,
                summary="Report whether Sayso is locked down, since when and why.",
                answer='`{"locked", "sinceMs", "why", "by", "way"}`; all but `locked` may be null',
            ),
            Method(
                name="lockdown.engage",
                params=EngageParams,
                scopes=PEOPLES_SCOPES,
                handler=self.engage,
                summary="Deny every request from now on; running commands continue.",
                answer=CHANGE,
            ),
            Method(
                name="lockdown.lift",
                params=NoParams,
                scopes=RULES,
                handler=self.lift,
                summary="Test every entry point, and accept requests again if all pass.",
                answer=f"{CHANGE}; only from a {PERSON}",
                local=True,
            ),
        )

    @property
    def _lockdown(self) -> Lockdown:
        return self.gate.execution.guard.lockdown

    async def get(self, _params: NoParams, _caller: Caller) -> object:
        """Return the status."""
        return shown(self._lockdown.state())

    async def engage(self, params: EngageParams, caller: Caller) -> object:
        """Lock, then notify everybody; it is locked even where that fails, and is tried again."""
        known = self._lockdown.state()
        why = params.why.strip() or "no reason given"
        locked = self._lockdown.engage(why, by=caller.ref)
        if self.prover is not None:
            try:
                await self.prover.alarm.sound()
            except SaysoError as failure:
                _log.error("cannot announce the lockdown yet: %s", failure)
        return results.change(locked.sentence, done=known is None)

    async def lift(self, _params: NoParams, caller: Caller) -> object:
        """Lift it for a person at a terminal if every way in holds."""
        locked = self._lockdown.state()
        if locked is None:
            return results.change("Not locked down.")
        if locked.passes:
            return results.change(locked.sentence, done=False)
        refusal = await self.askers.refusal(caller)
        if refusal is not None:
            return results.change(refusal, done=False)
        failed = await self._lifted(caller)
        if failed:
            words = f"Still locked down: the gate proof failed: {failed}."
            return results.change(words, done=False)
        return results.change("Every entry point passed; requests are accepted again.")

    async def _lifted(self, caller: Caller) -> str:
        if self.prover is None:
            return "no gate proof is available here"
        return await self.prover.lift(caller.ref)


def shown(locked: Locked | None) -> dict[str, object]:
    """Return a lockdown as programs read it."""
    if locked is None:
        return {"locked": False, "sinceMs": None, "why": None, "by": None, "way": None}
    return {
        "locked": True,
        "sinceMs": locked.at_ms,
        "why": results.safe(locked.why),
        "by": results.safe(locked.by),
        "way": results.safe(locked.way) or None,
    }
