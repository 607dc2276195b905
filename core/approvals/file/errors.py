"""Describe what is wrong with a value of exec-approvals.json; never the value itself."""

from pydantic_core import ErrorDetails

LONGEST_PATTERN = 4096
_MUST = {
    "missing": "is required; add it",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "string_too_long": f"must have {LONGEST_PATTERN} characters or fewer",
    "too_short": "must not be empty",
    "int_type": "must be a number",
    "float_type": "must be a number",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "json_invalid": "must be JSON whose texts are Unicode",
}


def wrong(error: ErrorDetails) -> str:
    """Return what a value must be."""
    if error["type"] in {"enum", "literal_error"}:
        return f"must be {error['ctx']['expected']}"
    return _MUST.get(error["type"], "is not valid; see docs/reference/approvals-file.md")
