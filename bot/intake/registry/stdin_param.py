"""Read standard input from a frame: strict base64, and no more than a request may bring."""

import base64
from typing import Annotated

from pydantic import BeforeValidator

from core.model.stdio import LARGEST_STDIN


def _decoded(value: object) -> object:
    """Return the bytes of strict base64.

    Raises:
        ValueError: it is none, or too much.
    """
    if not isinstance(value, str):
        return value
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        raise ValueError("must be base64") from None
    if len(data) > LARGEST_STDIN:
        raise ValueError(f"must be {LARGEST_STDIN} bytes or fewer")
    return data


Base64Input = Annotated[bytes, BeforeValidator(_decoded)]
