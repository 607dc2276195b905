"""Mask what programs print as secrets in their own forms, and leave the rest of their output."""

import base64
import subprocess
import time
from pathlib import Path

import pytest

from core.text.printed_values import value_pieces
from core.text.render import printed
from core.text.secrets import mask
from tests.support.tables import rows

_TOKEN = "q7Rk2mZx9" + "Lw4T"
_KEY = "-----BEGIN {}-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 12 + "\n-----END {}-----\n"


@rows(
    "text",
    [
        "Your new token:\n    {}\n",
        "Password:\r\n{}\r\n",
        "api_key =\n  {}",
        "The secret:\n\n{}\nis shown once",
        "TOKEN= {}",
        "DB_PASSWORD=  '{}'",
        "<password>{}</password>",
        '<server><id>a</id><ns:Password type="text"> {} </ns:Password></server>',
        "<accessKey>\n  {}\n</accessKey>",
        "'password' => '{}',",
        ':secret_key=>"{}"',
        "machine a.b login me password {}",
        "machine a.b\n  login me\n  password {}\n",
        "< Set-Cookie: sid={}; Path=/; HttpOnly",
        "set-cookie: __Host-a={}",
        "> Cookie: a=1; sid={}; b=2",
        "https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature={}&x=1",
        "https://a.blob.core.windows.net/c?sv=2024&sig={}%3D",
        "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\nAAAA{}\nBBBB{}\nPrivate-MAC: 0",
    ],
)
def test_a_value_is_masked_in_the_forms_of_programs(text: str) -> None:
    """A command is not searched for these: there it could be what runs."""
    shown = printed(text.replace("{}", _TOKEN), 10_000).text

    assert _TOKEN not in shown
    assert "[secret: " in shown
    assert "".join(one.text for one in value_pieces(text)) == text


@rows(
    "key, shown",
    [
        ("SK" + "0f" * 16, "[secret: API key]"),
        ("key-" + "0f" * 16, "[secret: API key]"),
        ("0f" * 16 + "-us12", "[secret: API key]"),
        ("AC" + "0f" * 16, ""),
        ("cache-key-" + "0f" * 16, ""),
        ("key-" + "0f" * 20, ""),
        ("SK" + "0f" * 20, ""),
        ("0f" * 16 + "-us-east-1", ""),
        ("0f" * 20 + "-us12", ""),
    ],
)
def test_keys_of_twilio_mailgun_and_mailchimp_are_masked(key: str, shown: str) -> None:
    """Not the names of accounts and caches."""
    assert printed(f"use {key} here").text == f"use {shown or key} here"


@rows(
    "text",
    [
        "Enter password:\nLogin successful\n",
        "password:\n- one\n- two\n",
        "Checking token\n12 passed, 3 failed\n",
        "token:\nhttps://example.com/a1\n",
        "the secret\na1b2c3d4e5\n",
        "secret:\n\n2026-12-01 08:00:00 started",
        "cookies: 3",
        "Cookie: none",
        "cookie: session expired",
        "<token/>\n<tokens>3</tokens>",
        "SetCookie: a=1234",
        "if (a => b) pass",
        "login: me\nLast login: Tue Dec  1 08:00:00 2026",
        "sigma=12345678&x",
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==",
    ],
)
def test_other_output_stays(text: str) -> None:
    """It is what the reader came for."""
    assert printed(text).text == text.rstrip("\n")


@pytest.mark.parametrize(
    "kind",
    [
        *("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY"),
        *("ENCRYPTED PRIVATE KEY", "DSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    ],
)
def test_a_key_in_base64_is_masked(tmp_path: Path, kind: str) -> None:
    """So a kubeconfig holds it, and so `base64` prints it."""
    (tmp_path / "k").write_text(_KEY.format(kind, kind))
    whole = base64.b64encode(_KEY.format(kind, kind).encode()).decode()
    wrapped = subprocess.run(("base64", tmp_path / "k"), capture_output=True, check=True).stdout

    in_config = printed(f"client-key-data: {whole}\nclient: a").text
    by_lines = printed(f"{wrapped.decode()}end.\n").text

    assert in_config == "client-key-data: [secret: private key]\nclient: a"
    *lines, _ = wrapped.decode().split()  # the last one may hold no more than the end of `END`
    assert not [one for one in lines if one in by_lines]
    assert by_lines.endswith("\nend.")


def test_what_a_command_runs_is_shown() -> None:
    """The same forms, in a line for a shell."""
    for code in ("echo token:\n./x1234567", "TOKEN= ./run", "<password>a1b2c3d4</password>"):
        assert mask(code) == code


@pytest.mark.parametrize(
    "unit",
    [
        *("token\n", "token:\n ", "<password ", "<password>", "login a password ", "password =>"),
        *("set-cookie: a", "cookie: ", "?sig=", "Private-Lines: 1\n", "LS0tLS1CRUdJTiBSU0Eg"),
        *("LS0tLS1CRUdJTiBSU0EgAAAAAAAAAAAAAAAA\n", "login ", "token= ", "pass" * 9, " \n", "a1"),
    ],
)
def test_hostile_output_takes_linear_time(unit: str) -> None:
    """Half a megabyte, whatever it is made of."""
    short, long = (_processor_s(unit * (size // len(unit))) for size in (50_000, 500_000))

    assert long < 30 * short + 0.05


def _processor_s(text: str) -> float:
    tries = []
    for _ in range(3):
        begun = time.process_time()
        list(value_pieces(text))
        tries.append(time.process_time() - begun)
    return min(tries)
