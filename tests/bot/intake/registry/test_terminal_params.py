"""Read what is typed into a terminal: text or bytes."""

from typing import Any

import pytest
from pydantic import ValidationError

from bot.intake.registry.terminal_params import InputParams


@pytest.mark.parametrize(
    ("given", "typed"),
    [
        ({"data": "ls é\n"}, "ls é\n".encode()),
        ({"bytes": "AAH/"}, b"\x00\x01\xff"),
        ({"data": ""}, b""),
    ],
)
def test_one_of_text_and_bytes_is_typed(given: dict[str, Any], typed: bytes) -> None:
    """Text as UTF-8, bytes from base64."""
    assert InputParams.model_validate({"id": "t", **given}).typed == typed


@pytest.mark.parametrize("given", [{}, {"data": "ls", "bytes": "bHM="}])
def test_neither_and_both_are_refused(given: dict[str, Any]) -> None:
    """It would not be clear what comes first."""
    with pytest.raises(ValidationError, match="give one of `data` and `bytes`"):
        InputParams.model_validate({"id": "t", **given})
