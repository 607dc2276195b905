"""Find secrets by shape, and never hide what a shell acts on."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.escape import redact
from core.text.render import show_argv
from core.text.secrets import argument_pieces, mask, pieces
from core.text.vendor_tokens import VENDOR_TOKENS
from tests.core.text.canaries import CANARIES, Canary
from tests.support.tables import rows


@rows("canary", CANARIES)
def test_each_shape_is_masked(canary: Canary) -> None:
    """No part of a secret that counts is left, and the mark is there."""
    masked = mask(canary.text)

    for part in canary.secrets:
        assert part not in masked
    assert "[secret: " in masked


@rows("lead, signs, least", VENDOR_TOKENS)
def test_a_token_of_each_vendor_is_masked(lead: str, signs: str, least: int) -> None:
    """It is one if enough follows its letters, and these begin a word."""
    letters = "".join(
        one for one in "Zx9Qw7Er5Ty3Ui1Op8As6Df4Gh2Jk0" if re.match(f"[{signs}]", one)
    )
    token = lead + (letters * least)[:least]

    for text in (token, f"key={token}", f"'{token}'", f"x: {token}\n", f"https://a.b/?k={token}&x"):
        assert token not in mask(text)
    for text in (token[:-1], f"a{token}", lead):
        assert mask(text) == text


@rows("canary", CANARIES)
def test_pieces_joined_are_the_text(canary: Canary) -> None:
    """Cutting loses nothing: what runs is unchanged."""
    assert "".join(piece.text for piece in pieces(canary.text)) == canary.text


@rows(
    "text",
    [
        '{"authorization":"Basic @"}',
        "'Authorization': 'Token @'",
        "os.environ['API_TOKEN'] = '@'",
        'config["password"]="@"',
        "API_TOKEN := @",
        "API_TOKEN ?= @",
        "API_TOKEN+=@",
        "{'password': b'@'}",
        'password=u"@"',
        '{"name":"DB_PASSWORD","value":"@"}',
        '{"name": "DB_PASSWORD", "value": "@"}',
        "{'Name': 'API_KEY', 'Value': '@'}",
        "ENCRYPTION_KEY=@",
        "master_key: @",
        "secret_key_base: @",
        "--encryption-key @",
    ],
)
def test_what_everyday_programs_print(text: str) -> None:
    """Source code, makefiles, requests in logs, environments of containers."""
    assert "hunter2" not in mask(text.replace("@", "hunter2hunter2"))


@rows(
    "code",
    [
        "a[token]= touch /tmp/x",
        "token+= touch /tmp/x",
        "a['token']= touch /tmp/x",
        "master_key= touch /tmp/x",
        "echo encryption_key:\ntouch /tmp/x",
        "token=b; touch /tmp/x",
        'echo "authorization"\ntouch /tmp/x',
        "echo 'token',\n'value': touch /tmp/x",
    ],
)
def test_none_of_these_forms_hides_a_command(code: str) -> None:
    """What a shell would start after one of them is shown."""
    assert "touch /tmp/x" in mask(code)


@rows(
    "argv",
    [
        ("./sk-{}",),
        ("sh", "/srv/app/ghp_{}"),
        ("nice", "~/glpat-{}/x.sh"),
        ("flock", "l", "../npm_{}{}"),
        ("sh", "-c", "exec ./sk-{} now"),
    ],
)
def test_a_program_that_is_called_like_a_token_is_shown(argv: tuple[str, ...]) -> None:
    """Otherwise nobody would see which program runs; in what a program printed it is masked."""
    words = tuple(one.format(*["a1b2c3d4e5f6a7b8"] * 2) for one in argv)
    line = "time " + " ".join(words)

    assert "[secret" not in show_argv(words).text
    assert redact(line, code=True).text == line
    assert "[secret" in mask(line)


@rows(
    "argument",
    [
        "https://example.com/sk-{}",
        "api.example.com/ghp_{}",
        "//registry.example.com/:_authToken=npm_{}{}",
        "ghp_{}",
        "token=./ghp_{}",
        "Bearer /ghp_{}",
        "https://x:ghp_{}@example.com/a",
    ],
)
def test_a_token_that_is_in_no_path_is_masked(argument: str) -> None:
    """An address is no path, and a value has a name."""
    filled = argument.format(*["a1b2c3d4e5f6a7b8"] * 2)

    assert "a1b2c3d4e5f6a7b8" not in "".join(
        one.text for one in argument_pieces(filled) if not one.kind
    )


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
        "?q=a%2520",
        "\x1b(B",
        "\x1b7",
        "\x1b[>4;1m",
        "\x1b[1 q",
        "^[[31m",
        "^A",
        "\\U0000000a",
        "\\0",
        "\\0012",
        "a=3D",
        "%s",
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
    "text",
    [
        'curl -d "{\\"password\\":\\"hunter2\\"}" host',
        '"{\\\\\\"token\\\\\\": \\\\\\"hunter2\\\\\\"}"',
        "{\\u0022token\\u0022:\\u0022hunter2",
        "/?next=%2F%3Ftoken%3Dhunter2",
        "%7B%22token%22%3A%22hunter2%22%7D",
        "url=postgres%3A%2F%2Fu%3Ahunter2%40db",
        '\x1b[0m\x1b[34;1m"token"\x1b[0m\x1b[1;39m:\x1b[0m\x1b[0;32m"hunter2"\x1b[0m',
        "\x1b[1mPASSWORD\x1b[0m=\x1b[2mhunter2",
        "\\033[1mPASSWORD\\033[0m=\\033[2mhunter2",
        "TO\x1b[01;31m\x1b[KKEN\x1b[m\x1b[K=hunter2",
    ],
)
def test_no_encoding_or_colour_hides_a_name(text: str) -> None:
    """What surrounds a name and its value, or is in it, is no part of either."""
    assert "hunter2" not in mask(text)


def test_a_colour_within_a_secret_stays_visible() -> None:
    """As ``grep --color`` prints it: both parts are masked."""
    found = "\x1b[01;31m\x1b[Kghp_\x1b[m\x1b[K" + "a1B2" * 9
    token = "[secret: GitHub token]"
    assert mask(found) == f"\x1b[01;31m\x1b[K{token}\x1b[m\x1b[K{token}"
    assert mask("x TOKEN=ab%2Fcd\\'") == "x TOKEN=[secret: secret]\\'"


@rows(
    "code",
    [
        "echo token:\x1b[0;31m/x/planted",
        "echo token:\x1b[0;31m\x1b[0m/x/planted",
        "echo token:\x1b[0;31mbin/x/planted",
        'TOKEN\\"= /x/planted.sh;',
        "TOKEN=\x1b[0m /x/planted",
    ],
)
def test_no_colour_hides_a_path_that_a_shell_would_run(code: str) -> None:
    """The `;` of a colour ends a command, where the text is one."""
    assert "planted" in mask(code) or ";" not in code.partition("planted")[0]


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


@rows(
    "code",
    [
        "echo token:\n/tmp/x.sh",
        "token=\n/tmp/x.sh",
        "echo token\n=/tmp/x.sh",
        "TOKEN= /tmp/x.sh --all",
        "if auth= ./x.sh; then true; fi",
        "echo --token\n/tmp/x.sh",
        "echo bearer\n/tmp/x.sh",
        "echo authorization:\n/tmp/x.sh",
        "echo authorization: x\n/tmp/x.sh",
        "alias token=/tmp/x.sh",
        "alias ls='ls -l' mytoken='/tmp/x.sh'",
        "git -c alias.auth=!/tmp/x.sh auth",
        "git -calias.my-secret=/tmp/x.sh my-secret",
    ],
)
def test_masking_hides_no_command_in_the_place_of_a_value(code: str) -> None:
    """The next line, what follows an empty assignment, and an alias are run."""
    assert "x.sh" in mask(code)


@rows(
    "text",
    [
        "token = hunter2",
        "password: hunter2",
        '"token" : "hunter2"',
        "'token'= hunter2",
        "--token  hunter2",
        "Bearer   hunter2hunter2",
        "docker run --network-alias db -e PASSWORD=hunter2",
        "# a line about an alias\nPASSWORD=hunter2",
    ],
)
def test_blanks_within_a_line_end_no_secret(text: str) -> None:
    """Settings have them around the sign."""
    assert "hunter2" not in mask(text)


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
    [
        "a" * 200_000,
        "-" * 200_000,
        "password" * 25_000,
        "://a:" * 40_000,
        "--a" * 60_000,
        "\x1b[0;1m" * 33_000,
        "\x1b[0;1mx" * 28_000,
        "token=\x1b[m" * 22_000,
        "%22" * 66_000,
        "\\" * 200_000,
        "%25" * 66_000,
        "%" + "25" * 99_000,
        "\x1b[" + "0" * 200_000,
        "alias token=abc " * 12_000,
        "alias.token=abc" * 13_000,
        "token" + " " * 200_000,
        "-----BEGIN PRIVATE KEY-----\n" * 7_000,
        "-----BEGIN PRIVATE KEY-----\nVersion: a" * 5_000,
    ],
    ids=lambda text: text[:8],
)
@pytest.mark.timeout(20)
def test_hostile_text_takes_linear_time(text: str) -> None:
    """200,000 characters that almost match take only a moment."""
    assert mask(text)
