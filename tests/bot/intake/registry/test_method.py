"""Call a method for a caller that leaves before the answer, or that is bound to its agent."""

import asyncio

import pytest

from bot.intake.callers.caller import Caller
from bot.intake.registry.method import Method, bound, invoke
from bot.intake.registry.params import AgentParams, NoParams, Params, SessionParams
from bot.intake.results.answer import ChangeAnswer
from core.model.access import PEOPLES_SCOPES, Scope
from core.model.identity import AgentId, Intake, Requester


@pytest.mark.parametrize(
    ("scopes", "waits", "ends"),
    [
        (frozenset({Scope.ADMIN}), False, True),
        (PEOPLES_SCOPES, False, True),
        (frozenset({Scope.ADMIN}), True, False),
        (frozenset({Scope.REQUEST}), False, False),
        (PEOPLES_SCOPES | {Scope.READ}, False, False),
    ],
)
async def test_a_change_that_people_make_is_finished(
    scopes: frozenset[Scope], *, waits: bool, ends: bool
) -> None:
    """What is stored is recorded too; who only asks or follows is waited for no longer."""
    stored, recorded = asyncio.Event(), asyncio.Event()

    async def change(_: NoParams, __: Caller) -> ChangeAnswer:
        stored.set()
        await asyncio.sleep(0.01)
        recorded.set()
        return ChangeAnswer.of("Done.")

    method = Method(
        "people.change",
        NoParams,
        scopes,
        change,
        ChangeAnswer,
        "Change somebody.",
        ends_with_caller=waits,
    )
    caller = Caller(Requester(Intake.HTTP, "api:1"), None, scopes)
    calling = asyncio.create_task(invoke(method, {}, caller))
    await asyncio.wait_for(stored.wait(), 5)
    calling.cancel()
    await asyncio.gather(calling, return_exceptions=True)
    await asyncio.sleep(0.05)

    assert calling.cancelled()
    assert recorded.is_set() is ends


@pytest.mark.parametrize(
    ("params", "named"),
    [
        (NoParams(), NoParams()),
        (AgentParams(), AgentParams(agent="build")),
        (SessionParams(session="a"), SessionParams(agent="build", session="agent:build:a")),
    ],
)
def test_a_bound_caller_names_its_own_agent_and_session(params: Params, named: Params) -> None:
    """Whatever it leaves out; the owner, who sees all, names what it likes."""
    far, scopes = Requester(Intake.HTTP, "api:1"), frozenset({Scope.REQUEST})
    assert bound(params, Caller(far, None, scopes, frozenset({AgentId("build")}))) == named
    assert bound(params, Caller(far, None, scopes)) is params
