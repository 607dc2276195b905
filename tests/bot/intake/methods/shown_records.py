"""Declare what each method shows, and of which agents, for the tests of their visibility.

A method without a row in ``ROWS`` is held to the strictest that its own declaration leaves
(``strictest``); one that leaves several needs a row.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from bot.intake.registry.method import AnyMethod, Table
from bot.intake.registry.params import AgentParams, IdParams, ListParams, NoParams
from core.model.access import Scope
from tests.support.three_agents import AGENTS, HIDDEN, NODE, TASK, World

PLACE = "ROWS of tests/bot/intake/methods/shown_records.py"
ANY = ("id", "code", "prefix")
"""What a record is named by."""
Filter = tuple[dict[str, object], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Listed:
    """Lists what belongs to agents: all that the caller sees, or what the named one has.

    ``filters`` are more params, each with the agents that it lets through; ``one`` are the kinds of
    records of which ``id`` picks one. ``names``: the params may name an agent. ``unnamed``: whoever
    sees some agents may leave it out. ``limited``: the rows have a limit, and each names its agent.
    ``carried``: the params are those of the method that this one calls.
    """

    raw: Mapping[str, object] = field(default_factory=dict)
    filters: tuple[Filter, ...] = ()
    one: tuple[str, ...] = ()
    names: bool = True
    unnamed: bool = True
    limited: bool = False
    carried: bool = False

    def params(self, named: str | None, more: Mapping[str, object]) -> dict[str, object]:
        """Return the params of a call."""
        whose = {} if named is None else {"agent": named}
        return {**self.raw, **({"params": whose} if self.carried else whose), **more}

    def narrowed(self, world: World) -> Iterator[Filter]:
        """Yield every filter, the first of which lets all through."""
        yield {}, AGENTS
        yield from self.filters
        for kind, by, name in itertools.product(self.one, ANY, AGENTS):
            yield {"id": world.ref(kind, name, by)}, (name,)


@dataclass(frozen=True, slots=True)
class About:
    """Is about one record; one that the caller does not see is answered like an unknown one.

    ``record`` is the kind of record in ``World``, ``by`` how it may be named; ``acts``: it changes
    the record.
    """

    record: str
    by: tuple[str, ...] = ("id",)
    raw: Mapping[str, object] = field(default_factory=dict)
    acts: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """Is about the agent that its params name; another one than the caller sees is refused."""

    raw: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OfAll:
    """Covers all agents at once, so only those who see all may call it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Concerns no agent: people, tokens, nodes, the gateway itself."""


Row: TypeAlias = Listed | About | Named | OfAll | Shared
RUN = {"command": "uname -a", "cwd": "/"}
AT_ONCE = {"timeoutMs": 0}
FILTERS: tuple[Filter, ...] = (
    ({"grep": "of-"}, AGENTS),
    ({"state": "done"}, AGENTS),
    ({"by": "ana"}, AGENTS),
    ({"sinceMs": 0}, AGENTS),
    ({"beforeMs": 2**52}, AGENTS),
    ({"session": "agent:amber:main"}, ("amber",)),
    ({"session": f"agent:{HIDDEN}:main"}, (HIDDEN,)),
)
FILES = ("exec.approvals.get", "exec.approvals.node.get", "node.invoke")
FILE_OF_NODE = {"node": NODE, "command": "system.execApprovals.get"}
ROWS: dict[str, Row] = {
    "agent.prompt": Named({"prompt": "Look around.", "cwd": "/"}),
    "events.ack": Named({"session": "main", "seq": 0}),
    "events.drain": Named({"session": f"agent:{HIDDEN}:main"}),
    "exec.approval.copies": About("asked"),
    "exec.approval.get": About("asked", ANY),
    "exec.approval.request": Named(RUN),
    "exec.approval.resolve": About("asked", ANY, {"decision": "deny"}, acts=True),
    "exec.approval.waitDecision": About("asked", raw=AT_ONCE),
    "exec.approvals.node.get": Listed({"id": NODE}),
    "exec.approvals.node.set": Shared(),
    "exec.approvals.set": Shared(),
    "exec.cancel": About("asked", ANY, acts=True),
    "exec.remote.cancel": Shared(),
    "exec.remote.output": Shared(),
    "exec.remote.run": Shared(),
    "exec.run": Named({**RUN, "wait": False}),
    "exec.wait": About("done", raw=AT_ONCE),
    "grants.revoke": About("done", ("id", "code"), acts=True),
    "history.list": Listed(filters=FILTERS, one=("asked", "done"), limited=True),
    "lockdown.engage": Shared(),
    "lockdown.lift": Shared(),
    "node.approve": Shared(),
    "node.invoke": Listed(FILE_OF_NODE, carried=True),
    "node.rename": Shared(),
    "node.revoke": Shared(),
    "page.end": Shared(),
    "page.login": Shared(),
    "people.add": Shared(),
    "people.forgetPasskey": Shared(),
    "people.forgetTotp": Shared(),
    "people.pair": Shared(),
    "people.restore": Shared(),
    "people.revoke": Shared(),
    "people.totp": Shared(),
    "people.unlink": Shared(),
    "policy.explain": Named(RUN),
    "sessions.list": Listed(unnamed=False),
    "tasks.end": Named({"task": TASK}),
    "terminal.attach": About("terminals"),
    "terminal.end": About("terminals"),
    "terminal.input": About("terminals", raw={"data": "x"}),
    "terminal.list": Listed(names=False),
    "terminal.open": Named({"cwd": "/"}),
    "terminal.read": About("terminals"),
    "terminal.resize": About("terminals", raw={"rows": 9, "columns": 9}),
    "token.create": Shared(),
    "token.list": Shared(),
    "token.revoke": Shared(),
    "tool.call": Named({"tool": "none"}),
}


def strictest(method: AnyMethod) -> Row | None:
    """Return what a method without a row is held to; ``None`` where one has to be written.

    It is refused to whoever does not see all agents, or it shows each caller the request that its
    ``id`` names if the caller sees the agent, and otherwise answers as to an unknown one. What
    filters lists what the caller sees, and what takes no params tells nothing of any agent.
    """
    if method.of_all:
        return OfAll()
    if method.filters:
        return Listed(limited=issubclass(method.params, ListParams))
    if issubclass(method.params, IdParams):
        return About("done")
    return Shared() if may_look(method) else None


def may_look(method: AnyMethod) -> bool:
    """Return whether callers who do not see all agents may call a method, and without params."""
    return method.params is NoParams and bool(method.scopes - {Scope.ADMIN})


def rows_of(table: Table) -> dict[str, Row]:
    """Return what each method is held to, by name; one that has to have a row is left out."""
    found = ((name, ROWS.get(name) or strictest(table[name])) for name in sorted(table))
    return {name: row for name, row in found if row is not None}


def row_to_write(name: str, method: AnyMethod) -> str:
    """Return the row of a method as its params suggest it, or the kinds that they leave open."""
    if issubclass(method.params, AgentParams):
        kind = "Listed(…) or Named(…)"
    else:
        kind = "About(…), Listed(…) or Shared()"
    return f'"{name}": {kind},'
