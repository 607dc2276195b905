"""Translate pydantic's errors into Sayso's own terms, never quoting a value."""

from collections.abc import Mapping

from pydantic_core import ErrorDetails

from bot.settings.did_you_mean import nearest
from bot.settings.problems import KeyPath
from bot.settings.schema import Shape, at

_WANTED: Mapping[str, str] = {
    "bool_type": "must be true or false",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "string_type": "must be text in quotes",
    "string_sub_type": "must be text in quotes",
    "string_unicode": "must be valid Unicode text",
    "tuple_type": "must be a list: [ … ]",
    "list_type": "must be a list: [ … ]",
    "model_type": "must be a section: { … }",
    "model_attributes_type": "must be a section: { … }",
    "dict_type": "must be a section: { … }",
}

_BARE: Mapping[str, str] = {
    "finite_number": "must be a finite number",
    "missing": "is required; add it",
    "too_short": "must not be an empty list",
    "string_too_short": "must not be empty",
}


def complaint(error: ErrorDetails, root: Shape) -> str:
    """Return a message for one error of pydantic, without the value, which may be a secret."""
    shape, value = at(root, path_of(error)), error["input"]
    if error["type"] in {"enum", "literal_error"} and shape is not None and shape.words:
        return _wrong_word(value, shape)
    if wanted := _WANTED.get(error["type"]):
        return f"{wanted}, not {_kind(value)}"
    if bare := _BARE.get(error["type"]):
        return bare
    message = error["msg"].removeprefix("Value error, ")
    return message.replace("Input should be", "must be", 1).replace("String", "text", 1)


def path_of(error: ErrorDetails) -> KeyPath:
    """Return the path of the key that an error is about."""
    return tuple(error["loc"])


def _wrong_word(value: object, shape: Shape) -> str:
    wanted = f"must be one of {', '.join(shape.words)}"
    near = nearest(value, shape.words) if isinstance(value, str) else None
    return f"{wanted}; did you mean `{near}`?" if near else wanted


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number with decimals" if isinstance(value, float) else "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case _:
            return "a section"
