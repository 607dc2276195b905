"""Check that approval ids are random and readable."""

from core.approvals.ids import new_id

CROCKFORD = set("0123456789abcdefghjkmnpqrstvwxyz")


def test_ids_are_26_crockford_characters() -> None:
    """An id has 26 characters of the alphabet that avoids look-alikes."""
    drawn = [new_id() for _ in range(1000)]

    assert {26} == {len(one) for one in drawn}
    assert set("".join(drawn)) <= CROCKFORD


def test_ids_use_every_character_in_the_code() -> None:
    """The first characters, which people type, are as random as the rest."""
    drawn = [new_id() for _ in range(4000)]

    assert CROCKFORD == {one[0] for one in drawn} == {one[5] for one in drawn}
    assert len(drawn) == len(set(drawn))
