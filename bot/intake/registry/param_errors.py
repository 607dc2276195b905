"""Report which field of a method's params is wrong, and what to give instead; never its value."""

from collections.abc import Callable, Iterable, Mapping

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from bot.settings.did_you_mean import nearest
from core.model.identity import TASK_NAME, TASK_WORDS

Fields = Mapping[str, FieldInfo]
_MOST_FAULTS = 100
"""Faults that are worded: to word each of countless takes seconds, in which nothing is served."""
_LONGEST_PLACE = 200
_KINDS: Mapping[type[object], str] = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number with decimals",
    str: "text",
    bytes: "text",
    list: "a list",
    tuple: "a list",
}
_WANTED: Mapping[str, str] = {
    "bool_type": "true or false",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "string_type": "text",
    "string_sub_type": "text",
    "string_unicode": "valid Unicode text",
    "bytes_type": "text in base64",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_BOUNDS: Mapping[str, str] = {
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "string_too_short": "must not be empty; {min_length} character or more",
    "string_too_long": "must have {max_length} characters or fewer",
    "too_short": "must not be empty; {min_length} or more",
    "too_long": "must have {max_length} or fewer",
}
_PATTERNS: Mapping[str, str] = {
    r"^[^\x00-\x1f\x7f]+$": "must not contain control characters or line breaks",
    r"^[^\x00-\x1f\x7f:]+:[^\x00-\x1f\x7f]+$": "must be CHANNEL:ACCOUNT, such as telegram:42",
    "^[0-9a-f]{32}$": "must be 32 lowercase hex digits",
    "^[A-Za-z0-9_-]{1,1400}$": "must be an id that `sayso people passkeys` prints",
    "^([0-9]{6})?$": "must be the 6 digits that the app shows",
    r"^(/[^\x00-\x1f\x7f]+)?$": "must be an absolute path",
    "^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$": "must be the name of a terminal, such as xterm-256color",
    "^[0-9a-f]{64}$": "must be 64 lowercase hex digits",
    f"^{TASK_NAME.pattern}$": f"must be {TASK_WORDS}",
}


def complaints(kind: type[BaseModel], wrong: ValidationError) -> str:
    """Return a message for each wrong field, in the order of the fields; if too many, a count."""
    if wrong.error_count() > _MOST_FAULTS:
        number = wrong.error_count()
        return f"{number} values are wrong, too many to list; send only what the method takes"
    fields = {info.alias or name: info for name, info in kind.model_fields.items()}
    found = wrong.errors(include_url=False)
    return "; ".join(_complaint(one, fields) for one in found if not _is_hollow(one, found))


def _is_hollow(error: ErrorDetails, found: Iterable[ErrorDetails]) -> bool:
    """Return whether a list is reported as empty only because all its members were refused."""
    at = error["loc"]
    deeper = (one["loc"] for one in found if len(one["loc"]) > len(at))
    return error["type"] == "too_short" and any(place[: len(at)] == at for place in deeper)


def _complaint(error: ErrorDetails, fields: Fields) -> str:
    where = _place(error["loc"])
    words = _words(error, fields)
    return f"{where}: {words}" if where else words


def _place(parts: Iterable[int | str]) -> str:
    """Return ``env.A`` or ``argv[1]``; empty if the params as a whole are wrong."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    text = text.removeprefix(".")
    return text if len(text) <= _LONGEST_PLACE else f"{text[:_LONGEST_PLACE]}…"


def _words(error: ErrorDetails, fields: Fields) -> str:
    kind = error["type"]
    if wanted := _WANTED.get(kind):
        return f"must be {wanted}, not {_KINDS.get(type(error['input']), 'an object')}"
    if bound := _BOUNDS.get(kind):
        return bound.format(**error["ctx"])
    if message := _MESSAGES.get(kind):
        return message(error, fields)
    return "cannot be used; docs/reference/methods.md says what it takes"


def _missing(error: ErrorDetails, fields: Fields) -> str:
    about = fields.get(str(error["loc"][-1]))
    meaning = "" if about is None or about.description is None else f": {about.description}"
    return f"is missing; give it{meaning}"


def _unknown(error: ErrorDetails, fields: Fields) -> str:
    near = nearest(str(error["loc"][-1]), tuple(fields))
    if near:
        return f"is not known here; did you mean `{near}`?"
    return f"is not known here; known are {', '.join(fields)}" if fields else "must be left out"


def _choice(error: ErrorDetails, _fields: Fields) -> str:
    """Format a choice, which pydantic lists as ``'a', 'b' or 'c'``, or as ``False``."""
    value, expected = error["input"], str(error["ctx"]["expected"])
    words = expected.replace("'", "") if "'" in expected else expected.lower()
    known = tuple(words.replace(" or ", ", ").split(", "))
    near = nearest(value, known) if isinstance(value, str) else None
    return f"must be {words}" + (f"; did you mean `{near}`?" if near else "")


def _misshapen(error: ErrorDetails, _fields: Fields) -> str:
    pattern = error["ctx"]["pattern"]
    return _PATTERNS.get(pattern, f"must fit {pattern}")


def _ours(error: ErrorDetails, _fields: Fields) -> str:
    return str(error["ctx"]["error"])


_MESSAGES: Mapping[str, Callable[[ErrorDetails, Fields], str]] = {
    "missing": _missing,
    "extra_forbidden": _unknown,
    "enum": _choice,
    "literal_error": _choice,
    "string_pattern_mismatch": _misshapen,
    "value_error": _ours,
}
