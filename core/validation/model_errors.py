"""Describe what a model of this package refused, in our own words; values are not quoted."""

from collections.abc import Callable, Iterator, Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_EMPTY = "too_short"
_MOST_FAULTS = 100
"""To compare each with each takes minutes where there are 60,000."""
_WORDS: Mapping[str, str] = {
    "missing": "is missing; add it",
    "extra_forbidden": "is not a known key; remove it, or correct its name",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "string_type": "must be text in quotes",
    "tuple_type": "must be a list",
    "model_type": "must be a table of keys",
    "model_attributes_type": "must be a table of keys",
    "dict_type": "must be a table of keys",
    _EMPTY: "must not be empty",
}
_BOUNDS: Mapping[str, str] = {
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
}
_PATTERNS: Mapping[str, str] = {
    "^[0-9a-f]{64}$": "must be 64 lowercase hex digits",
    "^[a-z0-9][a-z0-9_.-]{0,31}$": "must have 1 to 32 of a-z, 0-9, _, . and -, and begin with a-z "
    "or 0-9",
    r"^[^\x00-\x1f\x7f]+$": "must not be empty or hold control characters",
    r"^\[?[0-9A-Za-z.:_-]{1,253}\]?:[0-9]{1,5}$": "must be HOST:PORT",
}
"""By pattern: of ``KeyId``, ``ContactName``, ``NodeName``, of the gateway in node.json."""


def faults(error: ValidationError) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield where each fault is and what is wrong there.

    A list is called empty where all its items were refused: those are reported already. Of more
    than a hundred faults their number is all that is said.
    """
    if error.error_count() > _MOST_FAULTS:
        yield (), f"{error.error_count()} values cannot be used"
        return
    found = error.errors(include_url=False, include_input=False)
    places = [fault["loc"] for fault in found]
    for fault in found:
        at = fault["loc"]
        reported = any(len(place) > len(at) and place[: len(at)] == at for place in places)
        if not (fault["type"] == _EMPTY and reported):
            yield at, _words(fault)


def _words(fault: ErrorDetails) -> str:
    kind = fault["type"]
    if kind in _WORDS:
        return _WORDS[kind]
    context = fault.get("ctx", {})
    messages: Callable[[], str] = {
        "value_error": lambda: str(context["error"]).removesuffix("."),
        "string_pattern_mismatch": lambda: _PATTERNS[context["pattern"]],
    }.get(kind, lambda: _BOUNDS.get(kind, "cannot be used").format(**context).replace("'", ""))
    return messages()


def place(parts: tuple[str | int, ...]) -> str:
    """Return a place as people write it: ``exec.allow.0.commands``."""
    return ".".join(str(part) for part in parts)
