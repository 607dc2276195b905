from core.nodes.backoff import Backoff


def test_pauses_grow_to_a_bound_and_are_drawn() -> None:
    """Each pause is between half and the whole of its bound."""
    backoff = Backoff()
    bounds = []
    for _ in range(12):
        bound = backoff.next_s
        assert bound / 2 <= backoff.pause() <= bound
        bounds.append(bound)
    assert bounds[:3] == [0.5, 1.0, 2.0]
    assert bounds[-1] == 15.0
    assert len({Backoff(8.0).pause() for _ in range(20)}) > 10


def test_only_a_connection_that_held_starts_over() -> None:
    """A gateway that welcomes a node and hangs up is dialled less and less often."""
    backoff = Backoff(8.0)
    backoff.held(9.9)
    assert backoff.next_s == 8.0
    backoff.held(10.0)
    assert backoff.next_s == 0.5
