"""Show each caller the records of the agents that it sees, by every method, and of no others.

A gateway has records of three agents. Callers that see two of them, all or none call every method
of the table, each as ``shown_records`` declares.
"""

import itertools
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace

import pytest
import pytest_asyncio

from bot.intake.callers.caller import Caller
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import AgentParams, NoParams
from bot.intake.results.answer import Answer
from core.model.access import Scope
from core.store.views import status
from tests.bot.intake.methods.shown_records import (
    FILES,
    PLACE,
    ROWS,
    About,
    Listed,
    Named,
    OfAll,
    Shared,
    may_look,
    row_to_write,
    rows_of,
    strictest,
)
from tests.support.three_agents import (
    AGENTS,
    HIDDEN,
    SEEN,
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
UNKNOWN = {"id": "0" * 26, "code": "0" * 6, "prefix": "0" * 8}


class CountOfAll(Answer):
    """How many questions wait, of whichever agents."""

    waiting: int


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


async def test_each_method_has_a_row(world: World) -> None:
    """That says what whoever sees two agents may learn of a third by it, and no row is left over.

    What may name an agent is not declared as if it concerned none.
    """
    new, gone = world.table.keys() - rows_of(world.table), ROWS.keys() - world.table.keys()
    rows = "\n".join(row_to_write(name, world.table[name]) for name in sorted(new))
    assert not new, f"write in {PLACE}; check what it shows, and of whose:\n{rows}"
    assert not gone, f"no methods any more; their rows are left in {PLACE}: {sorted(gone)}"
    for name, row in ROWS.items():
        assert row != strictest(world.table[name]), f"{name} needs no row in {PLACE}"
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
    for name, row in rows_of(world.table).items():
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
        row = rows_of(world.table)[name]
        assert isinstance(row, Listed)
        for named in sorted(seen):
            said = await world.said(name, row.params(named, {}), caller)
            assert (WARNING in said) is caller.sees_all, (name, who, said)


async def test_what_is_hidden_takes_no_place_in_a_list(world: World) -> None:
    """The first and the last records are the hidden agent's: a limit counts what is shown."""
    held = rows_of(world.table)
    limited = [name for name, row in held.items() if isinstance(row, Listed) and row.limited]
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
    assert wrong == [], f"what is not about a request by its id has a row in {PLACE}: {wrong}"
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


def shared_looks(world: World) -> list[str]:
    """Return the methods without params that are shared, and called to look at something."""
    held = rows_of(world.table)
    return [name for name, row in held.items() if row == Shared() and may_look(world.table[name])]


async def test_what_is_shared_says_nothing_of_agents(world: World) -> None:
    """What anyone may read of the gateway, its people and its pages names no agent."""
    looks = shared_looks(world)
    assert len(looks) >= 6
    for name in looks:
        for who, (caller, _) in callers().items():
            assert world.traces(await world.said(name, {}, caller)) == set(), (name, who)


async def told_of_a_hidden_agent(world: World) -> list[tuple[str, str]]:
    """Return the methods that answer differently once an agent that one does not see asked."""
    held = rows_of(world.table)
    raws = {name: row.params(None, {}) for name, row in held.items() if isinstance(row, Listed)}
    raws |= {name: {} for name in shared_looks(world)}
    near = [(who, one) for who, (one, seen) in callers().items() if HIDDEN not in seen]

    async def said() -> dict[tuple[str, str], str]:
        asked = itertools.product(raws.items(), near)
        return {(name, who): await world.said(name, raw, one) for (name, raw), (who, one) in asked}

    before = await said()
    await world.renew("asked", HIDDEN)
    await world.renew("done", HIDDEN)
    after = await said()
    assert len(raws) >= 15
    return [key for key, words in before.items() if after[key] != words]


async def test_what_a_hidden_agent_asks_changes_no_answer(world: World) -> None:
    """Nobody can tell by a number either that an agent which one does not see asked and ran."""
    told = await told_of_a_hidden_agent(world)
    assert told == [], "leave out what the caller does not see (Caller.sees), or write of_all=True"


async def test_a_number_of_all_agents_is_noticed(world: World) -> None:
    """The control: it names no agent, and needs no row that would say so."""

    async def count(_params: NoParams, _caller: Caller) -> CountOfAll:
        return CountOfAll(waiting=await world.gate.store.read(status.pending))

    method = Method("count", NoParams, frozenset({Scope.READ}), count, CountOfAll, "Count.")
    careless = replace(world, table={**world.table, "count": method})
    assert "count" in {name for name, _ in await told_of_a_hidden_agent(careless)}
