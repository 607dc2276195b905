"""Load ``channels.discord``: what it accepts, what it refuses, what it never shows."""

import pytest
from pydantic import ValidationError

from channels.discord.settings import DiscordSettings
from tests.support.tables import rows

TOKEN = "NzAwMDAwMDAwMDAwMDAwMDA5.GtestX.a-token-for-the-tests-of-settings-01"


def test_the_least_section_is_a_token_and_listens_for_mentions_only() -> None:
    """Defaults: the platform's own API, no privileged intent, no one may answer."""
    settings = DiscordSettings.model_validate({"token": TOKEN})

    assert settings.api_base_url == "https://discord.com/api/v10"
    assert settings.gateway_url is None
    assert not settings.message_content
    assert settings.approvers == settings.senders == settings.guilds == ()
    assert TOKEN not in repr(settings)


def test_every_key_is_read() -> None:
    """A local server is two URLs away."""
    settings = DiscordSettings.model_validate(
        {
            "token": TOKEN,
            "guilds": ["1", "2"],
            "apiBaseUrl": "http://127.0.0.1:1/api/v10/",
            "gatewayUrl": "ws://127.0.0.1:1/gateway",
            "messageContent": True,
            "approvers": ["42"],
            "senders": ["43"],
        }
    )

    assert settings.api_base_url == "http://127.0.0.1:1/api/v10"
    assert settings.approvers == ("42",)


@rows(
    "key, value, words",
    [
        ("token", "abc", "Developer Portal"),
        ("token", "a b.c.d", "Developer Portal"),
        ("approvers", ["ana"], "Copy ID"),
        ("approvers", ["role:deployers"], "Copy ID"),
        ("approvers", ["role:5"], "channels.discord.guilds"),
        ("senders", ["role:5"], "channels.discord.guilds"),
        ("approvers", ["person:Ana Lima"], "sayso people"),
        ("approvers", ["group:S012AB3CD"], "Copy ID"),
        ("guilds", ["0"], "Copy ID"),
        ("apiBaseUrl", "ftp://x", "https://"),
        ("gatewayUrl", "https://x", "wss://"),
        ("intents", 5, "Extra inputs"),
    ],
)
def test_what_is_wrong_is_refused_with_what_to_do(key: str, value: object, words: str) -> None:
    """Names, roles, foreign URLs and unknown keys are errors; a value is never quoted."""
    with pytest.raises(ValidationError, match=words) as raised:
        DiscordSettings.model_validate({"token": TOKEN, key: value})

    assert "a b.c.d" not in str(raised.value)


def test_roles_and_people_are_references() -> None:
    """``role:ID`` needs a listed server; ``person:NAME`` is a person of the people directory."""
    settings = DiscordSettings.model_validate(
        {
            "token": TOKEN,
            "guilds": [1],
            "approvers": [42, "role:5", "person:ana"],
            "senders": ["role:6"],
        }
    )

    assert settings.approvers == ("42", "role:5", "person:ana")
    assert settings.roles == {"role:5", "role:6"}


def test_the_role_that_everybody_has_is_refused() -> None:
    """Its id is that of the server: listing it would make everyone an approver."""
    with pytest.raises(ValidationError, match="is the @everyone role"):
        DiscordSettings.model_validate({"token": TOKEN, "guilds": [7], "approvers": ["role:7"]})
