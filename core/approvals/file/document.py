"""Interpret exec-approvals.json: settings and allowlists for each agent (S1)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.errors import ConfigError
from core.model.approval import AllowlistEntry
from core.model.identity import AgentId
from core.model.policy import AskFallback, ExecAsk, ExecSecurity, PolicyLayer
from core.policy.matching.argv_template import ArgvTemplate
from core.policy.rules.lint_entries import never_counts

_UNLISTED = AgentId("")
_USABLE = re.compile(r"~?(?:/(?!\.{1,2}(?:/|\Z))[^/\x00-\x1f\x7f]+)+")


@dataclass(frozen=True, slots=True)
class ExecSettings:
    """What the file sets for an agent or for all; ``None`` leaves the tools.exec value (S1)."""

    security: ExecSecurity | None = None
    ask: ExecAsk | None = None
    ask_fallback: AskFallback | None = None
    auto_allow_skills: bool | None = None


@dataclass(frozen=True, slots=True)
class AgentApprovals:
    """One agent's settings, and its entries without those that are ignored."""

    settings: ExecSettings = ExecSettings()
    allowlist: tuple[AllowlistEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalsDocument:
    """What exec-approvals.json says; ``warnings`` is one sentence for each thing to check.

    ``socket_path`` may start with ``~``. ``socket_token`` is a secret and stays out of ``repr``.
    ``socket_executes``: commands run in the context of the companion that listens there.
    """

    defaults: ExecSettings = ExecSettings()
    agents: Mapping[AgentId, AgentApprovals] = field(default_factory=dict)
    socket_path: str | None = None
    socket_token: str | None = field(default=None, repr=False)
    socket_executes: bool = False
    warnings: tuple[str, ...] = ()
    _layers: dict[AgentId, PolicyLayer] = field(default_factory=dict, repr=False, compare=False)

    def layer(self, agent: AgentId) -> PolicyLayer:
        """Return the file's policy layer for an agent: its own field, else the default's."""
        key = agent if agent in self.agents else _UNLISTED
        found = self._layers.get(key)
        if found is None:
            found = self._layers[key] = self._merged(agent)
        return found

    def _merged(self, agent: AgentId) -> PolicyLayer:
        own, shared = self.agents.get(agent, AgentApprovals()).settings, self.defaults
        return PolicyLayer(
            source=_source(agent, own, shared),
            security=own.security or shared.security,
            ask=own.ask or shared.ask,
            ask_fallback=own.ask_fallback or shared.ask_fallback,
        )

    def auto_allow_skills(self, agent: AgentId) -> bool:
        """Return whether an agent's skill programs count as listed (default: no)."""
        own = self.agents.get(agent, AgentApprovals()).settings.auto_allow_skills
        return bool(self.defaults.auto_allow_skills if own is None else own)

    def lint(self) -> tuple[str, ...]:
        """Return the warnings, and a sentence for each entry that hides what it would run."""
        return (*self.warnings, *self._never_counting())

    def _never_counting(self) -> Iterator[str]:
        for agent, part in self.agents.items():
            for entry in part.allowlist:
                why = never_counts(entry.pattern, entry.argv)
                if why is not None:
                    yield f"agents.{agent}.allowlist {entry.words!r} never counts: {why}"


def _source(agent: AgentId, own: ExecSettings, shared: ExecSettings) -> str:
    """Name the part of the file that the layer's settings come from, both parts if both."""
    pairs = (
        (own.security, shared.security),
        (own.ask, shared.ask),
        (own.ask_fallback, shared.ask_fallback),
    )
    from_own = any(mine for mine, _ in pairs)
    from_shared = any(theirs and not mine for mine, theirs in pairs)
    if from_own and from_shared:
        return f"exec-approvals.json agents.{agent} and defaults"
    return f"exec-approvals.json agents.{agent}" if from_own else "exec-approvals.json defaults"


def ignored_because(pattern: str, argv: Sequence[str] | None = None) -> str:
    """Return why an entry can never match, or return an empty string (S1 "Allowlist").

    The rule for patterns is that of ``core.policy.matching.path_patterns``; a test keeps the two in
    step.
    """
    if _USABLE.fullmatch(pattern):
        return _ill_written(argv)
    if "/" not in pattern:
        return "a name without a path never matches; write the program's full path"
    if not pattern.startswith(("/", "~/")):
        return "a relative path never matches; start it with / or ~/"
    if pattern.endswith("/"):
        return "a path that ends with / names a folder and never matches; add * after it"
    return "a path with .., // or a control character never matches"


def _ill_written(argv: Sequence[str] | None) -> str:
    if not argv:
        return ""
    try:
        ArgvTemplate.of_rule(argv)
    except ConfigError as error:
        return str(error).rstrip(".")
    return ""
