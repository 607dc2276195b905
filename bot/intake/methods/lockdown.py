"""Show, engage and lift the lockdown.

Everybody may engage it: it can only make Sayso stricter. Only a person at a terminal of this
machine may lift it (docs/decisions/0009), and only if the proof of every entry point then passes.
"""

import logging
from dataclasses import dataclass

from pydantic import Field

from bot.gate_proof.prover import Prover
from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.people import PERSON, RULES
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import NoParams, Params
from bot.intake.results.answer import ChangeAnswer
from bot.intake.results.gateway import LockdownAnswer
from core.errors import SaysoError
from core.gate.guards.lockdown import Lockdown
from core.model.access import PEOPLES_SCOPES, Scope

_log = logging.getLogger(__name__)
_LONGEST_WHY = 500
_LOOKS = frozenset({Scope.READ, *PEOPLES_SCOPES})


class EngageParams(Params):
    """``lockdown.engage``: the reason, in the caller's words."""

    why: str = Field(
        default="", max_length=_LONGEST_WHY, description="the reason, shown with every denial"
    )


@dataclass(frozen=True, slots=True)
class LockdownMethods(Group):
    """The methods about the lockdown; ``prover`` proves the gate before it is lifted."""

    lockdown: Lockdown
    askers: Askers
    prover: Prover | None

    @handles(
        "lockdown.get",
        _LOOKS,
        "Report whether Sayso is locked down, since when and why.",
        urgent=True,
    )
    async def get(self, _params: NoParams, _caller: Caller) -> LockdownAnswer:
        """Return the status."""
        return LockdownAnswer.of(self.lockdown.state())

    @handles(
        "lockdown.engage",
        PEOPLES_SCOPES,
        "Deny every request from now on; running commands continue.",
        urgent=True,
    )
    async def engage(self, params: EngageParams, caller: Caller) -> ChangeAnswer:
        """Lock, then notify everybody; a failure to notify is retried and does not unlock."""
        known = self.lockdown.state()
        why = params.why.strip() or "no reason given"
        locked = self.lockdown.engage(why, by=caller.ref)
        if self.prover is not None:
            try:
                await self.prover.alarm.sound()
            except SaysoError as failure:
                _log.error("cannot announce the lockdown yet: %s", failure)
        return ChangeAnswer.of(locked.sentence, done=known is None)

    @handles(
        "lockdown.lift",
        RULES,
        "Test every entry point, and accept requests again if all pass.",
        note=f"only from a {PERSON}",
        local=True,
    )
    async def lift(self, _params: NoParams, caller: Caller) -> ChangeAnswer:
        """Lift the lockdown for a person at a terminal, if every entry point passes its proof."""
        locked = self.lockdown.state()
        if locked is None:
            return ChangeAnswer.of("Not locked down.")
        if locked.passes:
            return ChangeAnswer.of(locked.sentence, done=False)
        refusal = await self.askers.refusal(caller)
        if refusal is not None:
            return ChangeAnswer.of(refusal, done=False)
        failed = await self._lifted(caller)
        if failed:
            words = f"Still locked down: the gate proof failed: {failed}."
            return ChangeAnswer.of(words, done=False)
        return ChangeAnswer.of("Every entry point passed; requests are accepted again.")

    async def _lifted(self, caller: Caller) -> str:
        if self.prover is None:
            return "no gate proof is available here"
        return await self.prover.lift(caller.ref)
