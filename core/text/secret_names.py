"""Define the names behind which a secret follows."""

from typing import Final

WORD: Final = (
    r"(?:password|passwd|passphrase|token|secret|api[_-]?key|access[_-]?key|secret[_-]?key"
    r"|private[_-]?key|session[_-]?key|signing[_-]?key|account[_-]?key|encryption[_-]?key"
    r"|master[_-]?key|secret[_-]?key[_-]?base|credentials?"
    r"|pass(?<![a-z]pass)|pwd(?<![a-z]pwd)(?!=[/.~])|auth(?<![a-z]auth))"
)
"""A pattern that finds the end of such a name."""

NAMES: Final = ("pass", "pwd", "token", "secret", "key", "credential", "auth")
"""A text without any of these has no such name."""
