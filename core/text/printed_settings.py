"""List the forms in which configurations and lists of processes have a secret: SQL, YAML, HTML.

A name and its value may be two entries (`- name: DB_PASSWORD`, then `value: …`).
"""

import re
from typing import Final

from core.text.secret_names import WORD

_NAME: Final = rf"(?i:[\w.:/-]{{0,80}}?{WORD})"
_SIGNS: Final = r"[^\s'\"<>&;,]"
_MAY_BE_ONE: Final = (
    r"(?![$%*{<(\[])(?!(?i:string|str|text|bytes|integer|int|number|bool(?:ean)?|object|array|list"
    r"|any|none|null|true|false|yes|no|on|off|required|optional|hidden|password|token|secret|x{3,}"
    r"|\.{3}|changeme|your[\w-]*|example[\w-]*|redacted|masked)(?![\w-]))"
)
"""Does not match what is no value: a reference, a type, a word of an example."""

_VALUE: Final = rf"({_MAY_BE_ONE}{_SIGNS}{{3,200}})"
_QUOTED: Final = rf"{_MAY_BE_ONE}[^\s'\"<>]{{3,200}}"
_MARK: Final = r"&(?:quot|apos|#0?3[49]|#[xX]2[27]);"
_OF_A_CLIENT: Final = re.compile(
    r"\b(?:mysql|mariadb)[\w-]{0,20} (?:[^\n|;&]{0,200}? )?-p"
    rf"(?!\d+(?:[:\s]|\Z))[\"']?{_VALUE}"
)
"""`mysql -u root -pVALUE`; docker's `-p 3306:3306`, and a port, are no passwords."""

_OF_AN_IMAGE: Final = re.compile(
    rf"\b(?:ENV|ARG|[Ss]et[Ee]nv) {{1,9}}[\w-]{{0,80}}?(?i:{WORD}) {{1,9}}[\"']?{_VALUE}"
    r"[\"']?(?=[ \t\r]*(?:\n|\Z))"
)

SETTINGS: Final = (
    ("password", re.compile(rf"(?i:\bpassword\s{{1,9}})'({_QUOTED})'")),
    ("password(", re.compile(rf"\bPASSWORD ?\( ?'({_QUOTED})'")),
    (
        "identified",
        re.compile(
            r"(?i:\bidentified\s{1,9}(?:with\s{1,9}\S{1,60}\s{1,9})?(?:by|as)\s{1,9}"
            rf"(?:password\s{{1,9}})?)[\"']({_QUOTED})[\"']"
        ),
    ),
    (
        "requirepass",
        re.compile(rf"(?m:^[ \t]{{0,20}}(?i:requirepass)[ \t]{{1,9}}\"?{_VALUE}\"?[ \t\r]*$)"),
    ),
    ("masterauth", re.compile(rf"(?m:^[ \t]{{0,20}}(?i:masterauth)[ \t]{{1,9}}\"?{_VALUE})")),
    (
        "--",
        re.compile(rf"(?<!\S)--(?:requirepass|masterauth)[ =]{{1,4}}[\"']?{_VALUE}"),
    ),
    (
        "identified",
        re.compile(
            r"(?:\bIDENTIFIED\s{1,9}BY|(?i:\b(?:create|alter)\s{1,9}(?:user|role)\s{1,9}\S{1,60}"
            rf"\s{{1,9}}identified\s{{1,9}}by))\s{{1,9}}(?i:values\s{{1,9}})?[\"']?{_VALUE}"
        ),
    ),
    *(
        (
            name,  # what `CONFIG GET` prints
            re.compile(
                rf"(?m:^(?:\d{{1,4}}\) )?\"?{name}\"?\r?\n(?:\d{{1,4}}\) )?\"?{_VALUE}\"?[ \t\r]*$)"
            ),
        )
        for name in ("requirepass", "masterauth")
    ),
    ("mysql", _OF_A_CLIENT),
    ("mariadb", _OF_A_CLIENT),
    ("sshpass", re.compile(rf"\bsshpass {{1,4}}(?:-v {{1,4}})?-p {{0,4}}[\"']?{_VALUE}")),
    ("redis-cli", re.compile(rf"\bredis-cli (?:[^\n|;&]{{0,200}}? )?-a {{0,4}}[\"']?{_VALUE}")),
    *((needle, _OF_AN_IMAGE) for needle in ("env ", "arg ")),
    (
        ";",
        re.compile(
            rf"(?i:{WORD})(?:{_MARK})?\s{{0,9}}(?:[:=]|=&gt;|&\#(?:58|61);)\s{{0,9}}{_MARK}{_VALUE}"
            rf"(?={_MARK})"
        ),
    ),
    (
        "name",
        re.compile(
            rf"(?i:\bname:)[ \t]{{1,9}}[\"']?{_NAME}[\"']?[ \t\r]*\n[ \t]{{0,80}}"
            rf"(?i:value:)[ \t]{{1,9}}[\"']?{_VALUE}(?=[\"']?[ \t\r]*(?:\n|\Z))"
        ),
    ),
    (
        "value",
        re.compile(
            rf"(?i:{WORD})\"\s{{0,9}},\s{{1,80}}"
            r"(?:\"\w{1,20}\": ?\"[^\"\n]{0,80}\",\s{1,80}){0,2}"
            rf"\"(?i:value)\"\s{{0,9}}:\s{{0,9}}\"{_VALUE}(?=\")"
        ),
    ),
    (
        "value",
        re.compile(
            rf"\b(?:name|key)=[\"']{_NAME}[\"']\s{{1,20}}value=[\"']{_VALUE}(?=[\"'])",
            re.IGNORECASE,
        ),
    ),
)
"""What each text of a form contains in lower case, and its pattern; group 1 is the secret."""
