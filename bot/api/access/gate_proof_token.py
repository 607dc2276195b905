"""Hold the token with which a gateway calls itself over the network.

Tokens are stored by their hash and are made by people, so this process has its own instead: random,
never written anywhere, and good for nothing but to ask as an agent does.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.intake.callers.caller import Caller
from core.gate.guards.marks import SESSION
from core.model.access import Scope
from core.model.identity import API_CHANNEL, DEFAULT_AGENT, Intake, Requester

Check = Callable[[str, Intake], Awaitable[Caller]]
"""Return the caller that a token represents now, or raise ``Unauthenticated``."""


@dataclass(frozen=True, slots=True)
class ProvingToken:
    """The token that only this process has."""

    text: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def joined(self, check: Check) -> Check:
        """Return a check that accepts this token in addition to those of the store."""

        async def caller(text: str, intake: Intake) -> Caller:
            if hmac.compare_digest(text.encode(), self.text.encode()):
                return Caller(
                    requester=Requester(intake, f"{API_CHANNEL}:{SESSION}"),
                    actor=None,
                    scopes=frozenset({Scope.REQUEST}),
                    agents=frozenset({DEFAULT_AGENT}),
                    token=SESSION,
                )
            return await check(text, intake)

        return caller
