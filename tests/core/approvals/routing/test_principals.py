"""Check lists of people: ids, groups, roles, named people; per channel and over all channels."""

from core.approvals.routing.principals import Listing
from core.model.identity import Actor, PersonId
from tests.support.tables import rows

ANA = PersonId("ana")
IN_GROUP = Actor("slack", "U2", groups=frozenset({"group:S1"}))
WITH_ROLE = Actor("discord", "9", groups=frozenset({"role:7"}))
BY_CHANNEL = Listing({"slack": frozenset({"U1", "group:S1", "person:ana"})})
EVERYWHERE = Listing(
    {}, frozenset({"slack:U1", "telegram:42", "person:ana", "slack:group:S1", "discord:role:7"})
)


@rows(
    "listing, actor, person, admitted",
    [
        (BY_CHANNEL, Actor("slack", "U1"), None, True),
        (BY_CHANNEL, Actor("telegram", "U1"), None, False),
        (BY_CHANNEL, Actor("slack", "u1"), None, False),
        (BY_CHANNEL, IN_GROUP, None, True),
        (BY_CHANNEL, Actor("discord", "U2", groups=frozenset({"group:S1"})), None, False),
        (BY_CHANNEL, Actor("slack", "U3"), ANA, True),
        (BY_CHANNEL, Actor("telegram", "42"), ANA, False),
        (BY_CHANNEL, Actor("slack", "group:S1"), None, False),
        (BY_CHANNEL, Actor("slack", "person:ana"), PersonId("slack:person:ana"), False),
        (EVERYWHERE, Actor("slack", "U1"), None, True),
        (EVERYWHERE, Actor("discord", "U1"), None, False),
        (EVERYWHERE, Actor("telegram", "42"), None, True),
        (EVERYWHERE, Actor("discord", "1"), ANA, True),
        (EVERYWHERE, IN_GROUP, None, True),
        (EVERYWHERE, WITH_ROLE, None, True),
        (EVERYWHERE, Actor("slack", "9", groups=frozenset({"role:7"})), None, False),
        (EVERYWHERE, Actor("person", "ana"), PersonId("person:ana"), False),
        (EVERYWHERE, Actor("slack", "U2"), PersonId("slack:U2"), False),
        (Listing(), Actor("slack", "U1"), ANA, False),
    ],
)
def test_who_is_listed(
    listing: Listing, actor: Actor, person: PersonId | None, admitted: bool
) -> None:
    """An entry matches its own channel's ids and groups, or a named person, and nothing else."""
    assert admitted is listing.admits(actor, person)


def test_anybody_counts_every_way_to_be_listed() -> None:
    """A channel may have an approver through its own list, the common one, or a named person."""
    assert BY_CHANNEL.anybody("slack")
    assert not BY_CHANNEL.anybody("telegram")
    assert Listing({}, frozenset({"telegram:42"})).anybody("telegram")
    assert not Listing({}, frozenset({"telegram:42"})).anybody("slack")
    assert Listing({}, frozenset({"person:ana"})).anybody("discord")
    assert not Listing({"slack": frozenset()}).anybody("slack")


def test_people_are_counted_where_that_can_be_told() -> None:
    """A named person listed twice is one; a group may be anyone."""
    listing = Listing(
        {"slack": frozenset({"U1", "person:ana"})}, frozenset({"slack:U1", "telegram:42"})
    )

    assert 3 == listing.count()
    assert 0 == Listing().count()
    assert EVERYWHERE.count() is None
