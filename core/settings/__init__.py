"""Define core's own part of the configuration: strict, frozen, unknown keys refused.

Keys are camelCase in files (``askFallback``) and snake_case in Python. Durations are seconds in
files and milliseconds behind ``…_ms`` properties. Reading files and the environment is the work of
``bot.settings``; nothing here does I/O. A field's description is its line in
``docs/reference/configuration.md`` and ``config.example.json5``.

::

    base            the strictness that all sections share
    execution       `tools.exec`
    rules           rules, capabilities and skills
    approvals       `approvals.exec`;  quiet_hours and session_filter: keys of it
    sandbox         `sandbox`
    isolation       `execution`: agents' commands as other users
    gateway         `intake`, `proof`, `remote`, `nodes`, `store`, `audit`, `logging`
    http            `http`
"""

from pydantic import Field

from core.model.identity import AgentId
from core.model.policy import PolicyLayer
from core.settings.approvals import ApprovalsSection
from core.settings.base import Section
from core.settings.execution import AgentsSection, ToolsSection
from core.settings.gateway import (
    AuditSection,
    IntakeSection,
    LoggingSection,
    NodeSection,
    NodesSection,
    ProofSection,
    RemoteSection,
    StoreSection,
)
from core.settings.http import HttpSection
from core.settings.isolation import ExecutionSection, SecretsSection
from core.settings.rules import SkillsSection
from core.settings.sandbox import SandboxSection


class CoreSettings(Section):
    """All of core's sections; ``bot.settings`` adds the channels and the home folder."""

    tools: ToolsSection = Field(
        default_factory=ToolsSection, description="the tools that agents may use"
    )
    agents: AgentsSection = Field(
        default_factory=AgentsSection, description="settings of single agents"
    )
    approvals: ApprovalsSection = Field(
        default_factory=ApprovalsSection, description="how people are asked"
    )
    skills: SkillsSection = Field(
        default_factory=SkillsSection, description="the programs of agents' skills"
    )
    http: HttpSection = Field(
        default_factory=HttpSection, description="the API over HTTP and WebSocket"
    )
    intake: IntakeSection = Field(
        default_factory=IntakeSection, description="other users of this machine who may ask"
    )
    proof: ProofSection = Field(
        default_factory=ProofSection,
        description="gate proofs: tests that nothing bypasses the gate",
    )
    remote: RemoteSection = Field(
        default_factory=RemoteSection, description="exec for other machines' agents"
    )
    node: NodeSection = Field(
        default_factory=NodeSection, description="this machine as a node of another gateway"
    )
    nodes: NodesSection = Field(
        default_factory=NodesSection, description="other machines that take whole requests"
    )
    execution: ExecutionSection = Field(
        default_factory=ExecutionSection, description="who commands of the host gateway run as"
    )
    secrets: SecretsSection = Field(
        default_factory=SecretsSection, description="what agents need and never hold"
    )
    sandbox: SandboxSection = Field(
        default_factory=SandboxSection, description="settings of the sandbox host"
    )
    store: StoreSection = Field(default_factory=StoreSection, description="where state is stored")
    audit: AuditSection = Field(default_factory=AuditSection, description="the journal")
    logging: LoggingSection = Field(default_factory=LoggingSection, description="the gateway's log")

    def exec_layers(self, agent: AgentId) -> tuple[PolicyLayer, ...]:
        """Return the agent's layer, if it has one, then the global one: first set wins (S0)."""
        own = self.agents.exec_layer(agent)
        everyone = self.tools.exec.layer("tools.exec")
        return (everyone,) if own is None else (own, everyone)
