"""Decide by what a program can do, as far as that is known of the system's own."""

from core.model.decision import Decision
from core.policy.matching.matchers import Called, EffectMatch
from core.programs.profiles.carrier_profile import Effect
from tests.support.tables import rows

RM, OWN, UNKNOWN = "/usr/bin/rm", "/opt/rm", "/usr/bin/nosuch"


@rows(
    "path, real, effect, allowing, denying",
    [
        (RM, RM, Effect.WRITES, Decision.ALLOW, Decision.DENY),
        (RM, RM, Effect.NETWORK, None, None),
        (OWN, OWN, Effect.WRITES, None, Decision.DENY),
        (OWN, OWN, Effect.NETWORK, None, Decision.ASK),
        (RM, OWN, Effect.WRITES, None, Decision.DENY),
        (OWN, RM, Effect.NETWORK, None, Decision.ASK),
        (UNKNOWN, UNKNOWN, Effect.READS, None, Decision.ASK),
        (RM, UNKNOWN, Effect.WRITES, None, Decision.DENY),
        (UNKNOWN, RM, Effect.READS, None, Decision.ASK),
        ("/usr/bin/xargs", "/usr/bin/xargs", Effect.RUNS, Decision.ALLOW, Decision.DENY),
        ("/usr/bin/xargs", "/usr/bin/xargs", Effect.NETWORK, None, Decision.ASK),
    ],
)
def test_what_follows_from_an_effect(
    path: str, real: str, effect: Effect, allowing: Decision | None, denying: Decision | None
) -> None:
    """To allow, all must be known; to deny, what is unknown or runs others is asked about."""
    argv, program = (path, "x"), Called(path, path, real)
    match = EffectMatch(effect)

    assert match.decide(argv, program, Decision.ALLOW) is allowing
    assert match.decide(argv, program, Decision.DENY) is denying
