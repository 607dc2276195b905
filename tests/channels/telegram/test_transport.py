"""Mask the bot's token in whatever the library logs."""

import logging

import pytest
from telegram.error import NetworkError

from channels.telegram.transport import TokenMask

TOKEN = "123456789:AAabcdefghijklmnopqrstuvwxyz012345678"


def logged(message: str, *args: object, error: BaseException | None = None) -> str:
    """Return what a handler writes of a record of the library, without its time."""
    info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("telegram", logging.ERROR, "x.py", 1, message, args, info)
    assert TokenMask().filter(record)
    return logging.Formatter("%(message)s").format(record)


def raised(error: Exception) -> Exception:
    """Return an error with a traceback."""
    try:
        raise error
    except type(error) as found:
        return found


def test_a_record_without_an_error_is_its_message() -> None:
    """Its arguments are in it, masked; a long one is cut."""
    assert logged("getMe %s", "ok") == "getMe ok"
    assert TOKEN not in logged("GET https://api.telegram.org/bot%s/getMe", TOKEN)
    assert logged("x" * 9_000).endswith("… (9000 characters)")


@pytest.mark.parametrize("said", ["timed out", f"https://api.telegram.org/bot{TOKEN}/getMe"])
def test_an_error_of_telegram_is_one_line(said: str) -> None:
    """Where in the library it arose does not matter."""
    found = logged("polling failed", error=raised(NetworkError(said)))

    assert found.startswith("polling failed (")
    assert "\n" not in found
    assert ("timed out" in found) is (said == "timed out")
    assert TOKEN not in found


def test_another_error_keeps_its_traceback() -> None:
    """It is a fault of ours or the library's, and masked all the same."""
    found = logged("handler failed", error=raised(ValueError(f"no {TOKEN}")))

    assert found.startswith("handler failed\nTraceback (most recent call last)")
    assert "ValueError: no " in found
    assert TOKEN not in found
