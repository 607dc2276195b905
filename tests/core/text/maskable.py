"""Make texts that are hard to mask: secrets of every shape, whole, cut, spoilt, adjacent."""

from random import Random

from tests.core.text.canaries import CANARIES

_LEADS = (
    *("AKIA", "ASIA", "ABIA", "ACCA", "sayso_", "ghp_", "gho_", "github_pat_", "glpat-", "glrt-"),
    *("xoxb-", "xoxZ-", "xapp-", "hooks.slack.com/services/", "hooks.slack.com/workflows/", "sk-"),
    *("discord.com/api/webhooks/12/", "discordapp.com/api/webhooks/7/", "MTA", "N", "O", "12345:"),
    *("1234567:", "sk_", "rk_live_", "whsec_test_", "AIza", "ya29.", "npm_", "pypi-", "hf_"),
    *("dop_v1_", "doo_v1_", "SG.", "eyJ", "authorization", "Authorization: ", "AUTHORIZATION=Ab "),
    *("bearer ", "Bearer\t", "://", "https://u:", "://user@", " -u", "\n--user=", " -u a@b.c:"),
    *("gsk_", "xai-", "dapi", "hvs."),
)  # fmt: skip
_NAMES = (
    *("password", "PASSWD", "passphrase", "token", "secret", "\u017fecret", "api_key", "apikey"),
    *("access-key", "secret_key", "private-key", "session_key", "signingkey", "account_key"),
    *("encryption_key", "MasterKey", "secret_key_base"),
    *("credential", "credentials", "pass", "bypass", "pwd", "PWD", "auth", "oauth", "xpass"),
    *("aP\u0130key", "ap\u0131key", "\u017fe\u017f\u017fion_\u212aey", "\u017fpass", "to\u212aen"),
)  # fmt: skip
_JOINS = (
    *("=", ":", " = ", ' : "', "='", '": "', " ", "\t", "  '", "\n", " =\u00a0", "\u2003", "=="),
    *('","value":"', "', 'Value' : '", " := ", "?=", "'] = '", "]+=", "=b'", ': R"'),
)  # fmt: skip
_VALUES = (
    *("abc", "ab", "hunter2", "$HOME", "$(id)", "a$(b)", "$x", "a$b$c", "a/b+c=", "1234", "12345 "),
    *("eval+x", "xeval+y", "do~", "system!", "evalbytes+1", "%x-", "%xa", "-abc", "'", '"', "`"),
    *("a" * 40, "Zz9_" * 9, "a1-" * 14, "aB3." * 12, "0" * 11, "9" * 13, "AB12CD34" * 2, "M" * 24),
)  # fmt: skip
_MARKS = (
    *(" ", "  ", " " * 17, " " * 40, "\n", "\r\n", "\\n", "\t", "\x00", "\x1b[0m", "\x7f", "\\"),
    *("\\u{202E}", "\\u{", "[secret: x]", "[secret:", "[", "@", ":", "://", "-", "--", "---", "="),
    *("\x1b[0;31m", "^[[1m", '\\"', '\\\\"', "%22", "%253D", "\\u003d", "\x1b(B", "\\0", "=3D"),
    *(";", "|", "&&", "<", "(", "{", "]", "*", "?", "!", "~", "+", "%", "#", ",", "_", ".", "/"),
)  # fmt: skip
_LETTERS = (
    *("привет", "сосна", "\u0430dmin", "\uff50\uff41", "naïve", "日本語", "カナ", "한국어"),
    *("नमस्ते", "क\u093f\u093f\u093f\u093f", "e\u0301", "é\u0301\u0302\u0303", "สวัสดี"),
    *("\u202e", "\u200b", "\ufeff", "\U0001f600", "€", "ß", "\u0130", "\u0131", "\u017f", "\u212a"),
    *("\u3164", "a\u202eb" * 3, "١٢٣", "١٢٣٤٥٦:", "ǅ", "一", "\u3007", "א", "\u00ad", "\u0488"),
    *("\u23ce", "\u00d7", "\ud800", "\U0001d41a", "µ", "Ελλάς", "\u03bf"),
)  # fmt: skip
_PEM = (
    *("-----BEGIN " + "PRIVATE KEY-----", "-----BEGIN RSA " + "PRIVATE KEY-----\n", "\n-----END"),
    *("\nProc-Type: 4,ENCRYPTED", "\nDEK-Info: AES-128-CBC,0A", " Version: x y z", "\n=ab="),
    *("\nMIIEpAIBAAKCAQEAx9Qw7Er5", "\\nMIIEpAIBAAKCAQEAx9Qw7Er5==", "\nMIIEabcd" * 3),
)  # fmt: skip
_POOLS = (_LEADS, _NAMES, _JOINS, _VALUES, _MARKS, _LETTERS, _PEM)
_WEIGHTS = (18, 14, 18, 22, 14, 9, 5)
_CANARIES = 0.06


def hard_text(rng: Random, most: int = 24) -> str:
    """Return a text of up to ``most`` pieces, some of them cut, doubled or in another case."""
    return "".join(_piece(rng) for _ in range(rng.randrange(1, most)))


def _piece(rng: Random) -> str:
    if rng.random() < _CANARIES:
        text = rng.choice(CANARIES).text
    else:
        text = rng.choice(rng.choices(_POOLS, _WEIGHTS)[0])
    match rng.randrange(14):
        case 0:
            return text[: rng.randrange(len(text) + 1)]
        case 1:
            return text[rng.randrange(len(text)) :]
        case 2:
            return text * 2
        case 3:
            return text.swapcase()
        case 4:
            return chr(rng.choice((rng.randrange(0x250), rng.randrange(0x3000)))) + text
        case _:
            return text


def option(rng: Random) -> str:
    """Return what may be an option that takes a secret."""
    head = rng.choice(("-", "--", "---", "", "--db-", "-x_", "--ключ-", "--a b-"))
    return head + rng.choice((*_NAMES, "name", "passwords", "pass-", "key"))
