"""Track runs for other machines: what is refused, what a request finds, what is over."""

import pytest

from core.remote.denials import RemoteDenial
from core.remote.host.active_runs import Session, Sessions
from core.remote.host.lease import Lease
from core.remote.trust.envelope import Kind, Payload

MACHINE = "M" * 43


def payload(agent: str, request: str, machine: str = MACHINE) -> Payload:
    """Return a request about a run, as one agent on one machine makes it."""
    return Payload.model_construct(
        kind=Kind.CANCEL, agent_id=agent, machine_id=machine, request_id=request
    )


def session(agent: str, request: str) -> Session:
    """Return a run of that request."""
    return Session(agent, MACHINE, request, "/bin/true", Lease())


async def test_the_caps_count_an_agents_runs_and_all_runs() -> None:
    """Exactly as many as the cap continue; the next is refused, another agent's is not."""
    runs = Sessions()
    with runs.holding(session("a", "1")), runs.holding(session("a", "2")):
        assert runs.full(payload("a", "3"), per_agent=3, total=9) is None
        assert runs.full(payload("a", "3"), 2, 9) is RemoteDenial.CONCURRENCY_LIMIT
        assert runs.full(payload("b", "3"), 2, 9) is None
        assert runs.full(payload("b", "3"), 2, 2) is RemoteDenial.CONCURRENCY_LIMIT
        assert runs.full(payload("b", "3"), 2, 3) is None

    assert runs.full(payload("a", "3"), 1, 1) is None


async def test_a_request_id_that_is_under_way_is_a_replay() -> None:
    """For its own agent alone, and before any cap."""
    runs = Sessions()
    with runs.holding(session("a", "1")):
        assert runs.full(payload("a", "1"), 1, 1) is RemoteDenial.REPLAYED
        assert runs.full(payload("b", "1"), 9, 9) is None


@pytest.mark.parametrize(
    ("agent", "request_id", "machine", "found"),
    [
        ("a", "1", MACHINE, True),
        ("b", "1", MACHINE, False),
        ("a", "2", MACHINE, False),
        ("a", "1", "N" * 43, False),
    ],
)
async def test_only_the_pair_that_started_a_run_may_speak_of_it(
    agent: str, request_id: str, machine: str, *, found: bool
) -> None:
    """Agent, machine and request id must all be those of the run."""
    runs = Sessions()
    with runs.holding(session("a", "1")) as own:
        assert (runs.find(payload(agent, request_id, machine)) is own) is found


async def test_a_run_that_ended_is_forgotten_and_logged() -> None:
    """Its lease is released, a waiter for its record continues, and nothing is counted."""
    runs = Sessions()
    own = session("a", "1")
    with runs.holding(own):
        assert (len(runs), list(runs)) == (1, [own])
        assert not own.logged.is_set()

    assert (len(runs), own.logged.is_set(), own.lease.over.cancelled()) == (0, True, True)
