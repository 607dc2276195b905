"""Let no process, session, terminal or user take all slots of a socket."""

from dataclasses import dataclass, field

from core.ipc.connection_slots import (
    FOR_ONE_TERMINAL,
    FOR_TERMINALS,
    MOST_URGENT,
    MOST_WAITING,
    Places,
)
from core.ipc.peer import Peer

LATE_S = 1e12
"""The last use of a connection that is certainly not idle."""


@dataclass(eq=False)
class SlotHolder:
    """A connection; once it is served, it has a request in flight."""

    peer: Peer
    in_flight: int = 0
    used_s: float = LATE_S
    dismissed: list[str] = field(default_factory=list)

    def dismiss(self, why: str) -> None:
        """Record why."""
        self.dismissed.append(why)


def came(places: Places, *, uid: int = 1000, **peer: int) -> SlotHolder:
    """Let a process connect; the peer's numbers are 1 by default."""
    numbers = {"pid": 1, "gid": 1, "start_ticks": 1, "session": 1, **peer}
    holder = SlotHolder(Peer(uid=uid, **numbers))
    places.arrive(holder)
    return holder


def is_served(places: Places, holder: SlotHolder, method: str = "run") -> bool:
    """Let a connection ask; a refused one is disconnected."""
    if places.refusal(holder, method) is None:
        holder.in_flight += 1
        return True
    places.leave(holder)
    return False


def seated(places: Places, count: int, **peer: int) -> int:
    """Return how many of this many connections of one process get a slot."""
    return sum(is_served(places, came(places, **peer)) for _ in range(count))


def test_a_process_leaves_places_to_others() -> None:
    """It gets seven eighths; another one finds a slot, and the refusal names the first."""
    places = Places(256)

    assert seated(places, 300, pid=7, session=7) == 224
    assert seated(places, 10, pid=8, session=8) == 10
    refusal = places.refusal(came(places, pid=7, session=7), "run")
    assert refusal is not None
    assert "224 of them of process 7" in refusal


def test_so_does_a_session_of_many_processes() -> None:
    """Forking gains nothing without leaving the session."""
    places = Places(256)

    assert sum(seated(places, 1, pid=pid, session=7) for pid in range(300)) == 224
    assert seated(places, 1, pid=1000, session=8) == 1


def test_terminals_find_a_place_when_all_are_taken() -> None:
    """A few for each, and some terminals; a process without one is refused (the control)."""
    places = Places(256)
    for pid in range(300):
        seated(places, 1, pid=pid, session=pid)

    assert seated(places, 1, pid=1000, session=1000) == 0
    assert seated(places, 9, pid=1001, session=1001, terminal=5) == FOR_ONE_TERMINAL
    found = [seated(places, 9, pid=2000 + one, session=9, terminal=6 + one) for one in range(9)]
    assert sum(found) == FOR_TERMINALS - FOR_ONE_TERMINAL


def test_a_place_comes_back_at_the_end() -> None:
    """Of every kind: a hundred rounds leave no slot taken."""
    places = Places(4)
    for _ in range(100):
        guests = [came(places, pid=pid, session=pid, terminal=1) for pid in range(8)]
        assert all(is_served(places, one) for one in guests)
        assert not seated(places, 1, pid=9, session=9, terminal=1)
        for one in guests:
            places.leave(one)


def test_the_idle_of_whoever_has_most_give_way_first() -> None:
    """Of these the one that was idle longest; one with a request in flight stays."""
    places = Places(8)
    big = [came(places, pid=1, session=1) for _ in range(5)]
    small = [came(places, pid=2, session=2) for _ in range(3)]
    assert all(is_served(places, one) for one in (*big, *small))
    for one, used in ((big[3], -20.0), (big[4], -30.0), (small[0], -40.0)):
        one.in_flight, one.used_s = 0, used

    assert seated(places, 1, pid=3, session=3) == 1
    assert [one for one in (*big, *small) if one.dismissed] == [big[4]]


def test_a_full_holder_loses_only_its_own() -> None:
    """A process that has its share makes room for itself, never at another's expense."""
    places = Places(256)
    first = came(places, pid=7, session=7)
    other = came(places, pid=8, session=8)
    for one in (first, other):
        assert is_served(places, one)
        one.in_flight, one.used_s = 0, -10.0
    seated(places, 223, pid=7, session=7)

    assert seated(places, 2, pid=7, session=7) == 1
    assert (len(first.dismissed), len(other.dismissed)) == (1, 0)


def test_urgent_requests_are_bounded_too() -> None:
    """So that they cost no more than the slots themselves."""
    places = Places(0, frozenset({"stop"}))

    served = [is_served(places, came(places, pid=pid), "stop") for pid in range(99)]
    assert served.count(True) == MOST_URGENT


def test_users_of_a_shared_socket_share_it_evenly() -> None:
    """Whatever the others do, each of them has slots left, however many are listed."""
    for listed in (1, 3, 10, 40):
        places = Places(256, users=listed)
        rest = [seated(places, 300, uid=uid) for uid in range(listed - 1)]

        assert seated(places, 300, uid=99) == min(64, 256 // listed), rest


def test_whoever_was_dismissed_is_not_served() -> None:
    """A request that was read before the connection could be closed is refused."""
    places = Places(8)
    first = came(places)
    for _ in range(MOST_WAITING):
        came(places)

    assert first.dismissed
    assert not is_served(places, first)
