"""Show each caller the records of the agents that it sees, by every method, and of no others.

A gateway has records of three agents. Callers that see two of them, all or none call every method
of the table, each as its row here declares. A method without a row is held to the strictest that
its own declaration leaves (``strictest``), and fails where that leaves several.
"""

import itertools
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest
import pytest_asyncio

from bot.intake.callers.caller import Caller
from bot.intake.registry.method import AnyMethod, Table
from bot.intake.registry.params import AgentParams, IdParams, NoParams
from core.model.access import Scope
from tests.support.three_agents import (
    AGENTS,
    HIDDEN,
    NODE,
    SEEN,
    TASK,
    WARNING,
    World,
    approver_of,
    give,
    new_task,
    user_of,
    whole,
    world_at,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
REFUSED, REFUSED_ANSWER = "Forbidden: ", '{"accepted": false'
ANY = ("id", "code", "prefix")
UNKNOWN = {"id": "0" * 26, "code": "0" * 6, "prefix": "0" * 8}


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
_ROWS = "ROWS of tests/bot/intake/methods/test_methods_visibility.py"
FILES = ("exec.approvals.get", "exec.approvals.node.get", "node.invoke")
FILE_OF_NODE = {"node": NODE, "command": "system.execApprovals.get"}
ROWS: dict[str, Row] = {
    "agent.prompt": Named({"prompt": "Look around.", "cwd": "/"}),
    "events.ack": Named({"session": "main", "seq": 0}),
    "events.drain": Named({"session": f"agent:{HIDDEN}:main"}),
    "exec.approval.copies": About("asked"),
    "exec.approval.get": About("asked", ANY),
    "exec.approval.list": Listed(limited=True),
    "exec.approval.request": Named(RUN),
    "exec.approval.resolve": About("asked", ANY, {"decision": "deny"}, acts=True),
    "exec.approval.waitDecision": About("asked", raw=AT_ONCE),
    "exec.approvals.get": Listed(),
    "exec.approvals.node.get": Listed({"id": NODE}),
    "exec.approvals.node.set": Shared(),
    "exec.approvals.set": Shared(),
    "exec.cancel": About("asked", ANY, acts=True),
    "exec.remote.cancel": Shared(),
    "exec.remote.output": Shared(),
    "exec.remote.run": Shared(),
    "exec.run": Named({**RUN, "wait": False}),
    "exec.wait": About("done", raw=AT_ONCE),
    "grants.list": Listed(),
    "grants.revoke": About("done", ("id", "code"), acts=True),
    "health.get": Shared(),
    "history.list": Listed(filters=FILTERS, one=("asked", "done"), limited=True),
    "lockdown.engage": Shared(),
    "lockdown.get": Shared(),
    "lockdown.lift": Shared(),
    "node.approve": Shared(),
    "node.invoke": Listed(FILE_OF_NODE, carried=True),
    "node.rename": Shared(),
    "node.revoke": Shared(),
    "page.end": Shared(),
    "page.login": Shared(),
    "page.sessions": Shared(),
    "people.add": Shared(),
    "people.forgetPasskey": Shared(),
    "people.forgetTotp": Shared(),
    "people.list": Shared(),
    "people.pair": Shared(),
    "people.passkeys": Shared(),
    "people.restore": Shared(),
    "people.revoke": Shared(),
    "people.totp": Shared(),
    "people.unlink": Shared(),
    "policy.explain": Named(RUN),
    "policy.rules": Listed(),
    "sessions.list": Listed(unnamed=False),
    "skills.bins": Shared(),
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Yield the gateway with its records, which no test takes away from another."""
    async with world_at(tmp_path_factory.mktemp("home")) as found:
        yield found


def callers() -> dict[str, tuple[Caller, frozenset[str]]]:
    """Return callers by what they are, with the agents that each sees."""
    none, every = frozenset[str](), frozenset(AGENTS)
    return {
        "the user of two": (user_of(*SEEN), SEEN),
        "the approver of two": (approver_of(*SEEN), SEEN),
        "the approver of all but one": (approver_of(HIDDEN, others=True), SEEN),
        "the user of none": (user_of(), none),
        "the approver of none": (approver_of(), none),
        "who sees all": (whole(), every),
    }


def may_call(method: AnyMethod, caller: Caller) -> bool:
    """Return whether a caller has a scope of a method."""
    return any(caller.may(scope) for scope in method.scopes)


def strictest(method: AnyMethod) -> Row | None:
    """Return what a method without a row is held to; ``None`` where one has to be written.

    It is refused to whoever does not see all agents, or it shows each caller the request that its
    ``id`` names if the caller sees the agent, and otherwise answers as to an unknown one.
    """
    if method.of_all:
        return OfAll()
    return About("done") if issubclass(method.params, IdParams) else None


def rows_of(table: Table) -> dict[str, Row]:
    """Return what each method is held to, by name; one that has to have a row is left out."""
    found = ((name, ROWS.get(name) or strictest(table[name])) for name in sorted(table))
    return {name: row for name, row in found if row is not None}


def row_to_write(name: str, method: AnyMethod) -> str:
    """Return the row of a method as its params suggest it, or the kinds that they leave open."""
    if method.filters:
        kind = "Listed()"
    elif issubclass(method.params, AgentParams):
        kind = "Listed(…) or Named(…)"
    else:
        kind = "About(…), Listed(…) or Shared()"
    return f'"{name}": {kind},'


async def test_each_method_has_a_row(world: World) -> None:
    """That says what whoever sees two agents may learn of a third by it, and no row is left over.

    What may name an agent is not declared as if it concerned none.
    """
    new, gone = world.table.keys() - rows_of(world.table), ROWS.keys() - world.table.keys()
    rows = "\n".join(row_to_write(name, world.table[name]) for name in sorted(new))
    assert not new, f"write in {_ROWS}; check what it shows, and of whose:\n{rows}"
    assert not gone, f"no methods any more; their rows are left in {_ROWS}: {sorted(gone)}"
    for name, row in ROWS.items():
        assert row != strictest(world.table[name]), f"{name} needs no row in {_ROWS}"
        names_one = issubclass(world.table[name].params, AgentParams)
        assert not (names_one and isinstance(row, Shared | OfAll)), f"{name}: see Listed and Named"


async def test_the_row_to_write_is_of_the_kind_that_a_method_has(world: World) -> None:
    """The method itself says, so a row that is pasted is of the right kind."""
    for name, row in ROWS.items():
        if strictest(world.table[name]) is None:
            assert f" {type(row).__name__}(" in row_to_write(name, world.table[name]), name


async def test_what_is_listed_is_of_the_agents_that_one_sees(world: World) -> None:
    """With an agent's name and without, with each filter; a name that is not one's is refused."""
    wrong = []
    for name, row in ROWS.items():
        if not isinstance(row, Listed):
            continue
        for who, (caller, seen) in callers().items():
            for named in (None, *AGENTS) if row.names else (None,):
                for more, matching in row.narrowed(world):
                    said = await world.said(name, row.params(named, more), caller)
                    shown = None if said.startswith(REFUSED) else world.traces(said)
                    if shown != _expected(row, caller, seen, named, matching):
                        wrong.append((name, who, named, more, said))
    assert wrong == []


def _expected(
    row: Listed, caller: Caller, seen: frozenset[str], named: str | None, matching: Iterable[str]
) -> set[str] | None:
    """Return the agents of which a list shows something; ``None`` if it is refused."""
    if named is not None:
        return {named} & {*matching} if named in seen else None
    must_name = caller.agents is not None or not (row.unnamed or caller.sees_all)
    return None if row.names and must_name else {*seen} & {*matching}


async def test_warnings_about_a_file_are_for_those_who_see_all_of_it(world: World) -> None:
    """They may be about any agent's section."""
    for name, (who, (caller, seen)) in itertools.product(FILES, callers().items()):
        row = ROWS[name]
        assert isinstance(row, Listed)
        for named in sorted(seen):
            said = await world.said(name, row.params(named, {}), caller)
            assert (WARNING in said) is caller.sees_all, (name, who, said)


async def test_what_is_hidden_takes_no_place_in_a_list(world: World) -> None:
    """The first and the last records are the hidden agent's: a limit counts what is shown."""
    limited = [name for name, row in ROWS.items() if isinstance(row, Listed) and row.limited]
    approvers = (approver_of(*SEEN), approver_of(HIDDEN, others=True))
    for name, limit, caller in itertools.product(limited, (1, 2), approvers):
        said = await world.said(name, {"limit": limit}, caller)
        assert said.count('"agent": ') == limit, (name, said)
        assert HIDDEN not in world.traces(said), (name, said)


async def test_no_record_of_an_agent_that_one_does_not_see_exists(world: World) -> None:
    """By its id, its code and a prefix; whoever sees it gets it, and may do the same to it."""
    wrong = []
    kept = {kind: world.ref(kind, HIDDEN, "id") for kind in ("asked", "done")}
    for name, row in rows_of(world.table).items():
        if not isinstance(row, About):
            continue
        for who, (caller, seen) in callers().items():
            found = seen if may_call(world.table[name], caller) else frozenset()
            for agent in AGENTS:
                for by in row.by:
                    if row.acts and agent in found:
                        await world.renew(row.record, agent)
                    ref = world.ref(row.record, agent, by)
                    said = await world.said(name, {**row.raw, "id": ref}, caller)
                    unknown = await world.said(name, {**row.raw, "id": UNKNOWN[by]}, caller)
                    hidden = said.replace(ref, "") == unknown.replace(UNKNOWN[by], "")
                    refused = said.startswith(("NotFound: ", REFUSED, REFUSED_ANSWER))
                    if (hidden, refused) != (agent not in found, agent not in found):
                        wrong.append((name, who, agent, by, said, unknown))
    assert wrong == [], f"what is not about a request by its id has a row in {_ROWS}: {wrong}"
    left = await world.said("exec.approval.list", {}, whole())
    assert kept["asked"] in left
    assert kept["done"] in await world.said("grants.list", {}, whole())


async def test_only_an_agent_that_one_sees_is_named(world: World) -> None:
    """Nothing is said of another one; whoever sees several has to name one."""
    wrong = []
    for name, row in ROWS.items():
        if not isinstance(row, Named):
            continue
        for who, (caller, seen) in callers().items():
            found = seen if may_call(world.table[name], caller) else frozenset()
            for named in AGENTS:
                said = await world.said(name, {**row.raw, "agent": named}, caller)
                others = world.traces(said) - {named}
                leaks = bool(others) if named in found else HIDDEN in others
                if said.startswith(REFUSED) is (named in found) or (leaks and not caller.sees_all):
                    wrong.append((name, who, named, said))
            said = await world.said(name, row.raw, caller)
            if not caller.sees_all and not said.startswith((REFUSED, "BadRequest: ")):
                wrong.append((name, who, "", said))
    assert wrong == []


async def test_only_the_tasks_of_the_named_agent_end(world: World) -> None:
    """Others have grants for a task of the same name; what nobody of them has is not there."""
    caller, task = approver_of(*SEEN), new_task()
    for name in AGENTS:
        await give(world.gate, name, task)
    raw = {"task": task, "agent": "amber"}
    assert "has ended" in await world.said("tasks.end", raw, caller)
    assert "has no active grants" in await world.said("tasks.end", raw, caller)
    left = await world.said("grants.list", {}, whole())
    assert left.count(f'"task": "{task}"') == len(AGENTS) - 1


async def test_what_covers_all_agents_is_for_those_who_see_all(world: World) -> None:
    """Whatever scopes others have."""
    for name, row in rows_of(world.table).items():
        assert world.table[name].of_all is isinstance(row, OfAll), name
        for who, (caller, _) in callers().items():
            if isinstance(row, OfAll) and not caller.sees_all:
                assert (await world.said(name, {}, caller)).startswith(REFUSED), (name, who)


async def test_what_is_shared_says_nothing_of_agents(world: World) -> None:
    """What anyone may read of the gateway, its people and its pages names no agent."""
    looks = [
        name
        for name, row in ROWS.items()
        if isinstance(row, Shared) and world.table[name].params is NoParams
        if world.table[name].scopes & {Scope.READ, Scope.APPROVE}
    ]
    assert len(looks) >= 6
    for name in looks:
        for who, (caller, _) in callers().items():
            assert world.traces(await world.said(name, {}, caller)) == set(), (name, who)
