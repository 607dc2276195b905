"""A narrowed schema requires what it contains, and nothing else."""

import pytest
from pydantic import BaseModel

from bot.api.openapi.json_schema import ANYTHING, Json, narrowed, tighten
from bot.intake.methods.nodes.commands import InvokeParams
from bot.intake.registry.params import CommandParams
from bot.intake.registry.terminal_params import InputParams

WHOLE: Json = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "limit": {"type": "integer"}, "note": {}},
    "required": ["id", "limit"],
}


def test_properties_and_what_is_required_are_kept_alike() -> None:
    """A property that another part of the address contains is not required in the body."""
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


@pytest.mark.parametrize(
    ("model", "names"), [(InputParams, ("data", "bytes")), (CommandParams, ("command", "argv"))]
)
def test_one_of_two_is_demanded(model: type[BaseModel], names: tuple[str, str]) -> None:
    """As the model's own check does."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    tighten(schema)
    either = {frozenset(one["required"]) for one in schema["oneOf"]}

    assert either == {frozenset({one}) for one in names}


def test_any_json_is_what_is_read_as_json() -> None:
    """Numbers that JSON does not represent exactly are refused, so no schema accepts them."""
    schema = InvokeParams.model_json_schema(ref_template="#/components/schemas/{model}")
    tighten(schema)

    of_values = schema["properties"]["params"]["additionalProperties"]
    assert of_values == {"$ref": f"#/components/schemas/{ANYTHING}"}
