"""Settings for ``tools.exec`` and overrides of single agents (S0 "Config surface")."""

import re
from typing import Annotated

from pydantic import Field, field_validator

from core.model.identity import AgentId
from core.model.policy import (
    DEFAULT_SAFE_BINS,
    AskFallback,
    ExecAsk,
    ExecHost,
    ExecSecurity,
    PolicyLayer,
    Trust,
)
from core.settings.approvals import PersonRefs, Quorum
from core.settings.base import (
    AbsolutePaths,
    AskWord,
    FallbackWord,
    HostWord,
    Seconds,
    Section,
    SecurityWord,
    TrustWord,
    Word,
    Words,
    milliseconds,
    section,
)
from core.settings.isolation import RuntimeSection
from core.settings.rules import CapabilitiesSection, OptionSets, RootEntry, Rules

DEFAULT_SEARCH_PATH = (
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
)
"""Where programs are looked up; the caller's PATH is never used."""

DEFAULT_RUN_SECONDS = 1800
DEFAULT_NOTICE_SECONDS = 10
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SETTINGS = ("host", "security", "ask", "ask_fallback", "node", "trust", "safe_bins")


class AgentExecSection(Section):
    """``agents.list[].tools.exec``: what one agent sets differently from ``tools.exec``."""

    host: HostWord | None = Field(default=None, description="this agent's host")
    security: SecurityWord | None = Field(default=None, description="what may run for this agent")
    ask: AskWord | None = Field(default=None, description="when a person is asked for this agent")
    ask_fallback: FallbackWord | None = Field(
        default=None, description="what decides for this agent when nobody can be asked"
    )
    node: Word | None = Field(default=None, description="this agent's node")
    trust: TrustWord | None = Field(
        default=None, description="this agent's trust in programs that can run others"
    )
    safe_bins: Words | None = Field(default=None, description="this agent's stdin-only programs")
    timeout: Seconds | None = Field(
        default=None, description="timeout of this agent's runs, in seconds"
    )
    rules: Rules = Field(default=(), description="rules in addition to those of tools.exec")

    def layer(self, source: str) -> PolicyLayer:
        """Return the settings that the configuration sets, and only those.

        A default is not a layer: the words that a person sees as a setting's source stay true.
        """
        given = self.model_fields_set
        settings = {name: getattr(self, name) for name in _SETTINGS if name in given}
        timeout = self.timeout if "timeout" in given else None
        timeout_ms = None if timeout is None else milliseconds(timeout)
        return PolicyLayer(source=source, timeout_ms=timeout_ms, **settings)


class ExecSection(AgentExecSection):
    """``tools.exec``: what may run where, and when a person is asked."""

    host: HostWord = Field(
        default=ExecHost.SANDBOX,
        description="where commands run: sandbox, gateway (this machine) or node",
    )
    security: SecurityWord = Field(
        default=ExecSecurity.DENY,
        description="what may run on gateway or node: deny (nothing), allowlist or full",
    )
    ask: AskWord = Field(
        default=ExecAsk.ON_MISS,
        description="when a person is asked: off, on-miss (not listed) or always",
    )
    ask_fallback: FallbackWord = Field(
        default=AskFallback.DENY,
        description="what decides when nobody can be asked: deny, allowlist or full (runs unasked)",
    )
    node: Word | None = Field(
        default=None,
        description="the node for commands when host is node; null: none",
    )
    trust: TrustWord = Field(
        default=Trust.STRICT,
        description="whether programs that can run others (git, find, make …) are trusted by path"
        " alone: strict (no) or classical (yes)",
    )
    safe_bins: Words = Field(
        default=DEFAULT_SAFE_BINS,
        description="programs that run without an allowlist entry while they only read their input",
    )
    timeout: Seconds = Field(
        default=DEFAULT_RUN_SECONDS,
        description="timeout of a run, in seconds",
    )
    rules: Rules = Field(
        default=(),
        description="what is decided about single commands, whatever is listed; the strictest rule "
        "that matches counts",
    )
    roots: Annotated[tuple[RootEntry, ...], Field(strict=False)] = Field(
        default=(), description="folders that rules name as <PATH:name>"
    )
    option_sets: OptionSets = Field(
        default_factory=dict,
        description="sets of options that rules name as <OPTS:name>, each with flags, values and "
        "clusters; curl-read is shipped",
    )
    search_path: AbsolutePaths = Field(
        default=DEFAULT_SEARCH_PATH,
        description="folders searched for programs; the caller's PATH is never used",
    )
    notice_after: Seconds = Field(
        default=DEFAULT_NOTICE_SECONDS,
        description="seconds after which a session is notified that its command is still running",
    )

    @property
    def timeout_ms(self) -> int:
        """Return the wall clock of a run in ms."""
        return milliseconds(self.timeout)

    @property
    def notice_after_ms(self) -> int:
        """Return the notice threshold in ms."""
        return milliseconds(self.notice_after)


class ElevatedSection(Section):
    """``tools.elevated``: full access for one session, switched on by a person in its chat."""

    enabled: bool = Field(
        default=False,
        description="whether senders may use /elevated, and /exec security=full",
    )


class ToolsSection(Section):
    """``tools``: the tools that agents may use."""

    exec: ExecSection = section(ExecSection, "running commands")
    elevated: ElevatedSection = section(ElevatedSection, "full access for one chat session")


class AgentToolsSection(Section):
    """``agents.list[].tools``: one agent's tools."""

    exec: AgentExecSection = section(AgentExecSection, "overrides of tools.exec")


class AgentEntry(Section):
    """``agents.list[]``: one agent."""

    id: AgentId = Field(description="the agent's name, as requests give it")
    tools: AgentToolsSection = section(AgentToolsSection, "overrides of tools")
    capabilities: CapabilitiesSection | None = Field(
        default=None,
        description="the only tools and files of this agent; null: no such limits",
    )
    runtime: RuntimeSection | None = Field(
        default=None,
        description="the program that answers this agent's prompts; null: it takes none",
    )
    approvers: PersonRefs | None = Field(
        default=None,
        description=(
            "the only people who may answer for this agent, in any channel; null: as for others"
        ),
    )
    quorum: Quorum | None = Field(
        default=None, description="how many people must allow for this agent; null: as for others"
    )

    @field_validator("id")
    @classmethod
    def _name(cls, agent: AgentId) -> AgentId:
        if _AGENT.fullmatch(agent) is None:
            raise ValueError("must be 1 to 64 letters, digits, dots, dashes or underscores")
        return agent


class AgentsSection(Section):
    """``agents``: the agents with settings of their own; all others use ``tools``."""

    entries: tuple[AgentEntry, ...] = Field(
        default=(),
        alias="list",
        strict=False,
        description="one entry for each agent with settings of its own",
    )

    @field_validator("entries")
    @classmethod
    def _each_once(cls, entries: tuple[AgentEntry, ...]) -> tuple[AgentEntry, ...]:
        seen: set[str] = set()
        for entry in entries:
            if entry.id in seen:
                raise ValueError(f"agent {entry.id!r} is listed twice; merge its entries")
            seen.add(entry.id)
        return entries

    def runtime(self, agent: AgentId) -> RuntimeSection | None:
        """Return how an agent is started, ``None`` where it takes no prompts."""
        return next((one.runtime for one in self.entries if one.id == agent), None)

    def exec_layer(self, agent: AgentId) -> PolicyLayer | None:
        """Return what the configuration sets for this agent, or ``None`` if it does not name it."""
        for entry in self.entries:
            if entry.id == agent:
                return entry.tools.exec.layer(f"agents.list[{agent}].tools.exec")
        return None
