"""Make tokens and call methods with them, on a real gate and store."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from bot.factories.remote_exec import RemoteExec
from bot.intake.callers.bearer import Bearers
from bot.intake.callers.caller import Caller
from bot.intake.methods.audit import AuditMethods, Rotate
from bot.intake.methods.policy import BacktestMethods
from bot.intake.methods.remote import RemoteMethods
from bot.intake.registry.method import Table, invoke
from bot.intake.table import method_table
from bot.policy_tools.draft_backtest import DraftBacktests
from core.gate.gate import Gate
from core.isolation.terminal.terminals import Terminals
from core.model.access import Scope
from core.model.identity import Intake
from core.store.people import people, tokens
from core.store.people.tokens import TokenDraft

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost

ASK, LOOK, DECIDE, RULE = Scope.REQUEST, Scope.READ, Scope.APPROVE, Scope.ADMIN


async def no_health() -> dict[str, object]:
    """Report that no part is known."""
    return {"ok": True, "pid": 1, "parts": {}, "openSurfaces": 0}


@dataclass(frozen=True, slots=True)
class Api:
    """A gate with its methods, as callers with tokens see them."""

    gate: Gate
    table: Table

    @classmethod
    def of(
        cls, gate: Gate, node_host: "NodeHost | None" = None, terminals: Terminals | None = None
    ) -> "Api":
        """Return the API of a gate."""
        remote = RemoteMethods(
            cast("RemoteExec", None), gate.journal, gate.execution.guard.lockdown
        )  # what it does is tested elsewhere
        audit = AuditMethods(cast("Rotate", None), Path("audit.jsonl"))
        backtests = BacktestMethods(cast("DraftBacktests", None))
        more = (remote, audit, backtests)
        table = method_table(gate, no_health, more, node_host=node_host, terminals=terminals)
        return cls(gate, table)

    async def token(
        self, name: str, *scopes: Scope, agent: str | None = None, person: str | None = None
    ) -> str:
        """Make a token and return its text; add the person if needed."""
        if person is not None:
            await self.gate.store.write(people.add, person)
        wish = TokenDraft(name, frozenset(scopes), agent, person, "uid:0")
        return (await self.gate.store.write(tokens.create, wish)).text

    async def caller(
        self,
        name: str,
        *scopes: Scope,
        agent: str | None = None,
        person: str | None = None,
        intake: Intake = Intake.HTTP,
    ) -> Caller:
        """Make a token and return the caller that it admits."""
        text = await self.token(name, *scopes, agent=agent, person=person)
        return await self.holder(text, intake)

    async def holder(self, text: str, intake: Intake = Intake.HTTP) -> Caller:
        """Return the caller that a token's text admits."""
        return await Bearers(self.gate.store).caller(text, intake)

    async def call(self, caller: Caller, method: str, /, **params: object) -> dict[str, object]:
        """Call a method; ``None`` means that a param is left out."""
        given = {key: value for key, value in params.items() if value is not None}
        answer = await invoke(self.table[method], given, caller)
        assert isinstance(answer, dict)
        return answer

    async def ask(self, caller: Caller, command: str, cwd: Path, **more: object) -> str:
        """Ask for a command that a person must allow; return the approval's id."""
        wish = {"command": command, "cwd": str(cwd), **more}
        asked = await self.call(caller, "exec.approval.request", **wish)
        assert asked["status"] == "pending", asked
        return str(asked["id"])
