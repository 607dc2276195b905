"""A narrowed schema demands what it holds, and nothing else."""

from bot.api.openapi.json_schema import Json, narrowed

WHOLE: Json = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "limit": {"type": "integer"}, "note": {}},
    "required": ["id", "limit"],
}


def test_properties_and_what_is_required_are_kept_alike() -> None:
    """A property that another part of the address holds is not demanded in the body."""
    assert narrowed(WHOLE, ["limit", "note"]) == {
        "type": "object",
        "properties": {"limit": {"type": "integer"}, "note": {}},
        "required": ["limit"],
    }
    assert narrowed(WHOLE, ["id", "limit", "note"]) == WHOLE


def test_the_schema_given_stays_as_it_is() -> None:
    """One model has several routes; each has its own part of it."""
    before = repr(WHOLE)
    narrowed(WHOLE, [])

    assert repr(WHOLE) == before


def test_an_object_that_requires_nothing_is_narrowed_too() -> None:
    """The control: no empty list appears."""
    assert narrowed({"properties": {"a": {}, "b": {}}}, ["a"]) == {"properties": {"a": {}}}
