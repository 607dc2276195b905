"""Tell what the gateway is, and what it would do."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from bot.explain.entry import REQUESTER, SESSION
from bot.explain.idle import idle_words
from bot.explain.rules import looks_of
from bot.explain.single import Explained, to_json
from bot.intake import results
from bot.intake.caller import Caller
from bot.intake.frames import AgentParams, NoParams
from bot.intake.methods import AnyMethod, Method
from bot.intake.questions import READS
from bot.intake.runs import FOLLOWS
from core.gate import Gate
from core.model.command import ExecOverrides, ExecRequest
from core.model.identity import DEFAULT_AGENT, AgentId
from core.model.policy import ExecHost
from core.runner.plan import Refusal


class ExplainParams(AgentParams):
    """``policy.explain``: one of ``command`` and ``argv``; nothing is run."""

    command: str | None = Field(default=None, description="a command line; this or `argv`")
    argv: Annotated[tuple[str, ...], Field(strict=False)] | None = Field(
        default=None, description="an argument vector; this or `command`"
    )
    cwd: str = Field(description="where it would run; absolute")
    host: Annotated[ExecHost, Field(strict=False)] | None = Field(
        default=None, description="as if the call named this host: sandbox, gateway or node"
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.command is None) == (self.argv is None):
            raise ValueError("give one of `command` and `argv`")
        return self


@dataclass(frozen=True, slots=True)
class OutlookMethods:
    """The methods that look and change nothing. ``health`` answers ``health.get``."""

    gate: Gate
    health: Callable[[], Awaitable[dict[str, object]]]

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="health.get",
                params=NoParams,
                scopes=READS,
                handler=self.get_health,
                summary="Tell how the gateway is.",
                answer='`{"ok", "parts"}`',
            ),
            Method(
                name="skills.bins",
                params=NoParams,
                scopes=READS,
                handler=self.skills,
                summary="List the programs that count as listed where `autoAllowSkills` is on.",
                answer=(
                    '`{"bins": [{"name", "path"}], "ignored": […]}`: the real paths, and why other '
                    "names do not count"
                ),
            ),
            Method(
                name="node.list",
                params=NoParams,
                scopes=READS,
                handler=self.nodes,
                summary="List the nodes that are paired with this gateway.",
                answer='`{"nodes": []}`: empty, as no node can be paired with this version',
            ),
            Method(
                name="policy.explain",
                params=ExplainParams,
                scopes=FOLLOWS,
                handler=self.explain,
                summary="Judge a command as the gateway would now; nothing is run or stored.",
                answer="as `sayso policy explain --json`",
            ),
        )

    async def get_health(self, _wish: NoParams, _caller: Caller) -> object:
        """Return the gateway's health."""
        return await self.health()

    async def skills(self, _wish: NoParams, _caller: Caller) -> object:
        """List the programs of skills that are trusted where autoAllowSkills is on (S1)."""
        found = self.gate.rulebook.compiled.skills
        return {"bins": results.bins(found), "ignored": [results.safe(one) for one in found.lint]}

    async def nodes(self, _wish: NoParams, _caller: Caller) -> object:
        """List the paired nodes: there is no way to pair one yet, so there is none."""
        return {"nodes": []}

    async def explain(self, wish: ExplainParams, _caller: Caller) -> object:
        """Judge a command as ``Gate.submit`` would, on the same thread; nothing comes of it."""
        return to_json(self._explained(wish))

    def _explained(self, wish: ExplainParams) -> Explained:
        agent = DEFAULT_AGENT if wish.agent is None else AgentId(wish.agent)
        request = ExecRequest(
            requester=REQUESTER,
            session=SESSION,
            cwd=wish.cwd,
            line=wish.command,
            argv=wish.argv,
            agent=agent,
            overrides=ExecOverrides(wish.host),
        )
        rulebook = self.gate.rulebook
        policy = rulebook.policy(request)
        plan = self.gate.planner.plan(request, policy)
        if isinstance(plan, Refusal):
            return Explained(policy, plan, agent)
        looks = looks_of(plan, rulebook.provisions(agent).rules)
        verdict = rulebook.judge(plan, policy)
        idle = idle_words(plan, rulebook.entries(agent))
        return Explained(policy, verdict, agent, looks, idle)
