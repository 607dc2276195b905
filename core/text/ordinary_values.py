"""Recognise what follows a secret's name and is no secret: words of prose, of programs, of code.

Tests print `PASS: tests/test_a.py`, forms `password: required`, and source code has
`token = get_token()`. Whatever could be a password stays one, `password: secret` as well.
"""

import re
from typing import Final

from core.text.secret_names import WORD

_LONGEST: Final = 100
_BEFORE: Final = 60
"""Characters that are looked at: each value takes some microseconds."""

_STATES: Final = (
    "required optional valid invalid missing expired expires revoked empty none null nil "
    "undefined unset true false yes enabled disabled incorrect failed failure success "
    "successful passed denied accepted rejected unknown changed unchanged updated removed "
    "redacted hidden masked omitted error unavailable available unauthorized forbidden "
    "pending skipped verified"
)
_TYPES: Final = (
    "str string int integer bool boolean bytes float number object any void optional union "
    "list dict array sequence mapping literal notrequired secretstr secretbytes char text "
    "varchar uuid never byte callable type"
)
_CODE: Final = "basic bearer await new return lambda async function self cls this not"
_PROSE: Final = (
    "the this that and for from with are was must can cannot may will should has have had "
    "when which your our its but into using option options flag flags argument arguments "
    "parameter provided prompt"
)
_WORDS: Final = frozenset(f"{_STATES} {_TYPES} {_CODE} {_PROSE}".split())
_OBJECTS: Final = (
    r"self|cls|this|super|os|sys|process|config|cfg|conf|settings|args|opts|options|params|kwargs|env"
    r"|environ|request|req|response|res|ctx|context|state|data|user|session|client|app|module"
)

_ORDINARY: Final = re.compile(
    # a member: `self._token`, `config.db.password`
    rf"(?:{_OBJECTS})(?:\.[A-Za-z_]+)+"
    rf"|(?:[A-Za-z_]+\.)+[a-z_]*(?i:{WORD})"
    # what begins with a colon: `token: :class:`, `auth: :basic`
    r"|::?[a-z_]+:?"
    # a colour
    r"|\#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})"
    # what a help text writes for a value: `--token TOKEN`, `API_KEY=YOUR_API_KEY`
    r"|(?:[A-Z]+_)*(?:PASSWORD|PASSPHRASE|TOKEN|SECRET|KEY|CREDENTIALS?|AUTH)"
)
_NAME_OF_CODE: Final = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)*")
_SHORT_PART: Final = re.compile(r"(?<![A-Za-z])[A-Za-z](?![a-z_])|[A-Z][a-z]?(?=[A-Z])")
_APPLIED: Final = re.compile(r"\((?=[)\w'\"*\[{]|\s*\Z|\s*\n)|\[(?=['\"\w:-])")
"""How a call or a subscript goes on."""

_MEMBER: Final = re.compile(r":[A-Za-z_]+:?")
"""What follows the first colon of `Pass::run`."""

_ROLE: Final = re.compile(r"[a-z]+:")
"""A role of Sphinx, as in "Pass :obj:"."""

_DIGIT: Final = re.compile(r"\d")
_SETS: Final = re.compile(r"((?:self|cls|this)\.)?([A-Za-z_]+) ?= ?\Z")
_DOCUMENTS: Final = re.compile(
    r":(?:param|parameter|arg|argument|keyword|kwarg|type|ivar|vartype|var|cvar|attr)"
    r" [\w.*\[\]| ]*: ?\Z"
)
_PASSED: Final = re.compile(r"(?:\A|\n|(--- ))PASS: \Z")
_OF_A_TEST: Final = re.compile(
    r"\S*(?:[Tt]est|::)\S*|\S*/\S*\.[A-Za-z]{1,5}:?|(?:[a-z_][a-z0-9_.-]*/)+[a-z_][a-z0-9_.-]*:?"
)
"""A path of words, or with a suffix; a password may have a slash as well."""

_OF_PASSWD: Final = re.compile(r"password (?:updated|(?:un)?changed|expiry)\b")


def is_ordinary(found: re.Match[str]) -> bool:
    """Return whether group 1 of a match, the value that a secret's name has, is no secret."""
    value = found[1]
    if len(value) > _LONGEST:
        return False
    word = value.rstrip(",.;:!")
    if word.lower() in _WORDS or _ORDINARY.fullmatch(word):
        return True
    start, stop = found.span(1)
    before = found.string[max(0, start - _BEFORE) : start]
    after = found.string[stop : stop + _LONGEST]
    return (
        (before[-1:] == ":" and _MEMBER.fullmatch(word) is not None)
        or _is_applied(value, after)
        or _is_passed_on(before, value, word, after)
        or _DOCUMENTS.search(before) is not None
        or _is_report(before, value, after)
    )


def _is_applied(value: str, after: str) -> bool:
    """Return whether a value is what code calls, takes an element of, or refers to."""
    if after[:1] == "`":
        return _ROLE.fullmatch(value) is not None
    if _APPLIED.match(after) is None or _NAME_OF_CODE.fullmatch(value) is None:
        return False
    return _SHORT_PART.search(value) is None


def _is_passed_on(before: str, value: str, word: str, after: str) -> bool:
    """Return whether code gives a variable to another of its name: `self.token = token`."""
    sets = _SETS.search(before)
    if sets is None or not (sets[2].endswith(word) or word.endswith(sets[2])):
        return False
    if _DIGIT.search(word) and word != sets[2]:  # a password may end with `password` as well
        return False
    return bool(sets[1]) or value == f"{word}," or after[:1] == ")"


def _is_report(before: str, value: str, after: str) -> bool:
    """Return whether a program reports about a test, or about a password."""
    passed = _PASSED.search(before) if before.endswith("PASS: ") else None
    if passed is not None:
        return passed[1] is not None or _OF_A_TEST.fullmatch(value) is not None
    return before.endswith("passwd: ") and _OF_PASSWD.match(value + after) is not None
