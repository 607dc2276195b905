"""Load the section ``channels.webhook`` strictly."""

import pytest
from pydantic import ValidationError

from channels.webhook.settings import WebhookSettings
from tests.support.tables import rows

WORKS = {"url": "https://sayso.example/in", "secret": "s" * 32, "listen": "127.0.0.1:65535"}


def test_what_works_is_read() -> None:
    """The shortest secret, and the highest port."""
    section = WebhookSettings.model_validate(WORKS)

    assert section.secret.get_secret_value() == "s" * 32
    assert (section.url, section.listen, section.approvers) == (
        WORKS["url"],
        WORKS["listen"],
        (),
    )


@rows(
    "wrong",
    [
        {"url": "ftp://sayso.example"},
        {"url": "https://sayso.example/a b"},
        {"url": "https://sayso.example/\u202e"},
        {"secret": "s" * 31},
        {"secret": "ß" * 32},
        {"secret": "s" * 31 + "\n"},
        {"listen": "8790"},
        {"listen": "127.0.0.1:65536"},
        {"unknown": 1},
    ],
)
def test_what_is_wrong_is_refused_without_repeating_the_secret(wrong: dict[str, object]) -> None:
    """Short or odd secrets, other addresses, unknown keys."""
    with pytest.raises(ValidationError) as refused:
        WebhookSettings.model_validate({**WORKS, **wrong})

    assert str({**WORKS, **wrong}["secret"]) not in str(refused.value)
