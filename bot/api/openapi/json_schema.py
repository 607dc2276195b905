"""Add to JSON Schema the checks that are missing from the schema that pydantic generates."""

from collections.abc import Iterable

from core.ipc.strict_json import LARGEST_NUMBER
from core.model.approval import ApprovalReply

Json = dict[str, object]
_NO_NUL = "^[^\\u0000]*$"
_IN_PATH = "^[^\\u0000-\\u001f\\u007f/?#%]+$"
_OPEN = frozenset({"pattern", "enum", "const", "format"})
_EITHER = (("command", "argv"), ("data", "bytes"))
"""Pairs of properties of which a body has one."""

_NULL: Json = {"type": "null"}
_BASE64_NAMES = frozenset({"stdin", "stdin_b64", "bytes"})
_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_HOURS, _DAYS = "[1-9][0-9]?|[1-6][0-9]{2}|7[01][0-9]|720", "[1-9]|[12][0-9]|30"
_LIMIT = (
    f"^(?:[Ss][Ee][Ss][Ss][Ii][Oo][Nn]|[1-9][0-9]{{0,3}}(?:[Xx]|[Mm](?:[Ii][Nn])?)|(?:{_HOURS})[Hh]"
    f"|(?:{_DAYS})[Dd])[.,;!]*$"
)
"""What ``channels.argument_values.grant_terms`` reads; 30 days at most."""


ANYTHING = "AnyJson"
_PYDANTICS_ANY: Json = {"$ref": "#/components/schemas/JsonValue"}


def anything() -> Json:
    """Return the schema of any JSON value without NUL; 32 levels at most are taken."""
    same: Json = {"$ref": f"#/components/schemas/{ANYTHING}"}
    return {
        "description": "any JSON value",
        "anyOf": [
            {"type": ["null", "boolean"]},
            {"type": "number", "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER},
            {"type": "string", "pattern": _NO_NUL},
            {"type": "array", "items": same},
            {
                "type": "object",
                "propertyNames": {"pattern": _NO_NUL},
                "additionalProperties": same,
            },
        ],
    }


def tighten(schema: Json) -> None:
    """Add in place: no NUL, no number that JSON cannot hold exactly, and a model's checks."""
    _narrow(schema)
    shapes = schema.get("properties")
    if not isinstance(shapes, dict):
        return
    for name in _BASE64_NAMES & shapes.keys():
        _narrow_text(shapes[name], _BASE64)
    for either in _EITHER:
        if set(either) <= shapes.keys():
            schema["oneOf"] = [
                {"required": [given], "properties": {given: {"not": _NULL}, other: _NULL}}
                for given, other in (either, either[::-1])
            ]
    if {"decision", "limit"} <= shapes.keys():
        _narrow_text(shapes["limit"], _LIMIT)
        always: Json = {"properties": {"decision": {"const": ApprovalReply.ALLOW_ALWAYS.value}}}
        schema["anyOf"] = [always, {"properties": {"limit": _NULL}}]


def _narrow_text(schema: Json, pattern: str) -> None:
    """Add a pattern to the text in a schema, even if ``null`` is allowed instead."""
    choices = schema.get("anyOf")
    for one in choices if isinstance(choices, list) else [schema]:
        if one.get("type") == "string":
            one.pop("format", None)
            one["pattern"] = pattern


def _narrow(schema: object) -> None:
    """Narrow a schema and all within it."""
    if isinstance(schema, list):
        for part in schema:
            _narrow(part)
    elif isinstance(schema, dict):
        _narrow_one(schema)
        for part in tuple(schema.values()):
            _narrow(part)


def _narrow_one(schema: Json) -> None:
    if schema.get("type") == "string" and not _OPEN & schema.keys():
        schema["pattern"] = _NO_NUL
    if schema.get("type") == "integer":
        schema.setdefault("maximum", LARGEST_NUMBER)
    if schema.get("additionalProperties") in (True, _PYDANTICS_ANY):
        schema["additionalProperties"] = {"$ref": f"#/components/schemas/{ANYTHING}"}
    if isinstance(schema.get("additionalProperties"), dict):
        schema["propertyNames"] = {"pattern": _NO_NUL}


def narrowed(schema: Json, names: Iterable[str]) -> Json:
    """Return the schema of an object restricted to these properties."""
    shapes, required = schema.get("properties"), schema.get("required")
    kept = set(names)
    whole = dict(schema)
    if isinstance(shapes, dict):
        whole["properties"] = {name: one for name, one in shapes.items() if name in kept}
    if isinstance(required, list):
        whole["required"] = [name for name in required if name in kept]
    return whole


def in_path(schema: Json) -> Json:
    """Return the schema of a part of an address: one segment, nothing that has to be escaped."""
    return {**schema, "pattern": _IN_PATH}


def without_null(schema: Json) -> Json:
    """Return a schema without ``null``, which no query can express, and without its title."""
    found = {key: value for key, value in schema.items() if key not in {"title", "description"}}
    choices = found.pop("anyOf", None)
    if isinstance(choices, list):
        (only,) = (one for one in choices if one != {"type": "null"})
        found = {**only, **found}
        found.pop("default", None)
    return found
