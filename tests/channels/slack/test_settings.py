"""Load the section ``channels.slack`` strictly."""

import pytest
from pydantic import ValidationError

from channels.slack.settings import Mode, SlackSettings
from tests.support.tables import rows

_TOKENS: dict[str, object] = {
    "botToken": "xoxb-1-not-a-real-token",
    "appToken": "xapp-1-not-a-real-token",
    "signingSecret": "8f742231b10e8888abcd99yyyzzz85a5",
}


def test_the_names_of_the_file_are_read() -> None:
    """camelCase, a base URL with its last slash, an address in two parts."""
    section = SlackSettings.model_validate(
        {
            **_TOKENS,
            "mode": "http",
            "apiBaseUrl": "http://127.0.0.1:1/api",
            "approvers": ["U012AB3CD", "W012AB3CD", "group:S012AB3CD", "person:ana"],
            "senders": ["group:S012AB3CD", "group:S0LEADS01"],
            "listen": "[::1]:65535",
            "pingInterval": 5,
        }
    )

    assert section.mode is Mode.HTTP
    assert section.api_base_url == "http://127.0.0.1:1/api/"
    assert section.approvers == ("U012AB3CD", "W012AB3CD", "group:S012AB3CD", "person:ana")
    assert section.groups == ("group:S012AB3CD", "group:S0LEADS01")
    assert section.address == ("::1", 65_535)
    assert section.ping_interval == 5


def test_the_defaults_are_safe() -> None:
    """No one may answer, no address is listened on beyond loopback, Slack is Slack."""
    section = SlackSettings.model_validate(_TOKENS)

    assert (section.approvers, section.senders) == ((), ())
    assert section.mode is Mode.SOCKET
    assert section.address == ("127.0.0.1", 3000)
    assert section.api_base_url == "https://slack.com/api/"


def test_the_highest_port_is_one() -> None:
    """One more is refused below."""
    settings = SlackSettings.model_validate({**_TOKENS, "listen": "127.0.0.1:65535"})

    assert settings.address == ("127.0.0.1", 65_535)


@rows(
    "wrong",
    [
        {"approvers": ["@ana"]},
        {"approvers": ["ana"]},
        {"approvers": ["u012ab3cd"]},
        {"approvers": ["C012AB3CD"]},
        {"approvers": [42]},
        {"approvers": ["group:leads"]},
        {"approvers": ["group:U012AB3CD"]},
        {"senders": ["role:80351110224678912"]},
        {"senders": ["person:Ana"]},
        {"senders": ["person:"]},
        {"approver": ["U012AB3CD"]},
        {"botToken": "xoxp-1-a-users-token"},
        {"botToken": ""},
        {"appToken": "xoxb-1-the-other-token"},
        {"signingSecret": "with blanks"},
        {"apiBaseUrl": "ftp://x"},
        {"mode": "rtm"},
        {"listen": "3000"},
        {"listen": "127.0.0.1:65536"},
        {"listen": "127.0.0.1:3000 "},
        {"pingInterval": 0},
    ],
)
def test_what_is_wrong_is_refused_without_repeating_a_secret(wrong: dict[str, object]) -> None:
    """Names, other tokens, unknown keys and odd addresses are errors."""
    with pytest.raises(ValidationError) as raised:
        SlackSettings.model_validate({**_TOKENS, **wrong})

    for secret in _TOKENS.values():
        assert str(secret) not in str(raised.value)


@pytest.mark.parametrize(
    ("mode", "key", "words"),
    [
        ("socket", "appToken", "mode socket needs appToken"),
        ("http", "signingSecret", "mode http needs signingSecret"),
    ],
)
def test_each_mode_needs_its_secret(mode: str, key: str, words: str) -> None:
    """Without it the section is refused, and the words say what to add."""
    rest = {name: value for name, value in _TOKENS.items() if name != key}
    with pytest.raises(ValidationError, match=words):
        SlackSettings.model_validate({**rest, "mode": mode})


def test_secrets_are_not_printed() -> None:
    """A section can be logged."""
    printed = repr(SlackSettings.model_validate(_TOKENS))
    assert not [secret for secret in _TOKENS.values() if str(secret) in printed]
