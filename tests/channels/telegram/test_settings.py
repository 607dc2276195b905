"""The section ``channels.telegram`` is strict."""

import pytest
from pydantic import ValidationError

from channels.telegram.settings import TelegramSettings

_TOKEN = "123456789:AAnot-a-real-token-of-any-bot-0000001"


def test_the_names_of_the_file_are_read() -> None:
    """camelCase, and a base URL without its last slash."""
    section = TelegramSettings.model_validate(
        {"token": _TOKEN, "apiBaseUrl": "http://127.0.0.1:1/", "approvers": ["42"]}
    )

    assert section.api_base_url == "http://127.0.0.1:1"
    assert section.approvers == ("42",)
    assert section.senders == ()


def test_an_absent_list_of_approvers_is_empty() -> None:
    """Nobody, never everybody."""
    assert TelegramSettings.model_validate({"token": _TOKEN}).approvers == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"approvers": ["@ana"]},
        {"approvers": ["ana"]},
        {"approvers": [4.2]},
        {"approvers": ["\u0664\u0662"]},
        {"approvers": ["042"]},
        {"approver": ["42"]},
        {"token": "no-colon"},
        {"token": ""},
        {"apiBaseUrl": "ftp://x"},
        {"mode": "webhook"},
        {"pollTimeout": 0},
        {"pollTimeout": 3_600},
    ],
)
def test_what_is_wrong_is_refused_without_repeating_the_token(wrong: dict[str, object]) -> None:
    """User names, numbers, unknown keys and odd URLs are errors."""
    with pytest.raises(ValidationError) as raised:
        TelegramSettings.model_validate({"token": _TOKEN, **wrong})

    assert _TOKEN not in str(raised.value)


def test_the_token_is_not_printed() -> None:
    """A section can be logged."""
    assert _TOKEN not in repr(TelegramSettings.model_validate({"token": _TOKEN}))
