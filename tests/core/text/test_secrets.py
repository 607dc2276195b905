"""Find secrets by shape, and never hide what a shell acts on."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.secrets import argument_pieces, mask, pieces
from tests.core.text.canaries import CANARIES, Canary
from tests.support.tables import rows


@rows("canary", CANARIES)
def test_each_shape_is_masked(canary: Canary) -> None:
    """No part of a secret that counts is left, and the mark is there."""
    masked = mask(canary.text)

    for part in canary.secrets:
        assert part not in masked
    assert "[secret: " in masked


@rows("canary", CANARIES)
def test_pieces_joined_are_the_text(canary: Canary) -> None:
    """Cutting loses nothing: what runs is unchanged."""
    assert "".join(piece.text for piece in pieces(canary.text)) == canary.text


@rows(
    "text",
    [
        "git commit -m 'token handling'",
        "PWD=/home/dev",
        "ssh://git@github.com/a/b.git",
        "docker run -u 1000:1000 image",
        "git show 3f2a91bc001122333f2a91bc001122333f2a91bc",
        "pytest tests/test_password.py",
        "--password-file=/run/secrets/db",
        "curl https://example.com:8443/a@b",
        "task-force-sk-1 risk-averse-approach-to-things",
        'curl -H "X-Token: $GITHUB_TOKEN"',
        "--token $TOKEN --password",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Ordinary commands and references to variables are shown as they are."""
    assert mask(text) == text


@rows(
    "before",
    [
        "\x1b[0m",
        "\x1b[01;31m\x1b[K",
        "\x9b31m",
        "\\033[1m",
        "\\e[0m",
        "\\x1b[31m",
        '{"a": "b\\n',
        "printf x\\t",
        "\\r\\n",
        "\\012",
        "\\x0a",
        "\\u000a",
        "?q=a%20",
        "?q=a%3D",
    ],
)
def test_a_secret_follows_an_escape(before: str) -> None:
    """The last letter of a colour, or of a character in code, is none of the word's."""
    for secret in ("ghp_" + "a1B2" * 9, "npm_" + "a1B2" * 9, "sk-" + "a1B2" * 5):
        assert mask(f"{before}{secret} b") == f"{before}{mask(secret)} b"
        seen = argument_pieces(f"{before}{secret}")
        assert secret not in "".join(one.text for one in seen if not one.kind)


@pytest.mark.parametrize(
    "text", ["\\token=hunter2", "\\npm_" + "a1B2" * 9, "\\auth=hunter2", "a%20b\\apikey=hunter2"]
)
def test_a_name_may_look_like_an_escape(text: str) -> None:
    """In a path of Windows, or after a backslash that quotes the letter."""
    assert "[secret: " in mask(text)


@rows(
    "hidden",
    [
        "token=$(rm -rf /)",
        "token=`rm -rf /`",
        "token=x;rm -rf /",
        "token=x|rm",
        "token=x&rm",
        "token=abc\nrm -rf /",
        "password='x'; rm -rf /",
        "--password ${IFS}rm",
        "token=<(rm)",
        "echo -----BEGIN PRIVATE KEY-----; rm -rf /",
        "echo -----BEGIN PRIVATE KEY-----\nrm -rf /\n-----END PRIVATE KEY-----",
        "https://a:b;rm@c",
        "Bearer abcdefgh;rm",
    ],
)
def test_masking_hides_no_command(hidden: str) -> None:
    """The dangerous part of each is still visible."""
    masked = mask(hidden)

    assert "rm" in masked
    assert re.findall(r"[;|&`<>\n$()]", masked) == re.findall(r"[;|&`<>\n$()]", hidden)


@given(st.text(alphabet="pasword=tkn:;|&$(`\n'\" <>ABC123/@-", max_size=60))
def test_no_active_character_is_ever_masked(text: str) -> None:
    """Separators, substitutions, quotes and blanks stay visible, whatever is around them."""
    for piece in pieces(text):
        if piece.kind:
            assert not re.search(r"[\s;|&<>()`'\"]|\$[({]", piece.text)


@pytest.mark.parametrize(
    "code",
    [
        "$token=do+q:/tmp/planted.pl:",
        "$token=system+q/id/;",
        "$token=system+id",
        "$token=1+system+q:/planted:",
        "authorization:exec+q,/tmp/planted,",
        "secret=require+q:/tmp/planted.pl:",
        "token=%x,/tmp/planted,",
    ],
)
def test_masking_hides_no_call_of_perl_or_ruby(code: str) -> None:
    """What either runs needs no blank, quote or bracket; such calls run, on standard input too."""
    assert mask(f"{code}\n") == f"{code}\n"


@pytest.mark.parametrize(
    "secret",
    [
        "open-sesame-now",
        "system@123",
        "undo+redo/sys",
        "do_not_tell",
        "systems+A1b2/c3",
        "ab%41%2Fc",
    ],
)
def test_what_only_resembles_a_call_is_masked(secret: str) -> None:
    """The words of a call inside others do not start a secret."""
    assert mask(f"token={secret}") == "token=[secret: secret]"
    assert "manager" not in mask("oracle://system:manager@db")


def test_the_value_of_an_option_is_found_by_the_bounds_of_the_vector() -> None:
    """``--password VALUE`` as two elements needs no quotes to be recognised."""
    (piece,) = argument_pieces("hunter2", before="--db-password")
    assert piece.kind

    assert [piece.kind for piece in argument_pieces("--next", before="--token")] == [""]
    assert [piece.kind for piece in argument_pieces("rm -rf /", before="--token")] == [""]


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, "-" * 200_000, "password" * 25_000, "://a:" * 40_000, "--a" * 60_000],
    ids=lambda text: text[:8],
)
@pytest.mark.timeout(20)
def test_hostile_text_takes_linear_time(text: str) -> None:
    """200,000 characters that almost match take only a moment."""
    assert mask(text)
