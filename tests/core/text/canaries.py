"""Make fake secrets of every shape so that no scanner takes this file for a leak."""

from dataclasses import dataclass

_LETTERS = "Zx9Qw7Er5Ty3Ui1Op8As6Df4Gh2Jk0LzXcVbNm"
_B64 = "MIIEpAIBAAKCAQEAx9Qw7Er5Ty3Ui1Op8As6Df4Gh2Jk0LzXcVbNmQwErTyUiOpA"


@dataclass(frozen=True, slots=True)
class Canary:
    """A text with secrets; none of ``secrets`` may be seen anywhere."""

    kind: str
    text: str
    secrets: tuple[str, ...]


def _plain(kind: str, secret: str) -> Canary:
    return Canary(kind, f"echo {secret}", (secret,))


def _around(kind: str, before: str, secret: str, after: str = "") -> Canary:
    return Canary(kind, before + secret + after, (secret,))


_PEM_HEAD = "-----BEGIN " + "RSA PRIVATE KEY-----"

CANARIES = (
    _plain("aws-akia", "AKIA" + "Z9QW7ER5TY3UI1OP"),
    _plain("aws-asia", "ASIA" + "Z9QW7ER5TY3UI1OP"),
    _around("aws-secret", "export AWS_SECRET_ACCESS_KEY=", "wJalr/XUtnFEMI+K7MDENGbPxRfiCY" + "x"),
    _plain("github-classic", "ghp_" + _LETTERS),
    _plain("github-oauth", "gho_" + _LETTERS),
    _plain("github-server", "ghs_" + _LETTERS),
    _plain("github-fine", "github_pat_" + "11AAAAAAA0" + _LETTERS),
    _plain("gitlab", "glpat-" + _LETTERS[:20]),
    _plain("slack-bot", "xoxb-" + "123456789012-" + _LETTERS[:24]),
    _plain("slack-app", "xapp-" + "1-A0-" + _LETTERS[:24]),
    _plain("slack-user", "xoxp-" + "123-456-" + _LETTERS[:24]),
    _around("slack-hook", "curl https://hooks.slack.com/services/", "T0A/B0B/" + _LETTERS[:24]),
    _plain("openai", "sk-" + _LETTERS),
    _plain("openai-project", "sk-proj-" + _LETTERS),
    _plain("anthropic", "sk-ant-api03-" + _LETTERS),
    _plain("stripe", "sk_live_" + _LETTERS[:24]),
    _plain("google", "AIza" + _LETTERS[:35]),
    _plain("google-oauth", "ya29." + _LETTERS),
    _plain("npm", "npm_" + _LETTERS[:36]),
    _plain("pypi", "pypi-" + _LETTERS + _LETTERS),
    _plain("huggingface", "hf_" + _LETTERS[:34]),
    _plain("groq", "gsk_" + _LETTERS),
    _plain("vault", "hvs." + _LETTERS),
    _plain("sendgrid", "SG." + _LETTERS[:22] + "." + _LETTERS),
    _plain("discord", "MT" + _LETTERS[:24] + "." + "GaBcDe" + "." + _LETTERS[:30]),
    _plain("telegram", "123456789:" + "AA" + _LETTERS[:33]),
    _around(
        "telegram-url",
        "curl https://api.telegram.org/bot",
        "123456789:AA" + _LETTERS[:33],
        "/getMe",
    ),
    _plain("jwt", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0." + _LETTERS),
    _around("bearer", "curl -H 'Authorization: Bearer ", _LETTERS[:20], "' https://x.example"),
    _around("basic", "curl -H 'Authorization: Basic ", "YW5hOmh1bnRlcjI=", "'"),
    _around("header", "curl -H 'X-Api-Key: ", "hunter2hunter2", "'"),
    _around("private-token", "curl -H 'PRIVATE-TOKEN: ", "hunter2hunter2", "'"),
    _around("long-option", "mysql --password=", "hunter2!%^@x"),
    _around("spaced-option", "mysql --password ", "hunter2!%^@x"),
    _around("assignment", "DB_PASSWORD=", "hunter2", " ./run"),
    _around("short-assignment", "pass=", "hunter2", " ./run"),
    _around("api-key", "api_key=", "hunter2"),
    _around("camel", "clientSecret=", "hunter2"),
    _around("json", '{"password": "', "hunter2", '"}'),
    _around("yaml", "token: ", "hunter2"),
    _around("url", "git clone https://ana:", "hunter2", "@git.example/x.git"),
    _around("url-token", "git clone https://", "deadbeefdeadbeefdead", "@git.example/x.git"),
    _around("postgres", "psql postgresql://app:", "hun@ter2", "@db/app"),
    _around("query", "curl 'https://x.example/?a=1&access_token=", "hunter2", "&b=2'"),
    _around("curl-user", "curl -u ana:", "hunter2", " https://x.example"),
    Canary(
        "pem",
        f"{_PEM_HEAD}\n{_B64}\n{_B64[::-1]}\n{_B64[:30]}==\n-----END",
        (_B64, _B64[::-1], _B64[:30]),
    ),
    Canary("pem-one-line", f"{_PEM_HEAD}\\n{_B64}\\n-----END", (_B64,)),
)
