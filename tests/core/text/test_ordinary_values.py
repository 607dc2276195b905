"""Show what follows a secret's name and is none, and mask what may be one."""

import re

from core.text.render import printed
from core.text.secrets import mask
from tests.support.tables import rows


@rows(
    "text",
    [
        "PASS: tests/test_a.py",
        "PASS: t/01-basic.t",
        "PASS: gdb.base/break.exp: run",
        "PASS: src/net/dial",
        "enum Token::Secret",
        "auth: :basic",
        "ok 1\nPASS: test_login",
        "--- PASS: TestLogin (0.00s)",
        "    --- PASS: TestLogin/with_token (0.00s)",
        "password: required",
        "token: invalid, try again",
        "Error: api_key: missing",
        "passwd: password updated successfully",
        "passwd: password expiry information changed.",
        "password: true",
        '{"token": null, "password": false}',
        "token: str",
        "password: Optional[str] = None",
        "password: SecretStr | None = None",
        "  secret: string;",
        "Authorization: none",
        "access_token: null",
        "password = getpass.getpass()",
        "password = getpass.getpass('Password: ')",
        "token = get_token(user)",
        'token = os.environ["TOKEN"]',
        "token = tokens[0]",
        "secret = config.db.secret",
        "self.token = token",
        "this.apiKey = process.env.API_KEY",
        "client = Client(token=token, user=user)",
        "return login(password=password)",
        ":param token: The token of the user",
        ":type api_key: bytes-like",
        "  --token TOKEN    the token",
        "usage: a --password PASSWORD [--api-key API_KEY]",
        "API_KEY=YOUR_API_KEY",
        "the --password option takes a word",
        "using llvm::Pass::doFinalization;",
        'Token: "#f8f8f2",',
        "Pass :obj:`True` to go on",
        'header = "Authorization: Basic " + value',
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    """It is what the reader came for."""
    assert mask(text) == text
    assert printed(text).text == text


@rows(
    "text, secret",
    [
        ("password: hunter2", "hunter2"),
        ("PASS: hunter2", "hunter2"),
        ("USER: me\nPASS: hunter2", "hunter2"),
        ("  PASS: tests/hunter2", "tests/hunter2"),
        ("passwd: password", "password"),
        ("passwd: password1", "password1"),
        ("password: secret", "secret"),
        ("POSTGRES_PASSWORD=password", "password"),
        ("password=changeme,", "changeme,"),
        ("password: requiredNot", "requiredNot"),
        ("token: nullable", "nullable"),
        ("token=kQzWpRtL(", "kQzWpRtL"),
        ("token=a1b2c3d4(x)", "a1b2c3d4"),
        ("token=config.a1b2", "config.a1b2"),
        ("self.token = 'a1b2c3'", "a1b2c3"),
        ("token=other, ", "other,"),
        ("--token TOKEN1", "TOKEN1"),
        ("password: none password=hunter2", "hunter2"),
        ("password: str = 'hunter2'\ntoken=hunter2", "hunter2"),
        ("credentials: null://me:hunter2@db", "hunter2"),
        ("token=#a1b2c", "#a1b2c"),
        ("PASS: aGVsbG8/d29ybGQxMjM0", "aGVsbG8/d29ybGQxMjM0"),
        ("USER: me\nPASS: k3J/9xPq+abZ==", "k3J/9xPq+abZ"),
        ("password=hunter2password, user=me", "hunter2password"),
        ("token = hunter2token,", "hunter2token"),
        ("password = :aBcDeFgH", ":aBcDeFgH"),
    ],
)
def test_what_may_be_a_secret_is_masked(text: str, secret: str) -> None:
    """Weak as it may be, it opens something."""
    shown = mask(text).removeprefix("password: str = 'hunter2'")

    assert "[secret: " in shown
    assert secret not in re.sub(r"\[secret: [^]]*]", "", shown)
