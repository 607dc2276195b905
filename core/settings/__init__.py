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

from core.model.identity import AgentId
from core.model.policy import PolicyLayer
from core.settings.approvals import ApprovalsSection
from core.settings.base import Section, section
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

    tools: ToolsSection = section(ToolsSection, "the tools that agents may use")
    agents: AgentsSection = section(AgentsSection, "settings of single agents")
    approvals: ApprovalsSection = section(ApprovalsSection, "how people are asked")
    skills: SkillsSection = section(SkillsSection, "the programs of agents' skills")
    http: HttpSection = section(HttpSection, "the API over HTTP and WebSocket")
    intake: IntakeSection = section(IntakeSection, "other users of this machine who may ask")
    proof: ProofSection = section(ProofSection, "gate proofs: tests that nothing bypasses the gate")
    remote: RemoteSection = section(RemoteSection, "exec for other machines' agents")
    node: NodeSection = section(NodeSection, "this machine as a node of another gateway")
    nodes: NodesSection = section(NodesSection, "other machines that take whole requests")
    execution: ExecutionSection = section(
        ExecutionSection, "who commands of the host gateway run as"
    )
    secrets: SecretsSection = section(SecretsSection, "what agents need and never hold")
    sandbox: SandboxSection = section(SandboxSection, "settings of the sandbox host")
    store: StoreSection = section(StoreSection, "where state is stored")
    audit: AuditSection = section(AuditSection, "the journal")
    logging: LoggingSection = section(LoggingSection, "the gateway's log")

    def exec_layers(self, agent: AgentId) -> tuple[PolicyLayer, ...]:
        """Return the agent's layer, if it has one, then the global one: first set wins (S0)."""
        own = self.agents.exec_layer(agent)
        everyone = self.tools.exec.layer("tools.exec")
        return (everyone,) if own is None else (own, everyone)
