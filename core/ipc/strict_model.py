"""Read a frame into its model: strictly, and with one sentence about the first thing that is wrong.

The frames of nodes and companions, and what a gateway signs for them, are read only here.
"""

from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from core.ipc.errors import Code, FrameError
from core.ipc.strict_json import parsed

T = TypeVar("T")
_MOST_FAULTS = 100


class StrictFrame(BaseModel):
    """A frame: no unknown keys, no other types, and none of its text in error messages."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)


def read_model(
    adapter: TypeAdapter[T], text: bytes, reader: Callable[[bytes], object] = parsed
) -> T:
    """Return the frame that a text contains.

    ``reader`` refuses what could be read in two ways: pydantic would take the last of two equal
    keys. ``parsed`` accepts what commands may print, such as NUL; ``read_object`` is for requests.

    Raises:
        FrameError: it contains none.
    """
    reader(text)
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise FrameError(Code.INVALID_PARAMS, _first_of(error)) from None
    except RecursionError:
        raise FrameError(Code.PARSE_ERROR, "the frame is nested too deeply") from None


def _first_of(error: ValidationError) -> str:
    if error.error_count() > _MOST_FAULTS:  # all would be built, as the first cannot be had alone
        return f"the frame: {error.error_count()} values are wrong"
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "the frame"
    return f"{place}: {first['msg']}"
