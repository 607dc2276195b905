"""Name what one command is judged against, and what comes out."""

from collections.abc import Sequence
from typing import NamedTuple

from core.model.command import PlannedCommand
from core.model.decision import Decision, Reason, Tier
from core.model.policy import ExecPolicy, ExecSecurity
from core.policy.matching.allowlist import Allowlist
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.rules.compiled import NO_PROVISIONS, Provisions


class Verdict(NamedTuple):
    """One command's verdict; ``entries`` are those of the allowlist that let it pass."""

    decision: Decision
    reason: Reason
    rule: str
    tier: Tier = Tier.ROUTINE
    entries: tuple[str, ...] = ()


_FULL = Verdict(Decision.ALLOW, Reason.SECURITY_FULL, "security is full")
_SANDBOXED = Verdict(Decision.ALLOW, Reason.SANDBOXED, "the host is sandbox")


class Context(NamedTuple):
    """What a segment is judged against, in ``folder``. ``acl`` set: it alone decides (S4).

    ``sandboxed``: it runs in the sandbox, to which neither security nor lists apply (S0).
    """

    policy: ExecPolicy
    allowlist: Allowlist
    acl: Sequence[ArgvTemplate] | None = None
    provisions: Provisions = NO_PROVISIONS
    folder: str = "/"
    sandboxed: bool = False

    @property
    def free(self) -> Verdict | None:
        """Return the verdict on what no rule restricts, ``None`` where the lists decide."""
        if self.sandboxed:
            return _SANDBOXED
        return _FULL if self.policy.security is ExecSecurity.FULL else None

    def inside(self, command: PlannedCommand) -> "Context":
        """Return this for what a wrapper runs: it starts in the wrapper's own folder."""
        return self if command.cwd is None else self._replace(folder=command.cwd.path)
