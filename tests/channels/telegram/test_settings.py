"""Load the section ``channels.telegram`` strictly."""

import pytest
from pydantic import ValidationError

from channels.telegram.settings import TelegramSettings
from tests.support.tables import rows

_TOKEN = "123456789:AAnot-a-real-token-of-any-bot-0000001"

_SECRET = "Xk3_9-not-a-real-secret-of-any-webhook"


def test_the_names_of_the_file_are_read() -> None:
    """camelCase, and a base URL without its last slash."""
    section = TelegramSettings.model_validate(
        {"token": _TOKEN, "apiBaseUrl": "http://127.0.0.1:1/", "approvers": ["42"]}
    )

    assert section.api_base_url == "http://127.0.0.1:1"
    assert section.approvers == ("42",)
    assert section.senders == ()


def test_an_absent_list_of_approvers_is_empty() -> None:
    """No one, never everyone."""
    assert TelegramSettings.model_validate({"token": _TOKEN}).approvers == ()


@rows(
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
        {"mode": "push"},
        {"approvers": ["person:"]},
        {"approvers": ["person:Ana"]},
        {"approvers": ["person:-ana"]},
        {"approvers": [f"person:{'a' * 33}"]},
        {"senders": ["group:S012AB3CD"]},
        {"senders": ["role:80351110224678912"]},
        {"pollTimeout": 0},
        {"pollTimeout": 3_600},
    ],
)
def test_what_is_wrong_is_refused_without_repeating_the_token(wrong: dict[str, object]) -> None:
    """User names, numbers, unknown keys and odd URLs are errors."""
    with pytest.raises(ValidationError) as raised:
        TelegramSettings.model_validate({"token": _TOKEN, **wrong})

    assert _TOKEN not in str(raised.value)


def test_people_of_the_directory_can_be_listed() -> None:
    """Next to ids, in both lists."""
    section = TelegramSettings.model_validate(
        {"token": _TOKEN, "approvers": [42, "person:ana"], "senders": ["person:b_o-b9"]}
    )

    assert (("42", "person:ana"), ("person:b_o-b9",)) == (section.approvers, section.senders)


def test_a_webhook_is_read() -> None:
    """The path is the URL's, the address our own."""
    section = TelegramSettings.model_validate(_webhook(listen="[::1]:8080"))

    assert section.webhook is not None
    assert ("/hooks/telegram", ("::1", 8080)) == (section.webhook.path, section.webhook.address)
    assert _SECRET not in repr(section)
    plain = TelegramSettings.model_validate(_webhook(url="https://sayso.example"))
    assert plain.webhook is not None
    assert ("/", ("127.0.0.1", 8443)) == (plain.webhook.path, plain.webhook.address)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.7:9000/x", "https://10.0.0.7:9000/x", "https://sayso.example:8443"]
)
def test_a_bot_api_server_of_ones_own_delivers_anywhere(url: str) -> None:
    """What Telegram's own server would refuse is fine there."""
    own = {"apiBaseUrl": "http://127.0.0.1:8081"}
    section = TelegramSettings.model_validate({**_webhook(url=url), **own})

    assert section.webhook is not None
    assert url == section.webhook.url


@rows(
    "wrong",
    [
        *({"url": url} for url in ("http://sayso.example/x", "https://sayso.example:9000/x", "x")),
        *({"listen": at} for at in ("", "8443", "127.0.0.1", "a:b", "a:70000", "a@b:1", "a:1/x")),
        *({"secret": secret} for secret in ("", "short", "x" * 257, "with blanks in its middle")),
        {"path": "/x"},
    ],
)
def test_a_webhook_that_cannot_work_is_refused(wrong: dict[str, str]) -> None:
    """Telegram's ports, a usable address, and a secret that cannot be guessed."""
    with pytest.raises(ValidationError) as raised:
        TelegramSettings.model_validate(_webhook(**wrong))

    assert _SECRET not in str(raised.value)


def test_a_webhook_needs_a_secret() -> None:
    """Without one, anyone who knows the URL could answer."""
    webhook = {"url": "https://sayso.example/x"}
    with pytest.raises(ValidationError, match="secret"):
        TelegramSettings.model_validate({"token": _TOKEN, "mode": "webhook", "webhook": webhook})


def _webhook(**changed: str) -> dict[str, object]:
    webhook = {"url": "https://sayso.example/hooks/telegram", "secret": _SECRET, **changed}
    return {"token": _TOKEN, "mode": "webhook", "webhook": webhook}


def test_the_token_is_not_printed() -> None:
    """A section can be logged."""
    assert _TOKEN not in repr(TelegramSettings.model_validate({"token": _TOKEN}))
