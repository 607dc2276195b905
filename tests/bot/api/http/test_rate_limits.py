import pytest

from bot.api.http.errors import Fault
from bot.api.http.rate_limits import Buckets, Places, Slots


def test_a_burst_and_then_the_rate() -> None:
    """The whole burst at once, nothing more, and one again when its time has come."""
    buckets = Buckets(rate=2, burst=3)

    assert [buckets.take("a", 0) for _ in range(3)] == [0, 0, 0]
    assert buckets.take("a", 0) == 0.5
    assert buckets.take("a", 0.4) > 0
    assert buckets.take("a", 0.5) == 0
    assert buckets.take("b", 0.5) == 0
    assert [buckets.take("a", 100) for _ in range(4)][:3] == [0, 0, 0]


def test_a_flood_of_keys_neither_grows_the_table_nor_frees_anybody() -> None:
    """A thousand addresses share one bucket beyond the bound, and no one's count is forgotten."""
    buckets = Buckets(rate=1, burst=2, most=10)
    assert [buckets.take("guesser", 0) for _ in range(3)] == [0, 0, 1]

    taken = [buckets.take(f"address {number}", 0.1) for number in range(1000)]

    assert len(buckets) <= 11
    assert taken.count(0) == 9 + 2
    assert buckets.take("guesser", 0.1) > 0
    assert buckets.take("newcomer", 60) == 0, "who has all back again makes room"
    assert len(buckets) <= 11


def test_places_are_taken_and_given_back() -> None:
    """A caller that finds no slot is sent away; a returned one is available again."""
    slots = Slots(2)

    assert [slots.enter(), slots.enter(), slots.enter()] == [True, True, False]
    slots.leave()
    assert slots.enter()


def test_nobody_holds_more_places_than_are_left() -> None:
    """One client has its half, and a second less; one that leaves is forgotten altogether."""
    places = Places(4)

    assert [places.enter("greedy") for _ in range(4)] == [True, True, False, False]
    assert [places.enter("modest") for _ in range(3)] == [True, False, False]
    assert [places.enter("third"), places.enter("fourth")] == [True, False], "all are taken"
    places.leave("greedy")
    assert not places.enter("modest")
    assert places.enter("fourth")
    for client in ("greedy", "modest", "third", "fourth"):
        places.leave(client)
    assert len(places) == 0
    with places.place("greedy"), places.place("greedy"), pytest.raises(Fault):
        places.place("greedy").__enter__()
    assert len(places) == 0
    assert Places(1).enter("anybody"), "half of one place is that place"


@pytest.mark.parametrize("clients", [2, 4, 16])
def test_a_few_together_keep_nobody_out(clients: int) -> None:
    """They ask without end, and a browser still finds its six slots."""
    places = Places(512)
    for _ in range(512):
        for number in range(clients):
            places.enter(f"greedy {number}")

    assert all(places.enter("newcomer") for _ in range(6))
