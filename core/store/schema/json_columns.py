"""Write model values as JSON text columns and read them back."""

from typing import Any, TypeVar

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from core.errors import BadRequest

T = TypeVar("T")
_ADAPTERS: dict[type[object], TypeAdapter[Any]] = {}  # made at first use: building takes ms


def _adapter(kind: type[object]) -> TypeAdapter[Any]:
    adapter = _ADAPTERS.get(kind)
    if adapter is None:
        adapter = _ADAPTERS[kind] = TypeAdapter(kind)
    return adapter


def dump(value: object) -> str:
    """Return the JSON text of a frozen model value.

    Raises:
        BadRequest: the value holds a lone surrogate, which no database can store as text.
    """
    try:
        return _adapter(type(value)).dump_json(value).decode()
    except PydanticSerializationError as error:
        raise BadRequest(
            f"The request contains text that is not valid Unicode and cannot be stored: {error}"
        ) from error


def load(kind: type[T], text: str) -> T:
    """Return the model value that ``dump`` wrote."""
    value: T = _adapter(kind).validate_json(text)
    return value


def plain(words: str) -> str:
    """Replace what a text column cannot hold (NUL, lone surrogates) by U+FFFD.

    Only for words that people read: output tails, notes, display names. PostgreSQL refuses NUL
    in text, and both engines must keep the same words.
    """
    if "\0" in words:
        words = words.replace("\0", "\ufffd")
    if words.isascii():
        return words
    return words.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
